"""The steps that write: summaries, hypotheses, aspects, labels of Results; their texts are checked (`checks`)."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

import msgspec

from evidencebench.construction.checks import NO_WORDS, wrong_with_aspect, wrong_with_hypothesis
from evidencebench.construction.draft import Draft, ReplySource, dropped
from evidencebench.construction.harvest.papers import PaperFolder
from evidencebench.construction.step import Answered, ModelStep, ask_object, numbered_sentences
from evidencebench.errors import UnreadableReplyError
from evidencebench.papers.blocks import sentence_spans
from evidencebench.papers.language import has_words, is_foreign, words_of
from evidencebench.query import Kind
from evidencebench.systems.llm.asking import Asker
from evidencebench.systems.llm.excerpts import prompt_line

MOST_ASPECTS = 50  # of a summary; the largest number in the published data is 30
ASSUMED_ASPECTS = 8  # of a summary where estimates know none: the mean of the published data
_MOST_SHOWN = 40  # sentences of a paper, to say whether it can answer a hypothesis
_FORM_ONLY = "..."


@dataclass(frozen=True)
class _Questions:
    asker: Asker
    draft: Draft
    step: str
    sources: dict[str, ReplySource] = field(default_factory=dict)  # step and prompt -> the reply of that request

    def ask(
        self,
        prompt: str,
        example: Answered,
        *,
        stand_in: Answered | None = None,
        check: Callable[[Answered], str] = lambda _: "",
        **fields: str,
    ) -> Answered:
        what = prompt.replace("_", " ")
        answer, self.sources[f"{self.step} {prompt}"] = ask_object(
            self.asker, prompt, fields, example=example, stand_in=stand_in or example, check=check, what=what
        )
        return answer

    def made(self, **changes: object) -> Draft:
        return msgspec.structs.replace(self.draft, sources_of={**self.draft.sources_of, **self.sources}, **changes)


class _Delimited(msgspec.Struct):
    sentences: list[int]


class _Kept(msgspec.Struct):
    reports_results: bool


def _make_summary(asker: Asker, draft: Draft) -> Draft:
    if not has_words(draft.summary):
        return dropped(draft, NO_WORDS)
    questions, summary = _Questions(asker, draft, "summaries"), draft.summary
    if draft.passage is not None:  # a summary from a table is delimited already
        before, passage, behind = draft.context.partition(summary)
        parts = (before, passage, behind) if passage else ("", summary, "")
        first, own, last = ([part[start:stop] for start, stop in sentence_spans(part)] for part in parts)
        text, cited = [*first, *own, *last], range(len(first) + 1, len(first) + len(own) + 1)

        def wrong_with(answer: _Delimited) -> str:
            numbers = sorted(set(answer.sentences))
            is_gapped = bool(numbers) and numbers[-1] - numbers[0] + 1 != len(numbers)
            unknown = _unknown(numbers, range(1, len(text) + 1), "sentence")
            return unknown or ("the sentences do not follow each other" if is_gapped else "")

        delimited = questions.ask(
            "delimit",
            _Delimited([len(text) + 3, len(text) + 4]),
            stand_in=_Delimited([*cited]),
            check=wrong_with,
            numbers=str(cited[0]) if len(cited) == 1 else f"{cited[0]} to {cited[-1]}",
            lines=numbered_sentences(dict(enumerate(text, 1))).block,
        )
        if not delimited.sentences:
            return dropped(draft, "the passage is not about the paper")
        summary = " ".join(text[number - 1] for number in sorted(set(delimited.sentences)))
    kept = questions.ask("keep", _Kept(reports_results=True), summary=prompt_line(summary))
    made = questions.made(summary=summary)
    return made if kept.reports_results else dropped(made, "reports no results")


def _unknown(numbers: Iterable[int], known: Collection[int], what: str) -> str:
    return next((f"no {what} has the number {number}" for number in numbers if number not in known), "")


SUMMARIES = ModelStep(name="summaries", prompts=("delimit", "keep"), work=_make_summary)


class _Purpose(msgspec.Struct):
    purpose: str


class _Hypothesis(msgspec.Struct):
    hypothesis: str


class _Answerable(msgspec.Struct):
    can_answer: bool


def hypotheses_step(papers: PaperFolder | None = None) -> ModelStep:
    """Return the step; without papers, no model is asked whether a draft's paper can answer its hypothesis."""
    prompts = ("purpose", "hypothesis", "answerable")
    return ModelStep(name="hypotheses", prompts=prompts, work=partial(_make_hypothesis, papers))


