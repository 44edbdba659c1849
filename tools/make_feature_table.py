"""Write docs/features.md from the features and the weights themselves."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from evidencebench.systems.cues import ANSWER_WEIGHTS, WEIGHTS
from evidencebench.systems.features import FEATURES, RELEVANCE_FEATURES
from evidencebench.systems.lexicon import CUES, Cue
from evidencebench.systems.paper_columns import EVIDENCE_CUES

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "features.md"

_HEAD = """\
# Features

Made from the code by `make docs`; a test keeps it true. This is what `finder` and `cues` know about a sentence. None
of it is made from a label, and where the hypothesis changes, only the features that are said to read it change at
all. Those of the group `relevance` are the finder's, and two are of `cues`. TF-IDF is counted within the paper.

The parts of a hypothesis: "Tea, compared with water, changes blood pressure." has the intervention tea, the comparator
water and the outcome blood pressure. Of any other sentence, the intervention is what stands before the first verb that
says how something changes, such as "increases" or "causes", and the outcome what stands behind; without such a verb,
they are its first and its second half. Words are compared by their roots, such as `infect` for "infections", and an
abbreviation that the paper explains counts as its full name.
"""

_CUES = """\
## The words of the cues

Written by hand from how biomedical papers report studies; none was derived from the labels. `increas*` is every word
that begins so; a phrase in quotes counts wherever it stands; a pattern counts in sentences that hold a digit.
"""

_WEIGHTS = """\
## The weights of `cues`

A sentence's worth is e to the power of the sum of weight times feature; a feature below 0, as outside the abstract,
counts as 0. Where what answers the hypothesis is wanted, {answer} are added to the
weights for results. How the sizes were found stands in [systems.md](systems.md#evidence-by-cues).
"""


def reference() -> str:
    """Return the whole document as Markdown."""
    features = (
        (f"`{feature.name}`", feature.group, feature.meaning, "yes" if feature.reads_hypothesis else "")
        for feature in (*FEATURES, *RELEVANCE_FEATURES)
    )
    weights = ((f"`{name}`", weight.evidence, weight.results, weight.reason) for name, weight in WEIGHTS.items())
    answer = " and ".join(f"{weight} for `{name}`" for name, weight in ANSWER_WEIGHTS.items())
    words = ((f"`{cue.name}`", "yes" if cue.name in EVIDENCE_CUES else "", _wording(cue)) for cue in CUES)
    return "\n".join(
        [
            _HEAD,
            *_table(("feature", "group", "what it is", "reads the hypothesis"), features),
            "",
            _CUES,
            *_table(("cue", "in `evidence`", "what counts"), words),
            "",
            _WEIGHTS.format(answer=answer),
            *_table(("feature", "all evidence", "results", "why"), weights),
            "",
        ]
    )


def _wording(cue: Cue) -> str:
    parts = [cue.words, *(f'"{phrase}"' for phrase in cue.phrases), *([f"`{cue.pattern}`"] if cue.pattern else [])]
    return ", ".join(part for part in parts if part)


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    cells = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in row)} |" for row in cells]


if __name__ == "__main__":
    REFERENCE.write_text(reference(), encoding="utf-8")
