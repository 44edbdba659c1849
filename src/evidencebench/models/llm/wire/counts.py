"""Checks of a reply's other values, such as token counts: an absurd one is dropped, and the paid reply is kept."""

from typing import Annotated, Any

import msgspec

from evidencebench.tables import printable
from evidencebench.web.transient import TransientError

_NAME_CHARACTERS = 120

Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]
"""A count of tokens. A negative or absurd one would spoil the sum of the costs."""


def is_text(kind: Any, kinds: tuple[str, ...]) -> bool:
    """Whether a part of a reply is text: its kind is one of ``kinds``, or it names none."""
    return not isinstance(kind, str) or kind in kinds


def joined(texts: list[Any]) -> str:
    """Return the texts of a reply's parts as one, without values that are no text; raise if there is nothing else."""
    found = "".join(text for text in texts if isinstance(text, str))
    if not found and not all(isinstance(text, str | None) for text in texts):
        raise TransientError("expected a reply with a text, got parts without one")
    return found


def model_name_of(name: Any) -> str:
    """Return a model's name as a server gives it, cut where it is long; empty where it gives none."""
    return printable(name[:_NAME_CHARACTERS]) if isinstance(name, str) else ""
