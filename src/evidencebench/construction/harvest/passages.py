"""The passages of a review, and who speaks in a sentence: a paper that it cites, or the review itself."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from evidencebench.construction.harvest.marks import CitationMark
from evidencebench.construction.harvest.references import ReferenceList
from evidencebench.files.disk import packaged_table
from evidencebench.papers.paper import Paper
from evidencebench.query import Kind

_TABLE = packaged_table(__file__)


def _pattern(name: str) -> re.Pattern[str]:
    pattern: str = _TABLE["patterns"][name]
    for part, alternatives in _TABLE["parts"].items():
        pattern = pattern.replace(f"<{part}>", alternatives)
    return re.compile(pattern, re.VERBOSE)


_CONTINUING, _NAMES_STUDY = _pattern("continuing"), _pattern("names_study")
_OWN, _OWN_EARLIER, _COMPARING = _pattern("own"), _pattern("own_earlier"), _pattern("comparing")
SUBJECT, THIS_STUDY, _POINTING_BACK = _pattern("subject"), _pattern("this_study"), _pattern("pointing_back")
_BRACKETED = re.compile(r"\([^()]{0,300}\)")


def continues(sentence: str, passage: str) -> bool:
    """Say whether an uncited sentence goes on about the study that the passage before it names."""
    return _CONTINUING.match(sentence) is not None and names_study(passage)


def names_study(passage: str) -> bool:
    """Say whether a passage speaks of a study or its authors, and not only in brackets."""
    return _NAMES_STUDY.search(_BRACKETED.sub("", passage)) is not None


def is_own(sentence: str) -> bool:
    """Say whether the review speaks of itself, and not only of an earlier paper of its authors."""
    return bool(_COMPARING.search(sentence)) or _OWN.search(_OWN_EARLIER.sub("", sentence)) is not None


def _is_behind_another(review: Paper, index: int) -> bool:
    """Say whether a sentence stands behind another one of the body in its paragraph."""
    is_body = index > 0 and review.kinds[index - 1] is Kind.BODY
    return is_body and review.places[index - 1].paragraph == review.places[index].paragraph


def points_back(review: Paper, index: int) -> bool:
    """Say whether a sentence begins with a word for what stands before it in its paragraph."""
    return _POINTING_BACK.match(review.sentences[index]) is not None and _is_behind_another(review, index)


# The most sentences before the first mark, or between two, that belong to a passage without a mark of their own.
MOST_UNCITED = 2
# A mark in brackets before a sentence, or alone.
_LEAD = re.compile(r"\([^()]{1,300}\)[.,;]?(?:\s+(?=[A-Z])|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What a review says of a paper, at characters start..stop-1 of the file's text, and the marks in it."""

    text: str
    section: tuple[str, ...]  # titles, outermost first, and the caption of a table
    start: int
    stop: int
    marks: tuple[CitationMark, ...]
    scope: tuple[str, ...] | None = None  # in which one may cite a paper: its section; None: all tables
    sentences: range = range(0)  # of the review; none: a row of a table, as "column: cell; column: cell"

    @property
    def references(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(reference for mark in self.marks for reference in mark.references))


def passages_of(review: Paper, marks: Sequence[CitationMark], listed: ReferenceList) -> Iterator[Passage]:
    """Yield the passages of a review in order; each sentence with a mark is in exactly one."""
    cited = _marks_by_sentence(review, marks)
    single: dict[int, str | None] = {}  # sentence -> the only reference that it cites; None: several, or not known
    for sentence, sentence_marks in cited.items():
        named = {mark.references for mark in sentence_marks}
        ids = {reference for references in named for reference in references}
        single[sentence] = ids.pop() if len(ids) == 1 and () not in named else None
    body = (index for index, kind in enumerate(review.kinds) if kind is Kind.BODY)
    for _, members in groupby(body, key=lambda index: review.places[index].paragraph):
        indices = list(members)
        free, stop = indices[0], indices[-1] + 1  # the first sentence that is in no passage yet
        for at in range(free, stop):
            if at < free or at not in cited:
                continue
            first = last = at  # a passage of its own where it cites several papers, or nobody knows which
            if (reference := single[at]) is not None:
                while (after := _next(review.sentences, single, at, last, stop)) is not None:
                    last = after
                first = _beginning(review.sentences, listed[reference].surname, at, free)
            yield Passage(
                text=" ".join(review.sentences[first : last + 1]),
                section=review.places[first].section,
                start=review.spans[first].start,
                stop=review.spans[last].stop,
                marks=tuple(mark for sentence in range(first, last + 1) for mark in cited.get(sentence, ())),
                scope=review.places[first].section,
                sentences=range(first, last + 1),
            )
            free = last + 1


def _next(texts: Sequence[str], single: Mapping[int, str | None], at: int, last: int, stop: int) -> int | None:
    behind = range(last + 1, min(last + 2 + MOST_UNCITED, stop))
    again = next((sentence for sentence in behind if sentence in single), None)
    between = range(last + 1, behind.stop if again is None else again)
    passage = " ".join(texts[max(at, last - MOST_UNCITED) : last + 1])
    if again is not None and single[again] == single[at]:
        is_same = names_study(passage) and not any(is_own(texts[sentence]) for sentence in between)
        if is_same or not between:
            return again
    return last + 1 if between and continues(texts[last + 1], passage) else None


def _beginning(texts: Sequence[str], surname: str, at: int, free: int) -> int:
    """Return the first sentence of a passage: the cited one, or one before it that introduces its paper."""
    for first in range(at - 1, max(free, at - 1 - MOST_UNCITED) - 1, -1):
        text = texts[first]
        is_named = len(surname) > 1 and re.search(rf"\b{re.escape(surname)}\b", text) is not None
        if is_named and not is_own(text):
            return first
        if not continues(texts[first + 1], text):
            break
        if not continues(text, "study"):
            return first
    return at


def _marks_by_sentence(review: Paper, marks: Sequence[CitationMark]) -> Mapping[int, list[CitationMark]]:
    """Return the marks of each sentence of the body that has any; "(Smith, 2004) They" cites for the one before."""
    body = [index for index, kind in enumerate(review.kinds) if kind is Kind.BODY]
    starts = [review.spans[index].start for index in body]
    by_sentence: defaultdict[int, list[CitationMark]] = defaultdict(list)
    for mark in marks:
        at = mark.start if mark.start < mark.stop else mark.start - 1
        place = bisect_right(starts, at) - 1
        if place < 0:
            continue
        index = body[place]
        lead = _LEAD.match(review.sentences[index])
        is_before = lead is not None and mark.text in lead[0] and index not in by_sentence
        by_sentence[index - (is_before and _is_behind_another(review, index))].append(mark)
    return by_sentence
