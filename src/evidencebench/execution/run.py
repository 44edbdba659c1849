"""Run a system over a data set and write its answers to a run file; an interrupted run goes on at the next call."""

import platform
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from evidencebench.data.dataset import Dataset, dataset_from, reopen_dataset, require_limit
from evidencebench.data.sources import DataFile
from evidencebench.data.tasks import Task, TaskOrName, require_named, tasks_from
from evidencebench.engine.local import engine_of
from evidencebench.engine.protocol import Engine, results, too_many_errors
from evidencebench.errors import EvidenceWarning, RunMismatchError, StopError, SystemSpecError
from evidencebench.execution.answers import AnySystem, default_tasks, in_epoch, require_answerable
from evidencebench.execution.asking import (
    DEFAULT_MAX_WAITING,
    Inquiry,
    InstanceOutcome,
    Rehearsal,
    Todo,
    Waiting,
    ask_all,
    asker,
    lost_outcome,
    rehearse_all,
    todo_of,
)
from evidencebench.execution.changes import Changes, changes_of, query_control
from evidencebench.execution.compatibility import data_header
from evidencebench.execution.making import make_system, system_from
from evidencebench.files.disk import PathText, file_sha256
from evidencebench.files.records import Journal
from evidencebench.models.llm.client import ChatClient
from evidencebench.provenance import differences
from evidencebench.runs.answers import ANSWERS, differing_files, header_of
from evidencebench.runs.header import MOST_EPOCHS, QueryControl, RunHeader, SystemHeader
from evidencebench.runs.oddities import failed_warnings, repeats_warnings, short_warnings, system_warnings, warn
from evidencebench.runs.run import Answer, Failure, RunFile, encode_answer, read_run
from evidencebench.system import merged_notes
from evidencebench.version import __version__

_MIN_INSTANCES_A_JOB = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """The result of one call of `execute`."""

    n_instances: int  # of the run: all, or the first `limit`
    n_resumed: int  # instances that an earlier call had answered, at least in part; each epoch for itself
    n_failed: int  # failed answers in the run now, those of earlier calls included
    n_unanswered: int = 0  # not answered in full, because their requests wait for a batch; each epoch for itself
    epochs: int = 1
    first_error: str | None = None  # the first failure of this call
    first_trace: str | None = None  # the traceback of the first failure in the system's own code
    warnings: tuple[EvidenceWarning, ...] = ()  # what is odd, short rankings and repeats in answers of this call only
    # Note -> count: the notes of one instance are merged by `merged_notes`, then summed over instances.
    notes: Mapping[str, int] = field(default_factory=dict)


