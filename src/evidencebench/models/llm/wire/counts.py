"""What servers report beside the text, such as token counts: absurd ones are dropped, the paid reply is kept."""

from typing import Annotated, Any

import msgspec

from evidencebench.tables import printable
from evidencebench.web.transient import TransientError

_NAME_CHARACTERS = 120

Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]
"""Of tokens. What is negative or absurd would spoil the sum of the costs."""


def is_text(kind: Any, kinds: tuple[str, ...]) -> bool:
    """Whether a part of a reply is text of it, as is what does not say what it is."""
    return not isinstance(kind, str) or kind in kinds


def joined(texts: list[Any]) -> str:
    """Return the texts of a reply's parts as one; what is no text is left out beside others."""
    found = "".join(text for text in texts if isinstance(text, str))
    if not found and not all(isinstance(text, str | None) for text in texts):
        raise TransientError("expected a reply with a text, got parts without one")
    return found


def model_name_of(name: Any) -> str:
    """Return a model's name as a server told it, empty where it told none."""
    return printable(name[:_NAME_CHARACTERS]) if isinstance(name, str) else ""
