"""Types that msgspec decodes, made ready for threads."""

from threading import Lock
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_lock = Lock()
_ready: set[Any] = set()


def prepared(kind: T) -> T:
    """Return a type that several threads can decode at once.

    Where two threads are the first to decode a type of fields, msgspec 0.22 ends the process: one reads what the other
    has not filled yet. Here one thread at a time makes it ready.
    """
    with _lock:
        if kind not in _ready:
            msgspec.json.Decoder(kind)
            _ready.add(kind)
    return kind
