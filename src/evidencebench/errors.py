"""All errors that are raised on purpose: one class for each cause, all below `EvidenceBenchError`; and a warning.

A few more lie in the module that raises and catches them, such as the `ModelError` for weights that are not finite. An
exception that only makes a function of its own module try again is not in this tree: no caller meets it.

A message says *where*: *which rule is broken, expected and got*; *what to do*. The inner layer says what is wrong, and
each outer layer adds where.
"""

from collections.abc import Mapping, Sequence
from typing import Self


class EvidenceBenchError(Exception):
    """The root: catch it to catch every error that evidencebench raises on purpose.

    Attributes
    ----------
    trace
        The traceback within the user's own code, as Python prints it. None: the error did not begin there.
    """

    trace: str | None = None

    def at(self, trace: str | None) -> Self:
        """Set `trace`, and return the error."""
        self.trace = trace
        return self


class EvidenceWarning(UserWarning):
    """Something odd in a system's answers, which its score alone does not tell.

    ``warnings.filterwarnings("error", category=evidencebench.EvidenceWarning)`` makes each an error.

    Attributes
    ----------
    system
        The name of the system or the label of the run.
    kind
        What is odd, such as ``"failed: refused"``, ``"short rankings"`` or ``"labels read"``.
    text
        The same in a sentence, with what to do.
    n, n_all
        How many answers it concerns, of how many; without ``n_all``, how many sentences. Both 0: it concerns the
        system.
    task
        The task where it concerns most answers; empty: all tasks.
    """

    def __init__(self, system: str, kind: str, text: str, n: int = 0, *, n_all: int = 0, task: str = "") -> None:
        super().__init__(system, kind, text, n)
        self.system = system
        self.kind = kind
        self.text = text
        self.n = n
        self.n_all = n_all
        self.task = task

    def __str__(self) -> str:
        return f"{self.system}: {self.text}"

    def fields(self) -> dict[str, str | int]:
        """Return the attributes by name, for JSON."""
        return dict(vars(self))


class DataError(EvidenceBenchError):
    """A data file or an instance is wrong."""


class UnreadableError(DataError):
    """A data file cannot be opened, decoded or parsed."""


class ChangedDataError(DataError):
    """A data file has changed since it was opened."""


class NothingKeptError(DataError):
    """No draft of a construction is left for a data set; ``explained`` says step by step why."""

    def __init__(self, message: str, explained: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.explained: tuple[str, ...] = tuple(explained)


class FormatError(DataError):
    """A data file parses as JSON but breaks the published format."""


class UnknownInstanceError(DataError, LookupError):
    """A data set has no instance with this id or at this position."""


class RunError(EvidenceBenchError):
    """A run or an answers file is wrong."""


class RunFormatError(RunError):
    """A run or an answers file cannot be read."""


class RunMismatchError(RunError):
    """A run does not belong to the data, task or system that it is used with."""


class AnswerError(EvidenceBenchError):
    """An answer cannot be scored."""


class OutOfRangeError(AnswerError):
    """An answer names a sentence that the paper does not have."""


class UndefinedScoreError(EvidenceBenchError):
    """A measure has no value for this input; it is never reported as 0."""


class TaskError(EvidenceBenchError):
    """A task is unknown, or the run cannot answer it."""


class PeopleError(EvidenceBenchError):
    """A person's name or picks are not allowed."""


class FinalError(PeopleError):
    """A person tries to change picks that are submitted already."""


class StaleError(PeopleError):
    """What a person changed was changed elsewhere meanwhile, as in another tab."""


class UnopenedError(PeopleError):
    """A person tries to submit a paper without having opened it."""


class SystemSpecError(EvidenceBenchError):
    """A system is unknown, or does not take an option or its value."""


class ModelError(EvidenceBenchError):
    """A model cannot be loaded, or does not fit what it is used with."""


class EndpointError(EvidenceBenchError):
    """A model's server gave no usable reply in all allowed attempts."""


class ReplyError(EvidenceBenchError):
    """A language model's replies to a query hold no answer; ``notes`` are counts of them, as in `Ranking`."""

    def __init__(self, message: str, *, notes: Mapping[str, int] | None = None) -> None:
        super().__init__(message)
        self.notes: Mapping[str, int] = notes or {}


class UnreadableReplyError(ReplyError):
    """Replies came, and none of them can be read: asking the same again brings the same stored replies."""


class RefusedReplyError(UnreadableReplyError):
    """The model, or its provider, declines to answer."""


class ProgramError(EvidenceBenchError):
    """A system that is a program of its own cannot be started, or says that it has no answer."""


class ProgramTimeoutError(ProgramError):
    """A program did not answer in time; it was killed."""


class ProgramEndedError(ProgramError):
    """A program ended before it answered."""


class ProgramOutputError(ProgramError):
    """A program wrote something that is no answer; it was killed."""


class StopError(EvidenceBenchError):
    """No more requests may be sent. The current query has no answer, but did not fail: the next run goes on there."""


class CostLimitError(StopError):
    """The next request could cost more than the user allowed."""


class FailingServerError(StopError):
    """A server answers every request with a failure, or refuses the key or the model."""


class DrainingError(StopError):
    """The user asked to stop: requests in flight are finished, and no more are sent."""


class FailedAnswerError(StopError):
    """An answer failed, and the user asked to stop there."""


class PendingError(EvidenceBenchError):
    """The reply comes in a batch that is not done, so that the current query is not answered yet."""


class CacheError(EvidenceBenchError):
    """A cache, such as that of embeddings, cannot be read or written."""


class FailingCacheError(StopError, CacheError):
    """Replies cannot be read from the cache or written to it, so that no more requests are sent."""


class WorkerError(EvidenceBenchError):
    """A worker process died before it answered: twice on the same item, or again and again as it started."""


class EngineError(EvidenceBenchError):
    """Where work is to run cannot be reached, has no room for it, or lacks what it needs."""


class DownloadError(EvidenceBenchError):
    """A file could not be fetched, or is not the file it should be."""


class MissingExtraError(EvidenceBenchError, ImportError):
    """An optional dependency is not installed; the message names the command that installs it."""
