"""Words that a line's end breaks: whether their hyphen belongs to the word."""

import re
from collections.abc import Set as AbstractSet

_HYPHENS = "-\u2010"
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_BROKEN = re.compile(rf"\b\w+[{_HYPHENS}][^\S\n]*+\n\s*+\w+")
_PART = re.compile(r"[^\W_]+")
_LONGEST_PART = 60
# "pre- and post-operative": the hyphen and the space stay.
_CONJUNCTIONS = frozenset({"and", "or", "to"})
_SOFT = "\u00ad"


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text in small letters, those that a line's end breaks apart."""
    return frozenset(word.replace("\u2010", "-") for word in _WORD.findall(_BROKEN.sub(" ", text).lower()))


def joint(line: str, after: str, words: AbstractSet[str]) -> tuple[int, str]:
    """Return how many characters of a line's end go, and what stands between it and the line behind it.

    The hyphen at a line's end stays where the text has the word with it, where it has both parts as words of their own,
    behind a single letter ("p-value"), and before a capital or a digit. Both lines come without white space around
    them, ``words`` from `words_of`.

    >>> words = words_of("A double-blind trial of treatment for long and term")
    >>> [joint(*lines, words) for lines in [("the treat-", "ment"), ("double-", "blind"), ("long-", "term")]]
    [(1, ''), (0, ''), (0, '')]
    >>> [joint(*lines, words) for lines in [("of tea", "was"), ("COX-", "2 rose"), ("pre-", "and post")]]
    [(0, ' '), (0, ''), (0, ' ')]
    """
    if line.endswith(_SOFT):
        return 1, ""
    reversed_left = _PART.match(line[:-1][-_LONGEST_PART:][::-1]) if line.endswith(tuple(_HYPHENS)) else None
    right = _PART.match(after)
    if not (reversed_left and right) or right[0] in _CONJUNCTIONS:
        return 0, " "
    left = reversed_left[0][::-1]
    first, second = left.lower(), right[0].lower()
    stays = (
        not (left.isalpha() and right[0].islower())
        or len(first) == 1  # no word is broken behind its first letter
        or f"{first}-{second}" in words
        or (first + second not in words and first in words and second in words)
    )
    return (0 if stays else 1), ""
