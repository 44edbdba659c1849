"""Names that fit: how wide a text is about, and where it is cut. Names come from anywhere, so all of them pass here."""

from evidencebench.tables import printable

LONGEST_SHOWN = 40
"""Characters of a name that a picture shows at most."""

FONT_SIZE = 12.0
"""Units of most text."""

BOLD_SIZE, TITLE_SIZE = 13.5, 15.5
"""Units as which bold text of 12 and of 14 units is measured, since it is wider."""

_LONGEST_TOLD = 200
# Shares of the font's size, as wide as in DejaVu Sans, which is wider than most: what fits there fits everywhere.
_NARROW, _MIDDLING, _BROAD, _FULL = 0.4, 0.64, 0.8, 1.0
_NARROW_LETTERS = frozenset("ijlftrI.,:;'|!()[] ")
_BROAD_LETTERS = frozenset("#&+<=>^~")
_FULL_LETTERS = frozenset("mwMW%@")
_END_OF_LATIN = "\u017f"


def shown_name(name: str, *, is_control: bool = False) -> str:
    """Return a name as a picture shows it: on one line, cut to 40 characters, a control's with a star behind.

    Examples
    --------
    >>> shown_name("lead", is_control=True)
    'lead *'
    """
    return f"{cut(name, LONGEST_SHOWN)}{' *' if is_control else ''}"


def told_name(name: str) -> str:
    """Return a name as a title tells it: on one line, cut to 200 characters."""
    return cut(name, _LONGEST_TOLD)


def cut(text: str, n_characters: int, ellipsis: str = "…") -> str:
    """Return text on one line, no longer than ``n_characters``; where it is cut it says so."""
    # Cut before it is cleaned: a name may be a megabyte.
    cleaned = printable(text[: n_characters + 1])
    return cleaned if len(text) <= n_characters else cleaned[: n_characters - len(ellipsis)] + ellipsis


def width_of(text: str, size: float = FONT_SIZE) -> float:
    """Return about how wide a text is drawn, in the picture's units; rather too wide than too narrow."""
    return size * sum(map(_share, text))


def fitted(text: str, width: float, size: float = FONT_SIZE) -> str:
    """Return text cut so that it is about no wider than ``width``.

    Examples
    --------
    >>> fitted("abstract_backwards", 60)
    'abstrac…'
    """
    if width_of(text, size) <= width:
        return text
    kept = text
    while kept and width_of(f"{kept}…", size) > width:
        kept = kept[:-1]
    return f"{kept}…"


def _share(letter: str) -> float:
    if letter in _NARROW_LETTERS:
        return _NARROW
    if letter in _FULL_LETTERS or letter > _END_OF_LATIN:
        return _FULL
    return _BROAD if letter in _BROAD_LETTERS or letter.isupper() or not letter.isascii() else _MIDDLING
