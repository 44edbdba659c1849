"""The failures and costs of answers, counted over the lines of a run, whatever tasks a line serves."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from evidencebench.pages.markup import Node
from evidencebench.pages.report.blocks import note, section, shown_table
from evidencebench.pages.report.findings import Findings
from evidencebench.runs.answer_line import Failure
from evidencebench.runs.people.people_folder import SYSTEM_NAME
from evidencebench.runs.run_file import RunFile
from evidencebench.scoring.score_texts import notes_line
from evidencebench.system import is_counted_once, merged_notes
from evidencebench.tables import Cell, Table
from evidencebench.wording import counted

REPLY = "reply_"
"""How the notes begin that say what a language model's replies were."""

READ_BY = "read_by "
"""How the notes begin that say which branch of the grammar read them."""

_OF_A_REPLY = re.compile(r"ReplyError: [a-z_ ]{1,30}(?=:)")
_MOST_CHARACTERS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorKind:
    """Errors that begin alike."""

    name: str  # what stands before the first colon, such as ``TimeoutError``
    count: int
    instance_id: str  # of the first of them
    example: str  # the first of them, whole


def notes_of(run: RunFile, keys: Iterable[tuple[str, str | None]] | None = None) -> dict[str, int]:
    """Return what answers of a run note together, as the run's own summary does.

    ``keys`` are (instance id, task or None) of the lines that are counted; None: of all.
    """
    totals: Counter[str] = Counter()
    once: dict[str, Mapping[str, int]] = {}
    for instance_id, task in sorted(run.done if keys is None else keys, key=str):
        answer = run.answer(instance_id, task)
        if answer is None:
            continue
        about_paper = {name: count for name, count in answer.notes.items() if is_counted_once(name)}
        if about_paper:
            once[instance_id] = merged_notes(once.get(instance_id, {}), about_paper)
        totals.update({name: count for name, count in answer.notes.items() if name not in about_paper})
    for notes in once.values():
        totals.update(notes)
    return dict(sorted(totals.items()))


def errors_of(run: RunFile, keys: Iterable[tuple[str, str | None]] | None = None) -> tuple[ErrorKind, ...]:
    """Return the errors of a run by kind, the most frequent first; ``keys`` as in `notes_of`."""
    found: dict[str, list[tuple[str, str]]] = {}
    for instance_id, task in sorted(run.failed if keys is None else run.failed & frozenset(keys), key=str):
        answer = run.answer(instance_id, task)
        if isinstance(answer, Failure):
            found.setdefault(kind_of(answer.error), []).append((instance_id, answer.error))
    kinds = [
        ErrorKind(name=name, count=len(members), instance_id=members[0][0], example=members[0][1])
        for name, members in found.items()
    ]
    return tuple(sorted(kinds, key=lambda kind: (-kind.count, kind.name)))


def kind_of(error: str) -> str:
    """Return what stands before the first colon of an error; of a language model's reply, what the reply was too.

    Examples
    --------
    >>> kind_of("TimeoutError: no reply within 60 s"), kind_of("null in the answers file")
    ('TimeoutError', 'null in the answers file')
    >>> kind_of("ReplyError: refused: the reply says that the model will not answer")
    'ReplyError: refused'
    """
    found = _OF_A_REPLY.match(error)
    return found[0] if found else error.partition(":")[0].strip()[:_MOST_CHARACTERS] or "unnamed"


def cost_text(notes: Mapping[str, int]) -> str | None:
    """Return what a run's replies cost in dollars, so far as it is known; None where it had none.

    Examples
    --------
    >>> cost_text({"requests": 2, "cost_microusd": 1500})
    '$0.0015'
    >>> cost_text({"requests": 3, "cost_microusd": 1500, "unpriced_replies": 1})
    'at least $0.0015; 1 reply of unknown price'
    >>> cost_text({"requests": 3, "unpriced_replies": 3})
    'unknown: 3 replies of unknown price'
    """
    n_unpriced = notes.get("unpriced_replies", 0)
    known = None if "cost_microusd" not in notes else f"${notes['cost_microusd'] / 1e6:,.4f}"
    unknown = f"{counted(n_unpriced, 'reply', 'replies')} of unknown price" if n_unpriced else ""
    if known is None:
        return f"unknown: {unknown}" if unknown else None
    return f"at least {known}; {unknown}" if unknown else known


_COUNTED = {
    "failed": "failed",
    "empty": "empty",
    "missing": "missing",
    "duplicates": "repeated",
    "over_length": "over budget",
    "out_of_range": "no such sentence",
    "not_applicable": "left out",
}


