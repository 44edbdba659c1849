"""The steps that write: summaries, hypotheses, aspects, labels of Results; with checks of what a model wrote."""

import re
import unicodedata

import msgspec

from evidencebench.construction.draft import Draft, dropped
from evidencebench.construction.step import ModelStep, ask_object, numbered_sentences
from evidencebench.files.disk import packaged_table
from evidencebench.papers.blocks import sentence_spans
from evidencebench.systems.llm.asking import Asker
from evidencebench.systems.llm.excerpts import prompt_line

FEWEST_WORDS, MOST_WORDS = 5, 50  # of a hypothesis
NO_WORDS = "no words"  # why a draft is dropped whose summary says nothing: see `has_words`
_LEAST_SHARED = 0.2  # of a text's words stand in the text that it was made from
_STEM = 6  # the first letters of a longer word that make two words alike: "lowers" and "lowered"

_WORD = re.compile(r"[^\W_]+(?:['\N{RIGHT SINGLE QUOTATION MARK}-][^\W_]+)*")
_NUMBER = re.compile(r"(?<![\w-])(?<!\w[.,])\d+(?:[.,]\d+)*(?![\w-]|[.,]\d)")
_WORDS = packaged_table(__file__)
_NAMING = frozenset(_WORDS["naming"].split())
_FINDING = re.compile(rf"\b(?:{'|'.join(_WORDS['findings'])})\b|[%\N{{PER MILLE SIGN}}]", re.IGNORECASE)


