"""The passages of a review: the sentences that speak of what one mark, or several of the same paper, cite."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from evidencebench.construction.harvest.marks import CitationMark
from evidencebench.construction.harvest.references import ReferenceList
from evidencebench.construction.harvest.voice import continues, is_own, names_study
from evidencebench.papers.paper import Paper
from evidencebench.query import Kind

MOST_UNCITED = 2
"""The most sentences before the first mark, or between two, that belong to a passage without a mark of their own."""


# A mark in brackets before a sentence, or alone.
_LEAD = re.compile(r"\([^()]{1,300}\)[.,;]?(?:\s+(?=[A-Z])|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Sentences ``first..last`` of a review, both included, and the marks in them."""

    first: int
    last: int
    marks: tuple[CitationMark, ...]

    @property
    def references(self) -> tuple[str, ...]:
        """The ids of the references that it cites, each once."""
        return tuple(dict.fromkeys(reference for mark in self.marks for reference in mark.references))

    @property
    def is_resolved(self) -> bool:
        """Whether it is known of all its marks what they name."""
        return all(mark.references for mark in self.marks)


def passages_of(review: Paper, marks: Sequence[CitationMark], listed: ReferenceList) -> Iterator[Passage]:
    """Yield the passages of a review in order.

    Each sentence with a mark is in exactly one. A sentence that cites several papers, or nobody knows which, is a
    passage of its own. One that cites a single paper goes on over the next sentences that cite it too, and over those
    without a mark that speak of it: see `voice`.
    """
    cited = _marks_by_sentence(review, marks)
    body = (index for index, kind in enumerate(review.kinds) if kind is Kind.BODY)
    for _, members in groupby(body, key=lambda index: review.places[index].paragraph):
        indices = list(members)
        yield from _Paragraph(review, range(indices[0], indices[-1] + 1), cited, listed).passages()


class _Paragraph:
    """The sentences of one paragraph, and which of them speak of what they cite."""

    def __init__(
        self, review: Paper, sentences: range, cited: Mapping[int, list[CitationMark]], listed: ReferenceList
    ) -> None:
        self._texts, self._cited, self._listed, self._sentences = review.sentences, cited, listed, sentences

    def passages(self) -> Iterator[Passage]:
        free = self._sentences.start  # the first sentence that is in no passage yet
        while (
            at := next((sentence for sentence in range(free, self._sentences.stop) if sentence in self._cited), None)
        ) is not None:
            reference = self._reference(at)
            first, last = at, at
            if reference is not None:
                while (after := self._next(last, at, reference)) is not None:
                    last = after
                first = self._beginning(at, reference, free)
            marks = tuple(mark for sentence in range(first, last + 1) for mark in self._cited.get(sentence, ()))
            yield Passage(first=first, last=last, marks=marks)
            free = last + 1

    def _reference(self, sentence: int) -> str | None:
        """Return the only reference that a sentence cites; None: it cites none, several, or nobody knows which."""
        named = {mark.references for mark in self._cited.get(sentence, ())}
        ids = {reference for references in named for reference in references}
        return ids.pop() if len(ids) == 1 and () not in named else None

    def _next(self, last: int, at: int, reference: str) -> int | None:
        """Return up to which sentence the passage goes on behind its last one; None: it ends there."""
        behind = range(last + 1, min(last + 2 + MOST_UNCITED, self._sentences.stop))
        again = next((sentence for sentence in behind if sentence in self._cited), None)
        between = range(last + 1, behind.stop if again is None else again)
        passage = " ".join(self._texts[max(at, last - MOST_UNCITED) : last + 1])
        if again is not None and self._reference(again) == reference:
            is_same = names_study(passage) and not any(is_own(self._texts[sentence]) for sentence in between)
            if is_same or not between:
                return again
        if between and continues(self._texts[last + 1], passage):
            return last + 1
        return None

    def _beginning(self, at: int, reference: str, free: int) -> int:
        """Return the first sentence of a passage: the cited one, or one before it that introduces its paper."""
        surname = self._listed[reference].surname
        for first in range(at - 1, max(free, at - 1 - MOST_UNCITED) - 1, -1):
            text = self._texts[first]
            is_named = len(surname) > 1 and re.search(rf"\b{re.escape(surname)}\b", text) is not None
            if is_named and not is_own(text):
                return first
            if not continues(self._texts[first + 1], text):
                break
            if not continues(text, "study"):
                return first
        return at


def _marks_by_sentence(review: Paper, marks: Sequence[CitationMark]) -> Mapping[int, list[CitationMark]]:
    """Return the marks of each sentence of the body that has any; "(Smith, 2004) They" cites for the one before."""
    body = [index for index, kind in enumerate(review.kinds) if kind is Kind.BODY]
    body_set = frozenset(body)
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
        if is_before and index - 1 in body_set and review.places[index - 1].paragraph == review.places[index].paragraph:
            index -= 1
        by_sentence[index].append(mark)
    return by_sentence
