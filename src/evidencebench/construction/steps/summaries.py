"""From a harvested passage to a summary: delimited by a model, and kept if it reports results."""

import msgspec

from evidencebench.construction.draft import Draft
from evidencebench.construction.steps.asking_objects import FORM_PROMPTS, ask_object
from evidencebench.construction.steps.checks import NO_WORDS, has_words
from evidencebench.construction.steps.model_step import ModelStep, dropped
from evidencebench.papers.sentences import sentence_spans
from evidencebench.systems.strategies.conversation import Asker
from evidencebench.systems.strategies.excerpt import Excerpt, prompt_line


class _Delimited(msgspec.Struct):
    sentences: list[int]


class _Kept(msgspec.Struct):
    reports_results: bool


def _make_summary(asker: Asker, draft: Draft) -> Draft:
    if not has_words(draft.summary):
        return dropped(draft, NO_WORDS)
    sources = dict(draft.sources_of)
    summary = draft.summary
    if draft.passage is not None:  # a summary from a table is delimited already
        text, cited = _text_around(draft)
        numbers = str(cited[0]) if len(cited) == 1 else f"{cited[0]} to {cited[-1]}"
        shown = {number: prompt_line(sentence) for number, sentence in enumerate(text, 1)}
        found, sources["summaries delimit"] = ask_object(
            asker,
            "delimit",
            {"numbers": numbers, "lines": Excerpt(shown=shown).block},
            example=_Delimited([len(text) + 3, len(text) + 4]),
            stand_in=_Delimited(cited),
            check=lambda found: _wrong_with(found.sentences, len(text)),
            what="delimited passage",
        )
        if not found.sentences:
            return dropped(draft, "the passage is not about the paper")
        summary = " ".join(text[number - 1] for number in sorted(set(found.sentences)))
    kept, sources["summaries keep"] = ask_object(
        asker,
        "keep",
        {"summary": prompt_line(summary)},
        example=_Kept(reports_results=True),
        stand_in=_Kept(reports_results=True),
        check=lambda _: "",
        what="verdict on results",
    )
    made = msgspec.structs.replace(draft, summary=summary, sources_of=sources)
    return made if kept.reports_results else dropped(made, "reports no results")


def _text_around(draft: Draft) -> tuple[list[str], list[int]]:
    """Return the sentences that a model chooses among, and the numbers, from 1, of those that cite the paper."""
    passage = [draft.summary[start:stop] for start, stop in sentence_spans(draft.summary)]
    before, found, behind = draft.context.partition(draft.summary)
    if not found:
        return passage, list(range(1, len(passage) + 1))
    first = [before[start:stop] for start, stop in sentence_spans(before)]
    last = [behind[start:stop] for start, stop in sentence_spans(behind)]
    return [*first, *passage, *last], list(range(len(first) + 1, len(first) + len(passage) + 1))


def _wrong_with(numbers: list[int], n_sentences: int) -> str:
    if strange := [number for number in numbers if not 1 <= number <= n_sentences]:
        return f"there is no sentence {strange[0]}"
    if numbers and max(numbers) - min(numbers) + 1 != len(set(numbers)):
        return "the sentences do not follow each other"
    return ""


SUMMARIES = ModelStep(name="summaries", prompts=("delimit", "keep", *FORM_PROMPTS), work=_make_summary)
"""Delimits each passage, and drops those that report no results."""