def words_of(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def has_words(text: str) -> bool:
    """Say whether a text says anything: it has at least three words that are no numbers."""
    return sum(word.isalpha() and len(word) > 1 for word in words_of(text)) >= 3  # noqa: PLR2004 - said above


def wrong_with_hypothesis(hypothesis: str, summary: str, context: str) -> str:
    """Return what is wrong with a hypothesis, in words for the model that wrote it; empty where nothing is."""
    n_sentences, n_words = len(sentence_spans(hypothesis)), len(words_of(hypothesis))
    if n_sentences != 1:
        return f"it has {n_sentences} sentences, not one"
    if not FEWEST_WORDS <= n_words <= MOST_WORDS:
        return f"it has {n_words} words, not {FEWEST_WORDS} to {MOST_WORDS}"
    if hypothesis.rstrip().endswith("?"):
        return "it is a question, not a statement"
    if is_foreign(hypothesis, f"{summary} {context}"):
        return "it is not in the language of the summary"
    known = set(numbers_in(summary))
    if leaked := [number for number in numbers_in(hypothesis) if number in known]:
        return f"it gives away the number {leaked[0]} of the summary"
    finding = _FINDING.search(hypothesis)
    return f"'{finding[0]}' gives away that a study found something" if finding else ""


def wrong_with_aspect(aspect: str, summary: str) -> str:
    if not words_of(aspect):
        return "an aspect is empty"
    known = set(numbers_in(summary))
    if invented := [number for number in numbers_in(aspect) if number not in known]:
        rest = " ".join(word for word in aspect.split() if invented[0] not in word)
        return f"the number {invented[0]} of '{rest[:60]}' is not in the summary"
    if is_foreign(aspect, summary):
        return f"'{aspect[:60]}' is not in the words and the language of the summary"
    return ""


def numbers_in(text: str) -> list[str]:
    """Return the numbers of a text that are no part of a name, without signs between thousands."""
    numbers = []
    spaced = re.sub(r"(?<=\d)\s?[-\N{EN DASH}\N{MINUS SIGN}]\s?(?=\d)", " ", text)
    for number in _NUMBER.finditer(spaced):
        before = words_of(spaced[max(0, number.start() - 30) : number.start()])
        if not before or before[-1] not in _NAMING:
            numbers.append(re.sub(r",(?=\d{3}(?:\D|$))", "", number[0]))
    return numbers


def is_foreign(text: str, source: str) -> bool:
    """Say whether a text is in another language or script than its source: hardly any of its words stands there."""
    words, known = words_of(text), set(words_of(source))
    if not words or not known:
        return False
    shared = sum(
        word in known or (len(word) > _STEM and any(other.startswith(word[:_STEM]) for other in known))
        for word in words
    )

    def script(of: str) -> str:
        names = [unicodedata.name(letter, "").partition(" ")[0] for letter in of if letter.isalpha()]
        return max(set(names), key=names.count, default="")

    return shared < _LEAST_SHARED * len(words) or script(text) != script(source)


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
        delimited, sources["summaries delimit"] = ask_object(
            asker,
            "delimit",
            {"numbers": numbers, "lines": numbered_sentences(dict(enumerate(text, 1))).block},
            example=_Delimited([len(text) + 3, len(text) + 4]),
            stand_in=_Delimited(cited),
            check=lambda answer: _wrong_with(answer.sentences, len(text)),
            what="delimited passage",
        )
        if not delimited.sentences:
            return dropped(draft, "the passage is not about the paper")
        summary = " ".join(text[number - 1] for number in sorted(set(delimited.sentences)))
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
    before, summary, behind = draft.context.partition(draft.summary)
    texts = (before, summary, behind) if summary else ("", draft.summary, "")
    first, passage, last = ([text[start:stop] for start, stop in sentence_spans(text)] for text in texts)
    return [*first, *passage, *last], list(range(len(first) + 1, len(first) + len(passage) + 1))


def _wrong_with(numbers: list[int], n_sentences: int) -> str:
    if strange := [number for number in numbers if not 1 <= number <= n_sentences]:
        return f"there is no sentence {strange[0]}"
    if numbers and max(numbers) - min(numbers) + 1 != len(set(numbers)):
        return "the sentences do not follow each other"
    return ""


SUMMARIES = ModelStep(name="summaries", prompts=("delimit", "keep"), work=_make_summary)


_FORM_ONLY = "..."


class _Purpose(msgspec.Struct):
    purpose: str


class _Hypothesis(msgspec.Struct):
    hypothesis: str


def _make_hypothesis(asker: Asker, draft: Draft) -> Draft:
    if not has_words(draft.summary):
        return dropped(draft, NO_WORDS)
    summary, context = prompt_line(draft.summary), prompt_line(draft.context)
    sources = dict(draft.sources_of)

    def wrong_with_purpose(answer: _Purpose) -> str:
        if not has_words(answer.purpose):
            return "it holds no purpose"
        return "it is not in the language of the summary" if is_foreign(answer.purpose, f"{summary} {context}") else ""

    purpose, sources["hypotheses purpose"] = ask_object(
        asker,
        "purpose",
        {"summary": summary, "context": context or "(nothing)"},
        example=_Purpose(_FORM_ONLY),
        stand_in=_Purpose(_as_long_as(draft.summary, 30)),
        check=wrong_with_purpose,
        what="purpose",
    )
    trimmed, sources["hypotheses trim"] = ask_object(
        asker,
        "hypothesis",
        {"summary": summary, "purpose": prompt_line(purpose.purpose)},
        example=_Hypothesis(_FORM_ONLY),
        stand_in=_Hypothesis(_as_long_as(draft.summary, 15)),
        check=lambda answer: wrong_with_hypothesis(answer.hypothesis, draft.summary, draft.context),
        what="hypothesis",
    )
    return msgspec.structs.replace(
        draft,
        purpose=" ".join(purpose.purpose.split()),
        hypothesis=" ".join(trimmed.hypothesis.split()),
        sources_of=sources,
    )


def _as_long_as(text: str, n_words: int) -> str:
    return " ".join((text.split() * n_words)[:n_words])


HYPOTHESES = ModelStep(name="hypotheses", prompts=("purpose", "hypothesis"), work=_make_hypothesis)


MOST_ASPECTS = 50  # of a summary; the largest number in the published data is 30
ASSUMED_ASPECTS = 8  # of a summary where estimates know none: the mean of the published data


class _Aspects(msgspec.Struct):
    aspects: list[str]


class _AspectVerdict(msgspec.Struct):
    aspect: int
    faithful: bool
    single: bool


class _AspectVerdicts(msgspec.Struct):
    verdicts: list[_AspectVerdict]


def _make_aspects(asker: Asker, draft: Draft) -> Draft:
    sources = dict(draft.sources_of)
    summary = prompt_line(draft.summary)
    split, sources["aspects split"] = ask_object(
        asker,
        "aspects",
        {"hypothesis": prompt_line(draft.hypothesis), "summary": summary},
        example=_Aspects(["...", "..."]),
        stand_in=_Aspects(stand_in_aspects(summary, ASSUMED_ASPECTS)),
        check=lambda answer: _wrong_with_aspects(answer.aspects, draft.summary),
        what="aspects",
    )
    aspects = tuple(" ".join(aspect.split()) for aspect in split.aspects)
    numbers = list(range(1, len(aspects) + 1))
    verified, sources["aspects verify"] = ask_object(
        asker,
        "verify_aspects",
        {"summary": summary, "aspects": numbered_aspects(aspects)},
        example=_AspectVerdicts([_AspectVerdict(aspect=len(aspects) + 7, faithful=True, single=True)]),
        stand_in=_AspectVerdicts([_AspectVerdict(aspect=n, faithful=True, single=True) for n in numbers]),
        check=lambda answer: (
            ""
            if sorted(verdict.aspect for verdict in answer.verdicts) == numbers
            else f"expected one verdict for each of the aspects 1 to {len(aspects)}"
        ),
        what="verdicts on the aspects",
    )
    made = msgspec.structs.replace(draft, aspects=aspects, sources_of=sources)
    verdicts = sorted(verified.verdicts, key=lambda verdict: verdict.aspect)
    if untrue := [aspects[verdict.aspect - 1] for verdict in verdicts if not verdict.faithful]:
        return dropped(made, "an aspect says more than the summary", "; ".join(untrue))
    if wide := [aspects[verdict.aspect - 1] for verdict in verdicts if not verdict.single]:
        return dropped(made, "an aspect needs several sentences", "; ".join(wide))
    return made


def numbered_aspects(aspects: tuple[str, ...]) -> str:
    return "\n".join(f"{number}. {prompt_line(aspect)}" for number, aspect in enumerate(aspects, 1))


def _wrong_with_aspects(aspects: list[str], summary: str) -> str:
    if not aspects:
        return "it holds no aspect"
    if len(aspects) > MOST_ASPECTS:
        return f"it has {len(aspects):,} aspects; at most {MOST_ASPECTS} are allowed"
    if len({" ".join(words_of(aspect)) for aspect in aspects}) < len(aspects):
        return "two aspects are the same"
    return next(filter(None, (wrong_with_aspect(aspect, summary) for aspect in aspects)), "")


def stand_in_aspects(summary: str, n_aspects: int) -> list[str]:
    """Return as many texts as there may be aspects, together a little longer than the summary, as aspects are."""
    words = summary.split()
    size = max(8, -(-len(words) // max(1, n_aspects)) + 4)
    return [f"{number} {' '.join((words * size)[:size])}" for number in range(1, n_aspects + 1)]


ASPECTS = ModelStep(name="aspects", prompts=("aspects", "verify_aspects"), work=_make_aspects)


class _ResultLabels(msgspec.Struct):
    results: list[int]


def _label_results(asker: Asker, draft: Draft) -> Draft:
    n_aspects = len(draft.aspects)
    labelled, source = ask_object(
        asker,
        "label_results",
        {"hypothesis": prompt_line(draft.hypothesis), "aspects": numbered_aspects(draft.aspects)},
        example=_ResultLabels([n_aspects + 7, n_aspects + 9]),
        stand_in=_ResultLabels(list(range(1, n_aspects + 1, 2))),
        check=lambda answer: next(
            (f"there is no aspect {number}" for number in answer.results if not 1 <= number <= n_aspects), ""
        ),
        what="results labels",
    )
    return msgspec.structs.replace(
        draft,
        results=tuple(number - 1 for number in sorted(set(labelled.results))),
        sources_of={**draft.sources_of, "label-results": source},
    )


LABEL_RESULTS = ModelStep(name="label-results", prompts=("label_results",), work=_label_results)
