"""What a language model was asked for a paper and what it replied, as a page shows it: the records for its script."""

from collections.abc import Callable

import msgspec

from evidencebench.data.tasks import Task
from evidencebench.runs.run_file import RunFile


class TextRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a prompt, or the reply."""

    name: str
    text: str


class RequestRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One request: what it is, tokens and cost in words, and its messages with the reply, where that is stored.

    Messages that the request before had too are left out, and ``facts`` says so.
    """

    title: str
    facts: str
    texts: tuple[TextRecord, ...]


class AskedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The requests for one answer, in order; ``note`` says what cannot be shown, and why."""

    requests: tuple[RequestRecord, ...] = ()
    note: str = ""


ExchangeSource = Callable[[RunFile, str, Task], AskedRecord]
"""Returns what was asked for the answer of a run to an instance, by its id, on a task."""
