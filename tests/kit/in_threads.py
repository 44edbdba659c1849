"""Calls at the same time, each in a thread of its own."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


def begun(work: Callable[..., T], *arguments: Any, **options: Any) -> "Future[T]":
    """Begin a call in a daemon thread."""
    done: Future[T] = Future()

    def call() -> None:
        try:
            done.set_result(work(*arguments, **options))
        except BaseException as error:  # noqa: BLE001 - for who waits
            done.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    return done


def ended(waiting: Iterable["Future[Any]"]) -> list[Any]:
    """Return what calls return or raise."""
    return [one.exception() or one.result() for one in list(waiting)]


def at_once(work: Callable[..., Any], items: Iterable[Any], **options: Any) -> list[Any]:
    """Call a function with each of some items at once; return what it returns or raises, in their order."""
    return ended([begun(partial(work, item, **options)) for item in items])
