"""The sentences of each annotation's marked text, or why it has none."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from evidencebench.data.evidence_inference.plain_text import TextPart, TrialText
from evidencebench.data.evidence_inference.records import INVALID_PROMPT, Annotation
from evidencebench.data.evidence_inference.searching import SHARE_FOUND, SearchedPaper, occurrences
from evidencebench.papers.paper import Paper

NOT_FOUND, AMBIGUOUS, NO_PAPER = "text not found", "text found in several places", "no paper"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What became of a valid annotation: its sentences or a reason; the plain text says what is running text."""

    sentences: tuple[int, ...] = ()
    reason: str | None = None
    in_running_text: bool | None = None


@dataclass(frozen=True)
class PlacingPaper:
    """A paper in which marked texts are placed, and its plain text; None where it is missing or cannot be read."""

    paper: Paper | None
    plain: TrialText | None

    @cached_property
    def _searched(self) -> SearchedPaper:
        return SearchedPaper(self.paper.sentences if self.paper is not None else ())

    @cached_property
    def _plain_searched(self) -> SearchedPaper:
        return SearchedPaper(self.plain.paper.sentences if self.plain is not None else ())

    def place(self, annotation: Annotation) -> Placement:
        """Return the sentences that a valid annotation's marked text stands in, or why there are none."""
        span = None if self.plain is None else _span_in(self.plain.text, annotation)
        part: TextPart | None = None if self.plain is None or span is None else self.plain.part_of(*span)
        in_running_text = None if self.plain is None else part in {None, "running text"}
        placed = self._placed(annotation, span)
        if isinstance(placed, tuple):
            return Placement(sentences=placed, in_running_text=in_running_text)
        reason = f"in a {part}" if placed == NOT_FOUND and part not in {None, "running text"} else placed
        return Placement(reason=reason, in_running_text=in_running_text)

    def _placed(self, annotation: Annotation, span: tuple[int, int] | None) -> tuple[int, ...] | str:
        if self.paper is None:
            return NO_PAPER
        if self.plain is not None and self.plain.paper is self.paper and span is not None:
            n_marked = self._marked_in_plain(*span)
            n_letters = sum(map(str.isalnum, annotation.text))
            return self._searched.meant(n_marked) if sum(n_marked.values()) >= SHARE_FOUND * n_letters else NOT_FOUND
        places = self._searched.places_of(annotation.text)
        if not places:
            return NOT_FOUND
        if len(set(places)) == 1:
            return places[0]
        if span is None:
            return AMBIGUOUS
        share = self._share_in_plain(span[0])
        return min(places, key=lambda place: abs(self._searched.share_before(place[0]) - share))

    def _marked_in_plain(self, start: int, stop: int) -> dict[int, int]:
        """Return sentence of the plain text -> letters and digits of it in the characters start..stop-1."""
        assert self.plain is not None
        spans = self.plain.paper.spans
        first = max(0, bisect_right(spans, start, key=lambda span: span.start) - 1)
        n_marked: dict[int, int] = {}
        for index in range(first, len(spans)):
            if spans[index].start >= stop:
                break
            inside = self.plain.text[max(start, spans[index].start) : min(stop, spans[index].stop)]
            n_letters = sum(map(str.isalnum, inside))
            if n_letters:
                n_marked[index] = n_letters
        return n_marked

    def _share_in_plain(self, start: int) -> float:
        """Return which share of the plain text's running text stands before a character of it, in 0..1."""
        assert self.plain is not None
        spans = self.plain.paper.spans
        return self._plain_searched.share_before(max(0, bisect_right(spans, start, key=lambda span: span.start) - 1))


def reason_against(annotation: Annotation) -> str | None:
    """Return why an annotation does not count, before its text is looked for; None where it counts."""
    if not annotation.has_valid_label:
        return "invalid label"
    if not annotation.has_valid_reasoning:
        return "invalid reasoning"
    if annotation.label == INVALID_PROMPT:
        return INVALID_PROMPT
    if annotation.direction is None:
        return "unknown label"
    return None if annotation.text.strip() else "empty text"


def _span_in(text: str, annotation: Annotation) -> tuple[int, int] | None:
    """Return where the marked text stands in the plain text: at its offsets, or nearest to them; None if nowhere."""
    start, stop, wanted = annotation.start, annotation.stop, "".join(annotation.text.split())
    if start is not None and stop is not None and "".join(text[start:stop].split()) == wanted:
        return start, stop
    places = [place for place, character in enumerate(text) if not character.isspace()]
    starts = occurrences("".join(text.split()), wanted)
    spans = [(places[first], places[first + len(wanted) - 1] + 1) for first in starts]
    if not spans or (start is None and len(spans) > 1):
        return None
    return min(spans, key=lambda span: abs(span[0] - (start or 0)))
