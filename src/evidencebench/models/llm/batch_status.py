"""The status of a batch, reported while it is submitted, awaited and collected."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStatus:
    """The status of one batch.

    `state` is in the provider's words, or one of ours: ``submitted``, ``refused``, ``found``, ``unresolved``,
    ``forgotten``, ``not reached``.
    """

    model: str
    name: str | None  # the provider's id; None where it is not known
    state: str
    n_requests: int
    n_done: int = 0
    n_failed: int = 0
    message: str = ""  # what a person should know besides

    def __str__(self) -> str:
        counts = f"{self.n_done}/{self.n_requests} done" + (f", {self.n_failed} failed" if self.n_failed else "")
        name = "batch without an id" if self.name is None else f"batch {self.name}"
        return f"{name} ({self.model}): {self.state}, {counts}" + (f": {self.message}" if self.message else "")


OnStatus = Callable[[BatchStatus], object]
"""What is called with each status."""


def ignore(status: BatchStatus) -> None:
    """Do nothing with a status."""