def failures_section(findings: Findings) -> Node:
    """Return what went wrong with the answers of every run."""
    runs = findings.every_run
    graded = {label: findings.graded_answers(run) for label, run in runs.items()}
    errors = {label: errors_of(run, graded[label]) for label, run in runs.items()}
    notes = {label: notes_of(run, graded[label]) for label, run in runs.items()}
    replies = {label: _counts_of(REPLY, found) for label, found in notes.items()}
    read_by = {label: _counts_of(READ_BY, found) for label, found in notes.items()}
    return section(
        "failures",
        "Answers that failed",
        note(
            "A failed, an empty and a missing answer each score 0 and are counted apart. Repeated: sentences named "
            "again, which are removed. Over budget: sets with more sentences than count. No such sentence: dropped, "
            "where that is allowed. Left out: instances to which the task does not apply. Errors and replies are of "
            "the answers that are graded here; a run may hold more (see Cost)."
        ),
        shown_table(_counts(findings)),
        shown_table(_errors(errors)) if any(errors.values()) else note("No answer that is graded here failed."),
        shown_table(_reply_table("Replies of language models by class", replies))
        if any(replies.values())
        else note("No run notes replies of a language model."),
        shown_table(_reply_table("Replies by the branch of the grammar that read them", read_by))
        if any(read_by.values())
        else None,
    )


def _counts(findings: Findings) -> Table:
    scores = {**findings.scored.scores, **{label: found for label, (_, found) in findings.swapped.items()}}
    rows: list[list[Cell]] = [
        [label, task.name, *(getattr(found[task.name].counts, count) for count in _COUNTED)]
        for label, found in scores.items()
        for task in findings.tasks
    ]
    return Table(title="Answers by task", columns=["run", "task", *_COUNTED.values()], rows=rows)


def _errors(errors: Mapping[str, tuple[ErrorKind, ...]]) -> Table:
    rows: list[list[Cell]] = [
        [label, kind.name, kind.count, kind.instance_id, kind.example]
        for label, kinds in errors.items()
        for kind in kinds
    ]
    columns = ["run", "error", "count", "first at", "which says"]
    return Table(title="Errors by kind", columns=columns, rows=rows)


def _counts_of(prefix: str, notes: Mapping[str, int]) -> dict[str, int]:
    return {name.removeprefix(prefix).replace("_", " "): n for name, n in notes.items() if name.startswith(prefix)}


def _reply_table(title: str, replies: Mapping[str, Mapping[str, int]]) -> Table:
    classes = sorted({name for found in replies.values() for name in found})
    rows: list[list[Cell]] = [
        [label, sum(found.values()), *(found.get(name, 0) for name in classes)]
        for label, found in replies.items()
        if found
    ]
    return Table(title=title, columns=["run", "replies", *classes], rows=rows)


def costs_section(findings: Findings) -> Node:
    """Return what the answers of language models cost, and how long people took."""
    runs = findings.every_run
    notes = {label: notes_of(run) for label, run in runs.items()}
    asked = {label: found for label, found in notes.items() if "requests" in found or cost_text(found) is not None}
    timed = {label: runs[label] for label, found in notes.items() if "seconds" in found and _is_person(runs[label])}
    counts = {label: (len(run.done), len(findings.graded_answers(run))) for label, run in runs.items()}
    return section(
        "costs",
        "Cost",
        note(
            "Counted over all answers that a run holds, those of other tasks and instances too: "
            "the tables say how many they are, and how many of them are graded here."
        )
        if any(notes.values())
        else None,
        shown_table(_costs(asked, counts))
        if asked
        else note("No run here asked a language model, so none has a cost."),
        note(
            "A reply that was stored before counts what it cost then. "
            "What a provider did not price is never counted as $0."
        )
        if asked
        else None,
        shown_table(_times(timed, counts)) if timed else None,
        _noted(notes, counts),
    )


def _is_person(run: RunFile) -> bool:
    return run.header is not None and run.header.system.name == SYSTEM_NAME


# Of each run, how many answers it holds, and how many of them are graded.
_Counts = Mapping[str, tuple[int, int]]


def _costs(notes: Mapping[str, Mapping[str, int]], counts: _Counts) -> Table:
    rows: list[list[Cell]] = [
        [
            label,
            *counts[label],
            found.get("requests", 0),
            found.get("prompt_tokens", 0),
            found.get("completion_tokens", 0),
            cost_text(found) or "none noted",
        ]
        for label, found in notes.items()
    ]
    columns = ["run", "answers in the run", "graded here", "requests", "prompt tokens", "completion tokens", "cost"]
    return Table(title="Language models", columns=columns, rows=rows)


def _times(runs: Mapping[str, RunFile], counts: _Counts) -> Table:
    rows: list[list[Cell]] = []
    for label, run in runs.items():
        answers = (run.answer(*key) for key in run.done)
        seconds = [answer.notes["seconds"] for answer in answers if answer is not None and "seconds" in answer.notes]
        rows.append([label, *counts[label], float(median(seconds)), sum(seconds)])
    columns = ["person", "answers in the run", "graded here", "median seconds", "seconds in all"]
    return Table(title="People", columns=columns, rows=rows)


def _noted(notes: Mapping[str, Mapping[str, int]], counts: _Counts) -> Node | None:
    """Return everything that runs note, in the words of ``score``."""
    lines = {label: notes_line(found) for label, found in notes.items() if found}
    if not lines:
        return None
    rows: list[list[Cell]] = [[label, *counts[label], line] for label, line in lines.items()]
    columns = ["run", "answers in the run", "graded here", "notes"]
    return shown_table(Table(title="All that the runs note", columns=columns, rows=rows))
