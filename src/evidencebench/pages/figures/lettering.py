"""Names in charts: how wide a text is about, and where it is cut. A name comes from a file and may have any length."""

from evidencebench.tables import printable, shortened

LONGEST_SHOWN = 40
"""The most characters of a name that a chart shows."""

FONT_SIZE = 12.0
"""Size of most text, in units."""

BOLD_SIZE, TITLE_SIZE = 13.5, 15.5
"""Sizes with which `width_of` measures bold text of 12 and of 14 units, since bold letters are wider."""

_LONGEST_TITLE = 200
# The text between the two names of a difference, and the fewest characters in which both names are cut separately.
_BETWEEN, _LEAST_ROOM = " − ", 12
# Widths of letters as shares of the font's size, from DejaVu Sans; it is wider than most fonts, so texts fit in those.
_NARROW, _MIDDLING, _BROAD, _FULL = 0.4, 0.64, 0.8, 1.0
_NARROW_LETTERS = frozenset("ijlftrI.,:;'|!()[] ")
_BROAD_LETTERS = frozenset("#&+−<=>^~")
_FULL_LETTERS = frozenset("mwMW%@")
_END_OF_LATIN = "\u017f"


def shown_name(name: str, suffix: str = "") -> str:
    """Return a name as a chart shows it: on one line, cut to 40 characters, and a suffix behind that is not cut.

    It is cut in the middle, since names that are alike often differ at their ends. Of "first − second" both are cut so.

    >>> shown_name("lead", " *")
    'lead *'
    """
    return f"{cut(name, LONGEST_SHOWN)}{suffix}"


def title_name(name: str) -> str:
    """Return a name for a title element: on one line, cut to 200 characters."""
    return cut(name, _LONGEST_TITLE)


def cut(text: str, n_characters: int, ellipsis: str = "…") -> str:
    """Return text on one line of at most ``n_characters``; where it is cut, in the middle, stands the ellipsis."""
    # The text is cut before it is made printable, since a name may be a megabyte long.
    first, between, second = text.partition(_BETWEEN)
    room = n_characters - len(_BETWEEN)
    if len(text) <= n_characters or not between or room < _LEAST_ROOM:
        return printable(shortened(text, n_characters, ellipsis))
    of_first = min(len(first), max(room // 2, room - len(second)))
    return printable(f"{shortened(first, of_first, ellipsis)}{between}{shortened(second, room - of_first, ellipsis)}")


def width_of(text: str, size: float = FONT_SIZE) -> float:
    """Return about how wide a text is drawn, in units; the estimate is rather too wide than too narrow."""
    return size * sum(map(_width_share, text))


def fit_text(text: str, width: float, size: float = FONT_SIZE) -> str:
    """Return text cut so that it is not wider than ``width`` units, as `width_of` measures it.

    >>> fit_text("abstract_backwards", 60)
    'abs…rds'
    """
    if width_of(text, size) <= width:
        return text
    shorter = (cut(text, n_characters) for n_characters in range(len(text) - 1, 0, -1))
    return next((found for found in shorter if width_of(found, size) <= width), "…")


def _width_share(letter: str) -> float:
    if letter in _NARROW_LETTERS:
        return _NARROW
    if letter in _FULL_LETTERS or letter > _END_OF_LATIN:
        return _FULL
    return _BROAD if letter in _BROAD_LETTERS or letter.isupper() or not letter.isascii() else _MIDDLING
