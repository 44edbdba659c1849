"""What is told about a batch while it is submitted, awaited and collected."""

from collections.abc import Callable
from dataclasses import dataclass

from evidencebench.models.llm.batch_apis.contract import RemoteBatch
from evidencebench.models.llm.batch_queue import BatchJob


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStatus:
    """How one batch does.

    Attributes
    ----------
    model
        ``provider/name``.
    name
        The provider's id; None where it is not known.
    state
        In the provider's words, or one of ours: ``submitted``, ``refused``, ``found``, ``unresolved``, ``forgotten``,
        ``not reached``.
    n_requests, n_done, n_failed
        In all, and so far.
    message
        What a person should know besides; empty where there is nothing.
    """

    model: str
    name: str | None
    state: str
    n_requests: int
    n_done: int = 0
    n_failed: int = 0
    message: str = ""

    @classmethod
    def of(
        cls,
        batch: BatchJob,
        state: str,
        *,
        name: str | None = None,
        n_done: int = 0,
        n_failed: int = 0,
        message: str = "",
    ) -> "BatchStatus":
        """Return the status of a batch; its name may be new."""
        return cls(
            model=batch.group.model,
            name=name or batch.name,
            state=state,
            n_requests=batch.n_requests,
            n_done=n_done,
            n_failed=n_failed,
            message=message,
        )

    @classmethod
    def seen(cls, batch: BatchJob, remote: RemoteBatch) -> "BatchStatus":
        """Return the status of a batch as its provider tells it."""
        return cls.of(batch, remote.state, n_done=remote.n_done, n_failed=remote.n_failed, message=remote.fault)

    def __str__(self) -> str:
        counts = f"{self.n_done}/{self.n_requests} done" + (f", {self.n_failed} failed" if self.n_failed else "")
        name = "batch without an id" if self.name is None else f"batch {self.name}"
        return f"{name} ({self.model}): {self.state}, {counts}" + (f": {self.message}" if self.message else "")


OnStatus = Callable[[BatchStatus], object]
"""What is called with each status."""


def ignore(status: BatchStatus) -> None:
    """Tell nobody."""