def _make_hypothesis(papers: PaperFolder | None, asker: Asker, draft: Draft) -> Draft:
    if not has_words(draft.summary):
        return dropped(draft, NO_WORDS)
    questions = _Questions(asker, draft, "hypotheses")
    summary, context = prompt_line(draft.summary), prompt_line(draft.context)

    def wrong_with_purpose(answer: _Purpose) -> str:
        if not has_words(answer.purpose):
            return "it holds no purpose"
        return "it is not in the language of the summary" if is_foreign(answer.purpose, f"{summary} {context}") else ""

    purpose = questions.ask(
        "purpose",
        _Purpose(_FORM_ONLY),
        stand_in=_Purpose(_as_long_as(draft.summary, 30)),
        check=wrong_with_purpose,
        summary=summary,
        context=context or "(nothing)",
    ).purpose
    hypothesis = questions.ask(
        "hypothesis",
        _Hypothesis(_FORM_ONLY),
        stand_in=_Hypothesis(_as_long_as(draft.summary, 15)),
        check=lambda answer: wrong_with_hypothesis(answer.hypothesis, draft.summary, draft.context),
        summary=summary,
        purpose=prompt_line(purpose),
    ).hypothesis
    can_answer = True
    if papers is not None and draft.paper_file:
        paper, _ = papers.paper_of(draft)
        # Headings and abstract, then the beginning: a retriever would favour the papers in which it finds something.
        places = sorted(range(len(paper.sentences)), key=lambda place: (paper.kinds[place] is Kind.BODY, place))
        shown = {place: paper.sentences[place] for place in sorted(places[:_MOST_SHOWN])}
        with suppress(UnreadableReplyError):  # nothing speaks against the paper then
            can_answer = questions.ask(
                "answerable",
                _Answerable(can_answer=True),
                hypothesis=prompt_line(hypothesis),
                lines=numbered_sentences(shown).block,
            ).can_answer
    made = questions.made(purpose=" ".join(purpose.split()), hypothesis=" ".join(hypothesis.split()))
    return made if can_answer else dropped(made, "the paper cannot answer the hypothesis", made.hypothesis)


def _as_long_as(text: str, n_words: int) -> str:
    return " ".join((text.split() * n_words)[:n_words])


class _Aspects(msgspec.Struct):
    aspects: list[str]


class _Verdict(msgspec.Struct):
    aspect: int
    faithful: bool
    single: bool
    self_contained: bool


_FAULTS = {  # in words for the model that wrote an aspect
    "faithful": "it says more than the summary",
    "single": "no single sentence of a paper would state it",
    "self_contained": "it is not understood alone",
}


_fine = partial(_Verdict, faithful=True, single=True, self_contained=True)


class _Verdicts(msgspec.Struct):
    verdicts: list[_Verdict]


class _Correction(msgspec.Struct):
    aspect: int
    aspects: list[str]


class _Corrections(msgspec.Struct):
    corrections: list[_Correction]


def _make_aspects(asker: Asker, draft: Draft) -> Draft:
    questions, summary = _Questions(asker, draft, "aspects"), prompt_line(draft.summary)

    def wrong_with(answer: _Aspects) -> str:
        n = len(answer.aspects)
        if not any(map(words_of, answer.aspects)):
            return "it holds no aspect"
        return f"it has {n:,} aspects; at most {MOST_ASPECTS} are allowed" if n > MOST_ASPECTS else ""

    split = questions.ask(
        "aspects",
        _Aspects([_FORM_ONLY] * 2),
        stand_in=_Aspects(stand_in_aspects(summary, ASSUMED_ASPECTS)),
        check=wrong_with,
        hypothesis=prompt_line(draft.hypothesis),
        summary=summary,
    )
    aspects = _distinct(split.aspects)
    lost = failing = _failing(questions, aspects)
    if failing:
        corrected = _corrected(questions, aspects, failing)
        lost = {aspect: why for aspect, why in failing.items() if not corrected[aspect]}
        together = _distinct(chain.from_iterable(corrected.values()))
        new = tuple(text for text in together if text in failing or text not in aspects)
        try:
            lost |= _failing(replace(questions, step="aspects again"), new)
        except UnreadableReplyError:
            lost |= dict.fromkeys(new, "it could not be verified again")
        aspects = tuple(text for text in together if text not in lost)
    made = questions.made(aspects=aspects, dropped_aspects=tuple(lost.items()))
    if not aspects:
        return dropped(made, "no aspect holds", "; ".join(f"{aspect}: {why}" for aspect, why in lost.items()))
    return made if len(aspects) <= MOST_ASPECTS else dropped(made, "too many aspects", f"{len(aspects):,}")


