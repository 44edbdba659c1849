"""Names that fit: how wide a text is about, and where it is cut. Names come from anywhere, so all of them pass here."""

from evidencebench.tables import printable, shortened

LONGEST_SHOWN = 40
"""Characters of a name that a picture shows at most."""

FONT_SIZE = 12.0
"""Units of most text."""

BOLD_SIZE, TITLE_SIZE = 13.5, 15.5
"""Units as which bold text of 12 and of 14 units is measured, since it is wider."""

_LONGEST_TOLD = 200
# What stands between the two names of a difference, and the characters that both need to be cut apart.
_BETWEEN, _LEAST_ROOM = " - ", 12
# Shares of the font's size, as wide as in DejaVu Sans, which is wider than most: what fits there fits everywhere.
_NARROW, _MIDDLING, _BROAD, _FULL = 0.4, 0.64, 0.8, 1.0
_NARROW_LETTERS = frozenset("ijlftrI.,:;'|!()[] ")
_BROAD_LETTERS = frozenset("#&+<=>^~")
_FULL_LETTERS = frozenset("mwMW%@")
_END_OF_LATIN = "\u017f"


def shown_name(name: str, *, is_control: bool = False) -> str:
    """Return a name as a picture shows it: on one line, cut to 40 characters, a control's with a star behind.

    Both ends of it stay, since systems are often named alike but for their ends; of "first - second", those of both.

    >>> shown_name("lead", is_control=True)
    'lead *'
    """
    return f"{cut(name, LONGEST_SHOWN)}{' *' if is_control else ''}"


def title_name(name: str) -> str:
    """Return a name as a title tells it: on one line, cut to 200 characters."""
    return cut(name, _LONGEST_TOLD)


def cut(text: str, n_characters: int, ellipsis: str = "…") -> str:
    """Return text on one line, no longer than ``n_characters``; it is cut in its middle, and says so there."""
    # Cut before it is cleaned: a name may be a megabyte.
    first, between, second = text.partition(_BETWEEN)
    room = n_characters - len(_BETWEEN)
    if len(text) <= n_characters or not between or room < _LEAST_ROOM:
        return printable(shortened(text, n_characters, ellipsis))
    of_first = min(len(first), max(room // 2, room - len(second)))
    return printable(f"{shortened(first, of_first, ellipsis)}{between}{shortened(second, room - of_first, ellipsis)}")


def width_of(text: str, size: float = FONT_SIZE) -> float:
    """Return about how wide a text is drawn, in the picture's units; rather too wide than too narrow."""
    return size * sum(map(_share, text))


def fitted(text: str, width: float, size: float = FONT_SIZE) -> str:
    """Return text cut so that it is about no wider than ``width``.

    >>> fitted("abstract_backwards", 60)
    'abs…rds'
    """
    if width_of(text, size) <= width:
        return text
    shorter = (cut(text, n_characters) for n_characters in range(len(text) - 1, 0, -1))
    return next((found for found in shorter if width_of(found, size) <= width), "…")


def _share(letter: str) -> float:
    if letter in _NARROW_LETTERS:
        return _NARROW
    if letter in _FULL_LETTERS or letter > _END_OF_LATIN:
        return _FULL
    return _BROAD if letter in _BROAD_LETTERS or letter.isupper() or not letter.isascii() else _MIDDLING
