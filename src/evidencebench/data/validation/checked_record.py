"""An instance that is checked, the violations found in it, and how values stand in messages."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

MISSING = object()
"""In place of the value of a key that is not there."""
_MAX_SHOWN_CHARACTERS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One place where a file departs from the format; a ``warning`` is what EvidenceBench-100k's dialect allows."""

    instance_id: str
    path: str
    rule: str
    expected: str
    got: str
    severity: str = "error"

    @property
    def is_error(self) -> bool:
        """Whether it is an error, not a warning about what the dialects allow."""
        return self.severity == "error"

    def __str__(self) -> str:
        return f"{self.instance_id}: {self.path}: expected {self.expected}, got {self.got}"


@dataclass(slots=True)
class CheckedRecord:
    """An instance that is checked: its fields that have the right type, and the violations found so far."""

    instance_id: str
    record: Mapping[str, Any]
    found: list[Violation] = field(default_factory=list)
    is_dialect: bool = False
    sentences: list[str] | None = None
    aspects: list[str] | None = None
    sources: dict[str, list[int]] = field(default_factory=dict)

    def note(self, path: str, rule: str, expected: str, got: str, *, allowed_in_dialects: bool = False) -> None:
        """Record a violation; ``allowed_in_dialects`` makes it a warning in them."""
        severity = "warning" if allowed_in_dialects and self.is_dialect else "error"
        self.found.append(
            Violation(instance_id=self.instance_id, path=path, rule=rule, expected=expected, got=got, severity=severity)
        )

    def expect(self, path: str, value: Any, kind: type, expected: str) -> bool:
        """Say whether a value has its type; record a violation if not."""
        if has_type(kind, value):
            return True
        self.note(path, "type", expected, shown(value))
        return False

    def field(self, key: str, kind: type, expected: str) -> Any:
        """Return the value under a key; None, and a violation, if it has another type."""
        value = self.record.get(key, MISSING)
        return value if self.expect(f"$.{key}", value, kind, expected) else None

    def in_range(self, path: str, index: Any) -> bool:
        """Say whether a value is the index of a sentence; record a violation if not."""
        if not self.expect(path, index, int, "a sentence index"):
            return False
        if self.sentences is not None and not 0 <= index < len(self.sentences):
            self.note(path, "range", f"an index in 0..{len(self.sentences) - 1}", str(index))
            return False
        return True

    def expect_strings(self, path: str, values: list[Any], expected: str = "a string") -> None:
        """Record a violation for each value of a list that is no string."""
        if not are_all(str, values):
            for index, value in enumerate(values):
                self.expect(f"{path}[{index}]", value, str, expected)

    def indices(self, path: str, values: list[Any]) -> list[int]:
        """Return the usable indices of a list, each bad or repeated one recorded."""
        n_sentences = len(self.sentences or ())
        if are_all(int, values) and min(values) >= 0 and max(values) < n_sentences and len(set(values)) == len(values):
            return values
        kept: dict[int, None] = {}
        for position, index in enumerate(values):
            if not self.in_range(f"{path}[{position}]", index):
                continue
            if index in kept:
                self.note(
                    f"{path}[{position}]",
                    "unique",
                    "an index that stands once",
                    f"{index} again",
                    allowed_in_dialects=True,
                )
            kept[index] = None
        return list(kept)


def strings_in(values: Any) -> list[str]:
    """Return the strings of a list; none where it is no list."""
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def are_all(kind: type, values: Iterable[Any]) -> bool:
    """Say whether values are all of this very type, and there is one."""
    return set(map(type, values)) == {kind}


def has_type(kind: type, value: Any) -> bool:
    """Say whether a value is of a type; a bool, which is an int in Python, is none here."""
    return isinstance(value, kind) and not isinstance(value, bool)


def shown(value: Any) -> str:
    """Return a value as a message shows it: JSON-like, on one line, short."""
    if value is MISSING:
        return "nothing"
    if value is None:
        return "null"
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else f"{text[:_MAX_SHOWN_CHARACTERS]}…"
