"""Every error raised on purpose, one class a cause, below `EvidenceBenchError`; these have narrower kinds.

::

    DataError    UnreadableError, ChangedDataError, FormatError, UnknownInstanceError
    RunError     RunFormatError, RunMismatchError
    AnswerError  OutOfRangeError
    PeopleError  FinalError, StaleError, UnopenedError
    StopError    CostLimitError, FailingServerError, DrainingError, FailedAnswerError, FailingCacheError
    CacheError   FailingCacheError

Some have a narrower kind beside the one place that raises and catches it, such as `ModelError` for weights that are not
finite. What only tells one function of a module to try again is no part of the tree, and no caller meets it.

A message says *where*: *what rule broke, expected and got*; *what to do*. The inner layer says what, each outer
layer adds where.
"""

from collections.abc import Mapping, Sequence
from typing import Self


class EvidenceBenchError(Exception):
    """The root: catch this to catch everything that evidencebench raises on purpose.

    Attributes
    ----------
    trace
        Where in somebody's own code it began, as Python shows a traceback; None: nowhere there, or not known.
    """

    trace: str | None = None

    def at(self, trace: str | None) -> Self:
        """Return it with its trace."""
        self.trace = trace
        return self


class DataError(EvidenceBenchError):
    """A data file or an instance is not what it should be."""


class UnreadableError(DataError):
    """A data file cannot be opened, decoded or parsed."""


class ChangedDataError(DataError):
    """A data file is not the one any more that was opened."""


class FormatError(DataError):
    """A data file parses as JSON but breaks the published format."""


class UnknownInstanceError(DataError, LookupError):
    """A data set holds no instance of the id or position asked for."""


class RunError(EvidenceBenchError):
    """A run or an answers file is not what it should be."""


class RunFormatError(RunError):
    """A run or an answers file cannot be read."""


class RunMismatchError(RunError):
    """A run does not belong to the data, task or system it is used with."""


class AnswerError(EvidenceBenchError):
    """An answer is not fit to be scored."""


class OutOfRangeError(AnswerError):
    """An answer names a sentence that the paper does not have."""


class UndefinedScoreError(EvidenceBenchError):
    """A measure has no value for this input; it is never reported as 0."""


class TaskError(EvidenceBenchError):
    """A task is unknown, or the run cannot answer it."""


class PeopleError(EvidenceBenchError):
    """A person's name or picks are not what they may be."""


class FinalError(PeopleError):
    """A person would change what was submitted."""


class StaleError(PeopleError):
    """A person would replace picks that were changed in another tab meanwhile: these, at this revision."""

    def __init__(self, message: str, *, sentences: Sequence[int], revision: int) -> None:
        super().__init__(message)
        self.sentences, self.revision = tuple(sentences), revision


class UnopenedError(PeopleError):
    """A person would submit a paper without having opened it."""


class SystemSpecError(EvidenceBenchError):
    """A system is unknown, or does not take an option or its value."""


class ModelError(EvidenceBenchError):
    """A model cannot be loaded, or does not fit what it is used with."""


class EndpointError(EvidenceBenchError):
    """A model's server gave no usable reply, in as many attempts as it was allowed."""


class ReplyError(EvidenceBenchError):
    """A language model's replies to a query hold no answer; ``notes`` counts what they were, as in `Ranking`."""

    def __init__(self, message: str, *, notes: Mapping[str, int] | None = None) -> None:
        super().__init__(message)
        self.notes: Mapping[str, int] = notes or {}


class StopError(EvidenceBenchError):
    """No more requests may be sent. The query at hand has no answer, and did not fail: the next run goes on there."""


class CostLimitError(StopError):
    """The next request could cost more than the user allowed."""


class FailingServerError(StopError):
    """A server gives nothing but failures, or refuses the key or the model."""


class DrainingError(StopError):
    """The user asked to stop: requests in flight are finished, and no more are sent."""


class FailedAnswerError(StopError):
    """An answer failed, and the user asked to stop there."""


class PendingError(EvidenceBenchError):
    """The reply is part of a batch that is not done, so the query at hand is not answered yet."""


class CacheError(EvidenceBenchError):
    """What is kept between runs, such as embeddings, cannot be read or written."""


class FailingCacheError(StopError, CacheError):
    """Replies cannot be read from the cache or written to it, so no more are paid for."""


class WorkerError(EvidenceBenchError):
    """A worker process died before it answered."""


class DownloadError(EvidenceBenchError):
    """A file could not be fetched, or is not the file it should be."""


class MissingExtraError(EvidenceBenchError, ImportError):
    """An optional dependency is not installed; the message names the command that installs it."""