def execute(
    system: str | AnySystem,
    dataset: Dataset | PathText,
    path: PathText,
    *,
    tasks: TaskOrName | Iterable[TaskOrName] = (),
    limit: int | None = None,
    jobs: int = 1,
    engine: Engine | None = None,
    seed: int = 0,
    epochs: int = 1,
    control: str | QueryControl | None = None,
    overwrite: bool = False,
    retry_failed: bool = False,
    fail_fast: bool = False,
    max_errors: int | None = None,
    client: ChatClient | None = None,
    max_waiting: int = DEFAULT_MAX_WAITING,
    settle: Callable[[], bool] | None = None,
    on_interrupt: Callable[[], object] = lambda: None,
    on_progress: Callable[[int, int], None] | None = None,
) -> RunReport:
    """Run a system and append each answer to a run file as it comes; what is odd is an `EvidenceWarning` each.

    After an interruption, call it again with the same arguments: it asks only for the answers that are missing.

    Parameters
    ----------
    system
        A specification as `make_system` takes it, an object with ``rank(query, task)``, whose fields are its options,
        or a function of both.
    dataset
        What to answer: a data set, its path or its catalogue name.
    path
        The run file; if it holds the same run, that is continued.
    tasks
        The tasks to answer: tasks or their names, one or several; empty: `default_tasks`.
    limit
        Answer only the first ``limit`` instances; None: all.
    jobs
        Number of processes; 1 for a system given as an object. A system that waits for a server is asked from threads.
    engine
        Where the work runs, in place of ``jobs``, such as ``evidencebench.Threads(4)``.
    seed
        Seed of everything random; a system given as an object keeps its own.
    epochs
        How often each instance is asked, each time with other seeds, so that no stored reply serves twice.
    control
        How queries are changed on purpose: ``"wrong_hypothesis"``, ``"two_papers"``, ``"shuffled_words"``,
        ``"negated=FILE"`` or ``"paraphrased=FILE"``; None: each is asked as the data has it.
    overwrite
        Start over if the file exists.
    retry_failed
        Ask again for answers that failed in an earlier call.
    fail_fast
        Stop at the first answer that fails. It is not kept, so that the next call asks for it again.
    max_errors
        Stop when more than so many answers have failed in this call. They are kept; None: go on to the end.
    client
        The client that asks language models; None: as in `make_system`.
    max_waiting
        For a system that waits for a server: how many instances are asked at a time.
    settle
        Called when answers wait for batches. It waits for the batches and returns whether it submitted any; the answers
        are asked for again, until nothing changes. None: they stay unanswered.
    on_interrupt
        Called at the first interrupt, in the signal's handler; begun instances are then finished.
    on_progress
        Called with (instances done, instances in all).

    Raises
    ------
    RunMismatchError
        If the file holds another run, the system builds on stored answers to other data or queries, or it is not
        allowed to answer one of the instances.
    RunError
        If the file cannot be written, or another process writes it.
    SystemSpecError
        If there is no such system.
    FailedAnswerError
        If an answer fails and ``fail_fast`` is set.
    StopError
        If no more requests may be sent; finished answers are kept.
    TaskError
        If the system cannot answer a task.
    WorkerError
        If worker processes die as they start. One that dies later is replaced; an answer that takes its worker with it
        twice is a failed one.
    """
    asking = _prepare(system, dataset, tasks, limit=limit, seed=seed, control=control, client=client)
    named, dataset, path = asking.inquiry.system, asking.dataset, Path(path)
    inquiries = _in_epochs(asking.inquiry, epochs)
    if not engine_of(engine, jobs, at_most=jobs).shares_memory and not isinstance(system, str):
        got = f"jobs={jobs}" if engine is None else f"engine={engine!r}"
        raise SystemSpecError(
            f"system '{named.name}': an object is asked in one process, got {got}; name it by a specification, "
            "such as 'bm25:k1=1.2' or 'file.py:Class'"
        )
    header = _header(asking, limit=limit, seed=seed, epochs=epochs)
    ids = dataset.ids[:limit]
    with ANSWERS.append(path, header_of(header), overwrite=overwrite, differing=differing_files) as journal:
        run = read_run(path)
        _require_asked(run, header, ids)
        done = [epoch.done - epoch.failed if retry_failed else epoch.done for epoch in run.epochs]
        todo = [
            lacking for n in range(epochs) for lacking in todo_of(ids, asking.tasks, named, done=done[n], inquiry=n)
        ]
        n_all = len(ids) * epochs
        writer = _RunWriter(journal, run, done, n_done=n_all - len(todo), max_errors=max_errors)
        if todo and on_progress is not None:  # shows the total before the first answer comes
            on_progress(writer.n_done, n_all)

        def keep(outcome: InstanceOutcome) -> StopError | None:
            stop = writer.keep(outcome)
            if on_progress is not None:
                on_progress(writer.n_done, n_all)
            return stop

        if named.waits:
            waiting = Waiting(client=client, max_waiting=max_waiting, settle=settle, on_interrupt=on_interrupt)
            ask_all(asker(inquiries, dataset, fails_fast=fail_fast), todo, keep, waiting)
        else:
            engine = engine_of(engine, jobs, at_most=1 + len(todo) // _MIN_INSTANCES_A_JOB)
            setup: Callable[..., Callable[[Todo], InstanceOutcome]] = asker
            arguments: tuple[Any, ...] = (inquiries, dataset)
            if not engine.shares_memory:
                named.release()
                setup = partial(_worker_asker, epochs=epochs)
                arguments = (str(system), seed, dataset.file, named.versions(), asking.inquiry.changes)

            setup, to_ask = partial(setup, fails_fast=fail_fast), takewhile(lambda _: writer.stop is None, todo)

            def keep_lost(todo: Todo, error: Exception) -> None:
                keep(lost_outcome(todo, error, dataset, fails_fast=fail_fast))

            for outcome in results(engine, setup, arguments, to_ask, on_error=keep_lost):
                keep(outcome)
            if writer.stop is not None:
                raise writer.stop
    odd = writer.oddities(named.name, ranks_all=not (named.selects or named.reads_task))
    trained_on_it = dataset.sha256 in named.trained_on()
    odd += system_warnings(named.name, reads_labels=named.knows_labels, trained_on_it=trained_on_it)
    warn(odd)
    return RunReport(
        n_instances=len(ids),
        n_resumed=sum(len({instance_id for instance_id, _ in keys}) for keys in done),
        n_failed=len(writer.failures),
        n_unanswered=n_all - writer.n_done,
        epochs=epochs,
        first_error=writer.first_error,
        first_trace=writer.first_trace,
        warnings=tuple(odd),
        notes=writer.notes,
    )


_Keys = Collection[tuple[str, str | None]]  # of answers: instance id, task or None


class _RunWriter:
    """Appends answers to a run's journal, and counts all answers in the run, those of earlier calls included."""

    def __init__(
        self, journal: Journal, run: RunFile, done: Sequence[_Keys], *, n_done: int, max_errors: int | None
    ) -> None:
        self._journal, self._max_errors = journal, max_errors
        self._notes: dict[tuple[int, str], Mapping[str, int]] = {}  # by the index of the epoch and instance id
        self.n_done, self.n_new_failures = n_done, 0
        self.failures: list[tuple[str, str]] = []  # instance id, error; those of earlier calls included
        self._n_answers = self._n_repeats = 0
        self._short: list[tuple[int, int]] = []  # how many sentences are ranked, of how many
        self.first_error: str | None = None
        self.first_trace: str | None = None
        self.last_error = ""
        self.stop: StopError | None = None
        self._lost: dict[tuple[int, str, str | None], dict[str, int]] = {}
        for index, (epoch, keys) in enumerate(zip(run.epochs, done, strict=True)):
            for instance_id, task in keys:
                self._count(index, instance_id, epoch.answer(instance_id, task))
            for key in epoch.failed.difference(keys):  # may have cost more than the replies that are in the cache
                if (old := epoch.answer(*key)) and (n := old.notes.get("maybe_charged")):
                    self._lost[index, *key] = {"maybe_charged": n}

    def keep(self, outcome: InstanceOutcome) -> StopError | None:
        """Append the answers of an instance, and return the stop if too many have failed by now."""
        instance_id, index = outcome.todo.instance_id, outcome.todo.inquiry
        for task, given in outcome.answers.items():
            before = self._lost.get((index, instance_id, task))
            answer = given if before is None else replace(given, notes=merged_notes(given.notes, before))
            self._journal.append(encode_answer(instance_id, task, answer, epoch=index + 1))
            self._count(index, instance_id, answer)
            if isinstance(answer, Failure):
                self.n_new_failures += 1
                self.last_error = f"{instance_id}: {answer.error}"
                self.first_error = self.first_error or self.last_error
                self.first_trace = self.first_trace or answer.trace
            else:
                n = len(set(answer.sentences))
                self._n_repeats += len(answer.sentences) - n
                self._short += [(n, outcome.n_sentences)] if answer.ordered and n < outcome.n_sentences else []
        too_many = too_many_errors(self.n_new_failures, self._max_errors, self.last_error)
        self.stop = self.stop or outcome.stop or too_many
        self.n_done += outcome.unanswered is None
        return too_many

    def oddities(self, system: str, *, ranks_all: bool) -> list[EvidenceWarning]:
        rows = failed_warnings(system, self.failures, self._n_answers)
        rows += repeats_warnings(system, self._n_repeats)
        return rows + (short_warnings(system, self._short, self._n_answers) if ranks_all else [])

    def _count(self, index: int, instance_id: str, answer: Answer | None) -> None:
        self._n_answers += answer is not None
        if isinstance(answer, Failure):
            self.failures.append((instance_id, answer.error))
        if answer is not None and answer.notes:
            self._notes[index, instance_id] = merged_notes(self._notes.get((index, instance_id), {}), answer.notes)

    @property
    def notes(self) -> dict[str, int]:
        """The sum of each note over all instances, by name in alphabetical order."""
        totals: Counter[str] = Counter()
        for notes in self._notes.values():
            totals.update(notes)
        return dict(sorted(totals.items()))


def rehearse(
    system: str | AnySystem,
    dataset: Dataset | PathText,
    *,
    client: ChatClient,
    tasks: TaskOrName | Iterable[TaskOrName] = (),
    limit: int | None = None,
    seed: int = 0,
    epochs: int = 1,
    control: str | QueryControl | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Rehearsal:
    """Ask a system about every instance as `execute` does, and keep no answer; the client must send nothing."""
    asking = _prepare(system, dataset, tasks, limit=limit, seed=seed, control=control, client=client)
    inquiries = _in_epochs(asking.inquiry, epochs)
    return rehearse_all(inquiries, asking.dataset, asking.tasks, limit=limit, on_progress=on_progress)


class _Asking(NamedTuple):
    inquiry: Inquiry
    dataset: Dataset
    tasks: tuple[Task, ...]
    control: QueryControl | None


def _prepare(
    given: str | AnySystem,
    data: Dataset | PathText,
    tasks: TaskOrName | Iterable[TaskOrName],
    *,
    limit: int | None,
    seed: int,
    control: str | QueryControl | None,
    client: ChatClient | None,
) -> _Asking:
    system, dataset = system_from(given, seed=seed, client=client), dataset_from(data)
    how = None if control is None else query_control(control)
    asked = tasks_from(tasks)
    require_named(asked)
    require_limit(limit)
    asked = tuple(dict.fromkeys(asked)) or default_tasks(system)
    require_answerable(system, dataset, asked, limit=limit, own_queries=how is None)
    return _Asking(Inquiry(system=system, changes=changes_of(how, dataset, seed, limit)), dataset, asked, how)


def _in_epochs(inquiry: Inquiry, epochs: int) -> list[Inquiry]:
    if not 1 <= epochs <= MOST_EPOCHS:
        raise ValueError(f"epochs: expected 1 to {MOST_EPOCHS}, got {epochs}")
    return [replace(inquiry, system=in_epoch(inquiry.system, epoch)) for epoch in range(1, epochs + 1)]


def _require_asked(run: RunFile, header: RunHeader, ids: Sequence[str]) -> None:
    asked = {(instance_id, task) for instance_id in ids for task in (header.tasks if header.per_task else (None,))}
    for instance_id, task in sorted({key for epoch in run.epochs for key in epoch.done} - asked, key=str):
        what = f"'{instance_id}'" if task is None else f"'{instance_id}' for task '{task}'"
        raise RunMismatchError(
            f"{run.path}: answers {what}, which its header does not ask for; take the line out, or start over with "
            "--overwrite"
        )


def _worker_asker(
    spec: str,
    seed: int,
    data: DataFile,
    versions: Mapping[str, str],
    changes: Changes | None,
    *,
    epochs: int,
    fails_fast: bool,
) -> Callable[[Todo], InstanceOutcome]:
    """Return `asker` for a worker process; raise if the system or the data changed since the run began."""
    system = make_system(spec, seed=seed)
    if differing := differences(versions, system.versions()):
        raise RunMismatchError(f"system '{system.name}' has changed since the work began: {differing}; start again")
    inquiries = _in_epochs(Inquiry(system=system, changes=changes), epochs)
    return asker(inquiries, reopen_dataset(data), fails_fast=fails_fast)


def _header(asking: _Asking, *, limit: int | None, seed: int, epochs: int) -> RunHeader:
    system, dataset = asking.inquiry.system, asking.dataset
    control = asking.control
    if control is not None and control.path is not None:
        control = msgspec.structs.replace(control, sha256=file_sha256(Path(control.path)))
    return RunHeader(
        system=SystemHeader(name=system.name, options=dict(system.options)),
        data=data_header(dataset),
        tasks=tuple(task.name for task in asking.tasks),
        per_task=system.reads_task,
        limit=limit,
        seed=seed,
        epochs=epochs,
        control=control,
        versions={
            "evidencebench": __version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            **system.versions(),
        },
        trained_on=tuple(sorted(system.trained_on())),
        reads_labels=system.knows_labels,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
