"""The numbers of a text, however they are written: 0.80 and .05, 1,200 and 1 200, 2·1, thirty-two."""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from evidencebench.files.disk import packaged_table

_TABLE = packaged_table(__file__)
_WORDS = {word: int(n) for n, _, word in (pair.partition(":") for pair in _TABLE["words"].split())}
_SCALES: dict[str, int] = _TABLE["scales"]

DIGITS = r"(?:\d{1,3}(?: \d{3})+(?![\d.,])|\d+(?:[.,\u00b7]\d+)*|[.\u00b7]\d+)"
_SMALL = rf"(?:(?:[a-z]{{3,5}}ty[ -])?\b(?:{'|'.join(_WORDS)})\b)"
_SPELLED = rf"\b{_SMALL}(?:[ -](?:{'|'.join(_SCALES)})\b(?:(?: and)?[ -]{_SMALL})?)*"
_NUMBER = re.compile(rf"{DIGITS}|{_SPELLED}", re.IGNORECASE)
# Marks of references, and raised digits, which stand for one, or for a power.
_MARKS = re.compile(r"\[\s?\d+(?:\s?[-,;\u2013]\s?\d+)*\s?\]|[\u00b2\u00b3\u00b9\u2070-\u2079]")
_DASHES = re.compile("[\u2010-\u2015\u2212]")


class Number(NamedTuple):
    written: str
    values: frozenset[float]  # that it may have: "1,200" is 1200 and, in German, 1.2
    before: str  # the text before it, as `plain` returns it
    behind: str


def plain(text: str) -> str:
    """Return a text on one line without marks of references, with plain letters, digits, dashes and spaces."""
    return " ".join(_DASHES.sub("-", unicodedata.normalize("NFKC", _MARKS.sub(" ", text))).split())


def numbers_in(text: str, *, around: int = 80) -> Iterator[Number]:
    """Yield the numbers of a text, with so many characters before and behind them; a sign is none of them.

    >>> [sorted(number.values) for number in numbers_in("Thirty-two of 1 200 fell by \u22120.80 [7]")]
    [[32.0], [1200.0], [0.8]]
    """
    text = plain(text)
    for found in _NUMBER.finditer(text):
        before, behind = text[max(0, found.start() - around) : found.start()], text[found.end() :][:around]
        yield Number(found[0], _values(found[0]), before, behind)


def _values(number: str) -> frozenset[float]:
    if not number[-1].isdecimal():
        value = part = 0.0
        for word in re.split("[ -]", number.lower()):
            part = max(1, part) * _SCALES[word] if word in _SCALES else part + _WORDS.get(word, 0)
            if _SCALES.get(word, 0) > 100:  # noqa: PLR2004 - "two hundred thousand" is one number
                value, part = value + part, 0.0
        return frozenset([value + part])
    whole, _, fraction = re.sub(r"[,\u00b7]", ".", number).replace(" ", "").rpartition(".")
    is_decimal = bool(whole) or number[0] in ".\u00b7"
    values = {float(f"{whole.replace('.', '')}.{fraction}" if is_decimal else fraction)}
    if re.fullmatch(r"[1-9]\d{0,2}(?:[., ]\d{3})+", number):
        values.add(float(re.sub(r"\D", "", number)))
    return frozenset(values)
