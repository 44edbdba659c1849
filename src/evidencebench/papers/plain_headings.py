"""Headings of a plain text without marks, told by their wording and place, in doubt none."""

import re

from evidencebench.papers.captions import captioned
from evidencebench.papers.section_titles import is_known_title, level_of, number_of

_HEADING_STOP = re.compile(r"[.!?,;:]$")
_NOT_TITLES = re.compile(r"key ?-?words?\s*:", re.IGNORECASE)
_MOST_WORDS = 12
_LEAST_LETTERS = 4
# What follows a heading: a line that ends as text does, or a long one. Cells of tables are neither.
_LEAST_TEXT = 40


class HeadingFinder:
    """Tells known titles, and short lines alone that begin with a capital or the next number, as 2.1 behind 2."""

    def __init__(self) -> None:
        self._last: tuple[int, ...] = (0,)

    def level(self, line: str, *, before: str, after: str, alone: bool) -> int | None:
        """Return the level of a heading, None for any other line; ``before`` is empty where that line is apart."""
        number = number_of(line)
        is_next = self._is_next(number)
        ends_before = not before or _HEADING_STOP.search(before) is not None
        is_known = is_known_title(line) and not line[0].islower() and ends_before
        if not is_known and not (alone and self._is_title(line, after, is_next=is_next)):
            return None
        if number and is_next:
            self._last = number
        return level_of(line)

    def _is_title(self, line: str, after: str, *, is_next: bool) -> bool:
        words = line.split()
        is_titled = line[0].isupper() and sum(map(str.isalpha, line)) >= _LEAST_LETTERS
        leads_on = len(after) >= _LEAST_TEXT or bool(_HEADING_STOP.search(after)) or is_known_title(after)
        is_other = _HEADING_STOP.search(line) or _NOT_TITLES.match(line) or captioned(line)
        return (is_titled or is_next) and len(words) <= _MOST_WORDS and not is_other and leads_on

    def _is_next(self, number: tuple[int, ...]) -> bool:
        if not number:
            return False
        *outer, last = number
        return number == (*self._last, 1) or (
            len(number) <= len(self._last)
            and tuple(outer) == self._last[: len(outer)]
            and last == self._last[len(outer)] + 1
        )
