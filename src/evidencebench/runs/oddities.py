"""What is odd in a system's answers, as far as it shows without labels: rows of one table, and Python's warnings."""

import inspect
import re
import warnings
from collections.abc import Iterable, Sequence

from evidencebench import errors
from evidencebench.errors import EvidenceWarning
from evidencebench.tables import printable
from evidencebench.wording import counted

_REPLY_KINDS = {"refused": "refused", "truncated": "cut"}  # other classes of replies are unreadable
_REPLY_CLASS = re.compile(r"\b(refused|truncated|unparseable|empty|out_of_range): ")
_KINDS = ("own code", "server", "refused", "cut", "unreadable", "other")
_OF_OWN_CODE = {"AnswerError", "OutOfRangeError", "ProgramError", "WorkerError"}

_LONGEST = 1000  # characters of an error; a run of others may hold any number

TRAINED_ON_IT = "trained on this data, so its scores say nothing about other papers"


def failure_kind(error: str) -> str:
    """Return the class of a failed answer, told from its text, which is all that a run keeps.

    >>> failure_kind("ReplyError: refused: it says 'I cannot'"), failure_kind("ZeroDivisionError: division by zero")
    ('refused', 'own code')
    """
    name, _, text = error.partition(": ")
    if name in {"ReplyError", "UnreadableReplyError"}:
        reply = _REPLY_CLASS.search(text)
        is_server = reply is None and name == "ReplyError"
        return "server" if is_server else _REPLY_KINDS.get(reply[1] if reply else "", "unreadable")
    if name == "EndpointError":
        return "server"
    return "other" if hasattr(errors, name) and name not in _OF_OWN_CODE else "own code"


def failed_warnings(
    system: str, failures: Iterable[tuple[str, str]], n_all: int, task: str = "", advice: str = ""
) -> list[EvidenceWarning]:
    """Return one warning a class of failed answers; ``failures`` are (instance id, error)."""
    by_kind: dict[str, list[tuple[str, str]]] = {}
    for failure in failures:
        by_kind.setdefault(failure_kind(failure[1]), []).append(failure)
    rows = []
    for kind in filter(by_kind.__contains__, _KINDS):
        (instance_id, error), n = by_kind[kind][0], len(by_kind[kind])
        text = f"failed, and each scores 0; the first, {instance_id}: {printable(error)[:_LONGEST]}"
        text += advice if kind == "own code" else ""
        rows.append(answers_warning(system, f"failed: {kind}", text, n, n_all=n_all, task=task))
    return rows


def repeats_warnings(system: str, n: int) -> list[EvidenceWarning]:
    text = f"{counted(n, 'repeated sentence')} removed"
    return [EvidenceWarning(system, "repeats", text, n)] if n else []


def short_warnings(system: str, ends: Sequence[tuple[int, int]], n_all: int, task: str = "") -> list[EvidenceWarning]:
    """Return a warning of rankings that are too short; ``ends`` are how many sentences they rank, of how many."""
    if not ends:
        return []
    text = (
        "rank too few sentences, the first {} of {}; give every sentence a score (rank_by_score(scores, query) checks "
        "this), or declare Traits(selects=True)"
    ).format(*ends[0])
    return [answers_warning(system, "short rankings", text, len(ends), n_all=n_all, task=task)]


def answers_warning(system: str, kind: str, text: str, n: int, *, n_all: int, task: str = "") -> EvidenceWarning:
    """Return a warning about some answers; ``text`` goes on behind their number."""
    where = f"{n:,} of {counted(n_all, 'answer')}{f' to {task}' if task else ''}"
    return EvidenceWarning(system, kind, f"{where} {text}", n, n_all=n_all, task=task)


def system_warnings(system: str, *, reads_labels: bool, trained_on_it: bool) -> list[EvidenceWarning]:
    rows = []
    if reads_labels:
        rows.append(
            EvidenceWarning(system, "labels read", "reads the labels, so its score is not that of a real system")
        )
    if trained_on_it:
        text = f"{TRAINED_ON_IT}; score it on data that it was not trained on"
        rows.append(EvidenceWarning(system, "trained on this data", text))
    return rows


def warn(rows: Iterable[EvidenceWarning]) -> None:
    """Warn of each row at the line outside of this package that led here."""
    modules, frame = list[str](), inspect.currentframe()  # inspect.stack would look for the file of each: 20 ms
    while frame is not None:
        modules.append(frame.f_globals.get("__name__", ""))
        frame = frame.f_back
    ours = [place for place, module in enumerate(modules) if module.startswith("evidencebench.")]
    for row in rows:
        warnings.warn(row, stacklevel=2 + max(ours, default=0))
