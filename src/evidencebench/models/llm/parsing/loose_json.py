"""JSON as models write it: with comments, trailing commas, single quotes, bare keys, Python's words, or cut off."""

import json
import re
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 40
MAX_VALUES = 20_000

_BLANK = re.compile(r"(?:[\s,]+|//[^\n]*|\#(?![0-9])[^\n]*|/\*)")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?(?![\w.]|\s{0,9}-)")
_WORD = re.compile(r"[A-Za-z_][\w-]*")
# A quotation mark closes a string where something behind it says so, since models leave those inside it as they are.
_CLOSES = r"(?=[ \t\r\n]*(?:[,:}\]/#]|$)|[ \t]*\n)"
_STRINGS = {
    mark: re.compile(rf"{mark}((?:[^{mark}\\]|\\.|{mark}(?!{_CLOSES}))*+){mark}{_CLOSES}", re.DOTALL) for mark in "\"'"
}
_CONSTANTS: dict[str, bool | None] = {
    "true": True,
    "false": False,
    "null": None,
    "none": None,
    "undefined": None,
    "nan": None,
}


@dataclass(frozen=True, slots=True)
class Cut:
    """A list or text that the end of the reply cuts in its midst."""

    value: Any


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written; its digits may be more than Python likes to convert."""

    text: str


class _NotJsonError(ValueError):
    """What stands here is not JSON, however loosely."""


@dataclass(slots=True)
class _Reader:
    text: str
    position: int
    n_values: int = 0

    def value(self, depth: int) -> Any:
        """Return the value at the position, which moves behind it."""
        self._skip()
        first = self.text[self.position : self.position + 1]
        self.n_values += 1
        if depth > MAX_DEPTH or self.n_values > MAX_VALUES or not first:
            raise _NotJsonError
        if first == "{":
            return self._object(depth)
        if first == "[":
            return self._array(depth)
        if first in "\"'":
            return self._string(first)
        if number := _NUMBER.match(self.text, self.position):
            self.position = number.end()
            return Cut(Number(number[0])) if self.position == len(self.text) else Number(number[0])
        word = _WORD.match(self.text, self.position)
        if word is None or word[0].lower() not in _CONSTANTS:
            raise _NotJsonError
        self.position = word.end()
        return _CONSTANTS[word[0].lower()]

    def _skip(self) -> None:
        """Move over blanks, commas and comments."""
        while found := _BLANK.match(self.text, self.position):
            self.position = found.end()
            if found[0] == "/*":
                end = self.text.find("*/", self.position)
                self.position = len(self.text) if end < 0 else end + 2

    def _array(self, depth: int) -> Any:
        self.position += 1
        values: list[Any] = []
        while True:
            self._skip()
            if self.position >= len(self.text):
                return Cut(values)
            if self.text[self.position] == "]":
                self.position += 1
                return values
            values.append(self.value(depth + 1))

    def _object(self, depth: int) -> Any:
        self.position += 1
        values: dict[str, Any] = {}
        while True:
            self._skip()
            if self.position >= len(self.text):
                return Cut(values)
            if self.text[self.position] == "}":
                self.position += 1
                return values
            key = self._key()
            self._skip()
            if self.text[self.position : self.position + 1] not in {":", "="}:
                if self.position >= len(self.text):
                    return Cut(values)
                raise _NotJsonError
            self.position += 1
            self._skip()
            if self.position >= len(self.text):
                return Cut(values)
            values[key] = self.value(depth + 1)

    def _key(self) -> str:
        mark = self.text[self.position]
        if mark in "\"'":
            key = self._string(mark)
            return key if isinstance(key, str) else str(key.value)
        found = _WORD.match(self.text, self.position) or _NUMBER.match(self.text, self.position)
        if found is None:
            raise _NotJsonError
        self.position = found.end()
        return found[0]

    def _string(self, mark: str) -> Any:
        found = _STRINGS[mark].match(self.text, self.position)
        if found is None:
            cut = Cut(self.text[self.position + 1 :])
            self.position = len(self.text)
            return cut
        self.position = found.end()
        return _unescaped(found[1])


def _unescaped(content: str) -> str:
    if "\\" not in content:
        return content
    try:
        return str(json.loads(f'"{content}"', strict=False))
    except ValueError:
        return content.replace("\\", "")


def read_json(text: str, start: int) -> tuple[Any, int] | None:
    """Return the object or array that opens at a position, and the position behind it; None where it is none.

    Numbers are `Number`, and a list, object, text or number that the end of the text cuts is a `Cut`. Of a key that
    stands twice the last counts. What is deeper than `MAX_DEPTH` or has more than `MAX_VALUES` values is none.

    Examples
    --------
    >>> read_json("{'a': ['x', None,], // why", 0)
    (Cut(value={'a': ['x', None]}), 26)
    """
    reader = _Reader(text, start)
    try:
        value = reader.value(0)
    except _NotJsonError:
        return None
    return value, reader.position
