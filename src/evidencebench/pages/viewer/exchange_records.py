"""What a language model was asked for a paper and what it replied, as a page shows it: the records for its script."""

from collections.abc import Callable

import msgspec

from evidencebench.data.tasks import Task
from evidencebench.runs.run_file import RunFile


class MessageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a prompt."""

    role: str
    text: str


class RequestRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One request: its messages, the reply (None: it is not stored), and tokens and cost in words.

    ``follows`` says that the messages come behind those of the request before, and its reply; these are left out.
    """

    model: str
    follows: bool = False
    messages: tuple[MessageRecord, ...]
    reply: str | None
    facts: str


class AskedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The requests for one answer, in order; ``note`` says what cannot be shown, and why."""

    requests: tuple[RequestRecord, ...] = ()
    note: str = ""


ExchangeSource = Callable[[RunFile, str, Task], AskedRecord]
"""Returns what was asked for the answer of a run to an instance, by its id, on a task."""