def _distinct(aspects: Iterable[str]) -> tuple[str, ...]:
    """Return the aspects that have words, on one line each, without those that an earlier one repeats."""
    by_words: dict[str, str] = {}
    for aspect in aspects:
        by_words.setdefault(" ".join(words_of(aspect)), " ".join(aspect.split()))
    return tuple(aspect for words, aspect in by_words.items() if words)


def _failing(questions: _Questions, aspects: tuple[str, ...]) -> dict[str, str]:
    """Return the aspects that the code or the model refuses, each with the reason."""
    summary = questions.draft.summary
    failing = {aspect: why for aspect in aspects if (why := wrong_with_aspect(aspect, summary))}
    asked = dict(enumerate((aspect for aspect in aspects if aspect not in failing), 1))
    if not asked:
        return failing

    def wrong_with(answer: _Verdicts) -> str:
        is_complete = sorted(verdict.aspect for verdict in answer.verdicts) == [*asked]
        return "" if is_complete else f"expected one verdict for each of the aspects 1 to {len(asked)}"

    verified = questions.ask(
        "verify_aspects",
        _Verdicts([_fine(len(asked) + 7)]),
        stand_in=_Verdicts([*map(_fine, asked)]),
        check=wrong_with,
        summary=prompt_line(summary),
        aspects=numbered_aspects(asked.values()),
    )
    for verdict in verified.verdicts:
        if faults := [fault for name, fault in _FAULTS.items() if not getattr(verdict, name)]:
            failing[asked[verdict.aspect]] = " and ".join(faults)
    return failing


def _corrected(
    questions: _Questions, aspects: tuple[str, ...], failing: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Replace each failing aspect by the model's corrections, if there are any."""
    numbers = {number: aspect for number, aspect in enumerate(aspects, 1) if aspect in failing}
    corrected: dict[str, tuple[str, ...]] = {aspect: () if aspect in failing else (aspect,) for aspect in aspects}
    with suppress(UnreadableReplyError):
        answer = questions.ask(
            "correct_aspects",
            _Corrections([_Correction(len(aspects) + 7, [_FORM_ONLY] * 2)]),
            stand_in=_Corrections([_Correction(number, [aspect]) for number, aspect in numbers.items()]),
            check=lambda answer: _unknown([one.aspect for one in answer.corrections], numbers, "aspect to put right"),
            summary=prompt_line(questions.draft.summary),
            aspects=numbered_aspects(aspects),
            faults="\n".join(f"- Aspect {number}: {prompt_line(failing[text])}." for number, text in numbers.items()),
        )
        corrected |= {numbers[given.aspect]: _distinct(given.aspects) for given in answer.corrections}
    return corrected


def numbered_aspects(aspects: Iterable[str]) -> str:
    return "\n".join(f"{number}. {prompt_line(aspect)}" for number, aspect in enumerate(aspects, 1))


def stand_in_aspects(summary: str, n_aspects: int) -> list[str]:
    """Return as many texts as there may be aspects, together a little longer than the summary, as aspects are."""
    words = re.sub(r"\d", "n", summary).split()  # no numbers: a part of one may be none of the summary
    size = max(8, -(-len(words) // max(1, n_aspects)) + 4)
    return [f"{'a' * number} {' '.join((words * size)[:size])}" for number in range(1, n_aspects + 1)]


ASPECTS = ModelStep(name="aspects", prompts=("aspects", "verify_aspects", "correct_aspects"), work=_make_aspects)


class _ResultLabels(msgspec.Struct):
    results: list[int]


def _label_results(asker: Asker, draft: Draft) -> Draft:
    n_aspects = len(draft.aspects)
    questions = _Questions(asker, draft, "label-results")
    labelled = questions.ask(
        "label_results",
        _ResultLabels([n_aspects + 7, n_aspects + 9]),
        stand_in=_ResultLabels(list(range(1, n_aspects + 1, 2))),
        check=lambda answer: _unknown(answer.results, range(1, n_aspects + 1), "aspect"),
        hypothesis=prompt_line(draft.hypothesis),
        aspects=numbered_aspects(draft.aspects),
    )
    return questions.made(results=tuple(number - 1 for number in sorted(set(labelled.results))))


LABEL_RESULTS = ModelStep(name="label-results", prompts=("label_results",), work=_label_results)
