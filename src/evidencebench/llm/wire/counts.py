"""What servers tell beside the reply: kept where it is sane, and never a reason to lose a paid reply."""

from typing import Annotated, Any, TypeVar

import msgspec

from evidencebench.tables import printable

T = TypeVar("T")

_NAME_CHARACTERS = 120

Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]
"""Of tokens. What is negative or absurd would spoil the sum of the costs."""


def counted(raw: msgspec.Raw, form: type[T]) -> T | None:
    """Return counts in their form, or None where they are something else: a paid reply is not lost for them."""
    try:
        return msgspec.json.decode(raw, type=form | None)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def named(name: Any) -> str:
    """Return a model's name as a server told it, empty where it told none."""
    return printable(name[:_NAME_CHARACTERS]) if isinstance(name, str) else ""
