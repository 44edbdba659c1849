"""What a draft must have once its paper was judged. Files of drafts may be written by other tools, so it is checked."""

from evidencebench.construction.draft import Draft, Judging
from evidencebench.errors import RunFormatError
from evidencebench.wording import counted


def judging_of(draft: Draft) -> Judging:
    """Return which sentences hold the aspects of a draft; raises `RunFormatError` where they do not fit the draft."""
    judging = draft.judging
    if judging is None:
        raise RunFormatError(
            f"draft '{draft.id}': expected judged sentences, got none; run 'evidencebench construct judge' first"
        )
    n_aspects = len(draft.aspects)
    if len(judging.sources) != n_aspects:
        raise _misfit(draft, f"sources of {counted(n_aspects, 'aspect')}", f"of {len(judging.sources)}")
    for aspect, sentences in enumerate(judging.sources):
        for wrong in (sentence for sentence in sentences if not 0 <= sentence < judging.n_sentences):
            last = judging.n_sentences - 1
            raise _misfit(draft, f"sentences 0..{last} as sources of aspect {aspect}", f"sentence {wrong}")
    for wrong in (result for result in draft.results or () if not 0 <= result < n_aspects):
        raise _misfit(draft, f"Results aspects in 0..{n_aspects - 1}", f"aspect {wrong}")
    return judging


def _misfit(draft: Draft, expected: str, got: str) -> RunFormatError:
    return RunFormatError(f"draft '{draft.id}': expected {expected}, got {got}; run the step that made it again")
