"""Who may see the labels of an instance: the seam between the app and people who pick sentences in it."""

from collections.abc import Sequence
from typing import Protocol

from starlette.requests import Request
from starlette.routing import BaseRoute

CHANGED = "the data file has changed since the app was started; start it again"
"""What everybody is told of a data file that is not the one that was opened."""


class Gate(Protocol):
    """Decides who may see labels, scores and answers."""

    def may_see(self, request: Request, instance_id: str) -> bool:
        """Say whether whoever asks may see all of an instance; it is one of the data."""
        ...

    def may_see_all(self, request: Request) -> bool:
        """Say whether whoever asks may see all of every instance, and so the list, its search and its scores."""
        ...


class Picking(Gate, Protocol):
    """People who pick sentences in the app: a gate with pages of its own."""

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """Routes under ``/api/people/`` that are served beside the app's own.

        They stand behind the same guard: what reaches them has the right Host and a same-origin JSON body of at most
        64 KiB, and what they answer gets the same headers.
        """
        ...

    def overview(self, request: Request) -> object:
        """Return what the page is told at first, in place of the `Overview`; its ``people`` is true."""
        ...
