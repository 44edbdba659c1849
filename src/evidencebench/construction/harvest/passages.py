"""The passages of a review: the sentences that speak of what one mark, or several of the same paper, cite."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evidencebench.construction.harvest.marks import CitationMark
from evidencebench.papers.paper import Paper
from evidencebench.query import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Sentences ``first..last`` of a review, both included, and the marks in them."""

    first: int
    last: int
    marks: tuple[CitationMark, ...]

    @property
    def references(self) -> tuple[str, ...]:
        """The ids of the references that it cites, each once."""
        return tuple(dict.fromkeys(one for mark in self.marks for one in mark.references))


def passages_of(review: Paper, marks: Sequence[CitationMark]) -> Iterator[Passage]:
    """Yield the passages of a review in order; one whose `Passage.references` are several speaks of several papers."""
    waiting: Passage | None = None
    for index, of_sentence in _by_sentence(review, marks).items():
        here = Passage(first=index, last=index, marks=of_sentence)
        if waiting is not None and _goes_on(review, waiting, here):
            waiting = Passage(first=waiting.first, last=index, marks=waiting.marks + of_sentence)
            continue
        if waiting is not None:
            yield waiting
        waiting = here
    if waiting is not None:
        yield waiting


def _by_sentence(review: Paper, marks: Sequence[CitationMark]) -> dict[int, tuple[CitationMark, ...]]:
    """Return the marks of each sentence of the body that has any, in order of the sentences."""
    body = [index for index, kind in enumerate(review.kinds) if kind is Kind.BODY]
    starts = [review.spans[index].start for index in body]
    found: dict[int, tuple[CitationMark, ...]] = {}
    for mark in marks:
        place = bisect_right(starts, mark.start) - 1
        if place >= 0:
            found[body[place]] = (*found.get(body[place], ()), mark)
    return found


def _goes_on(review: Paper, before: Passage, after: Passage) -> bool:
    """Say whether the sentence behind a passage cites the same paper, in the same paragraph."""
    is_next = after.first == before.last + 1
    same_paragraph = review.places[before.last].paragraph == review.places[after.first].paragraph
    return is_next and same_paragraph and len(before.references) == 1 and before.references == after.references
