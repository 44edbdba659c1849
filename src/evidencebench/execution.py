"""Run a system over a data set into a run file: durably, resumably, in parallel."""

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from evidencebench.answering import answer_instance, default_tasks, require_answerable, with_hypothesis
from evidencebench.dataset import Dataset, open_dataset
from evidencebench.derangement import derange_hypotheses
from evidencebench.engine.local import work_off
from evidencebench.journal import open_journal
from evidencebench.runs import (
    RUN_BEGINS,
    Answer,
    DataHeader,
    Failure,
    RunHeader,
    SystemHeader,
    check_same_run,
    encode_answer,
    read_run,
)
from evidencebench.system import NamedSystem, Ranking
from evidencebench.systems import make_system
from evidencebench.tasks import Task, task_named
from evidencebench.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What one call of `execute` did.

    Attributes
    ----------
    n_instances
        Instances in the scope of the run.
    n_resumed
        Instances that an earlier call had answered, at least in part.
    n_failed
        Failed answers that the run holds now, those of earlier calls included.
    first_error
        The first failure of this call, or None.
    trained_on_it
        Whether a model of the system was trained on this very data, so that its score says nothing of other papers.
    notes
        What the answers in the run note, such as ``truncated_sentences``, summed over instances; of an instance's
        answers to several tasks the one that notes most.
    """

    n_instances: int
    n_resumed: int
    n_failed: int
    first_error: str | None = None
    trained_on_it: bool = False
    notes: Mapping[str, int] = field(default_factory=dict)


def execute(
    system: str,
    dataset: Dataset,
    path: Path,
    *,
    tasks: Sequence[Task] = (),
    limit: int | None = None,
    jobs: int = 1,
    seed: int = 0,
    hypothesis: Literal["own", "wrong"] = "own",
    overwrite: bool = False,
    retry_failed: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> RunReport:
    """Run a system and append each answer to a run file as it comes.

    Called again with the same arguments after any interruption, it computes what is missing and nothing else.

    Parameters
    ----------
    system
        A specification as `make_system` takes it.
    dataset
        What to answer.
    path
        The run file; continued if it holds the same run.
    tasks
        What the answers are for; empty: `default_tasks`.
    limit
        Only the first so many instances; None: all.
    jobs
        Processes.
    seed
        Of everything random.
    hypothesis
        ``"own"``, or ``"wrong"`` to ask each instance with another paper's.
    overwrite
        Start over where the file exists.
    retry_failed
        Ask again for answers that failed in an earlier call.
    on_progress
        Called with (instances done, instances in all).

    Raises
    ------
    RunMismatchError
        If the file holds another run, or the system builds on stored answers to other data or hypotheses.
    RunError
        If the file cannot be written, or another process writes it.
    SystemSpecError
        If there is no such system.
    TaskError
        If the system cannot answer a task.
    WorkerError
        If a worker process dies.
    """
    named = make_system(system, seed=seed)
    tasks = tuple(tasks) or default_tasks(named)
    require_answerable(named, tasks)
    named.check_data(dataset.sha256, own_hypotheses=hypothesis == "own")
    header = _header(named, dataset, tasks, limit=limit, seed=seed, hypothesis=hypothesis)
    hypotheses = _hypotheses(dataset, hypothesis, seed)
    ids = dataset.ids[:limit]
    with open_journal(path, RUN_BEGINS, truncate=overwrite) as journal:
        if journal.is_empty:
            journal.append(msgspec.json.encode(header))
        run = read_run(path)
        check_same_run(path, run.header or header, header)
        done = run.done - run.failed if retry_failed else run.done
        todo = list(_todo(ids, tasks, done, per_task=named.reads_brief))
        n_resumed, n_failed = len({instance_id for instance_id, _ in done}), len(run.failed & done)
        first_error: str | None = None
        notes: dict[str, dict[str, int]] = {}
        for key in done:
            _add_notes(notes, key[0], run.answer(*key))
        n_done = len(ids) - len(todo)

        def keep(answers: _Answers) -> None:
            nonlocal n_done, n_failed, first_error
            for instance_id, task_name, answer in answers:
                journal.append(encode_answer(instance_id, task_name, answer))
                _add_notes(notes, instance_id, answer)
                if isinstance(answer, Failure):
                    n_failed += 1
                    first_error = first_error or f"{instance_id}: {answer.error}"
            n_done += 1
            if on_progress is not None:
                on_progress(n_done, len(ids))

        jobs = min(jobs, 1 + len(todo) // _MIN_INSTANCES_A_JOB)
        if jobs == 1:
            work_off(_answerer, (named, dataset, hypotheses), todo, keep)
        else:
            work_off(_opened_answerer, (system, seed, dataset.path, hypotheses), todo, keep, jobs=jobs)
    return RunReport(
        n_instances=len(ids),
        n_resumed=n_resumed,
        n_failed=n_failed,
        first_error=first_error,
        trained_on_it=dataset.sha256 in named.trained_on(),
        notes={name: sum(counts.values()) for name, counts in sorted(notes.items())},
    )


def _add_notes(notes: dict[str, dict[str, int]], instance_id: str, answer: Answer | None) -> None:
    """Add an answer's notes to name -> instance id -> count."""
    if isinstance(answer, Ranking):
        for name, count in answer.notes.items():
            of_name = notes.setdefault(name, {})
            of_name[instance_id] = max(count, of_name.get(instance_id, 0))


_MIN_INSTANCES_A_JOB = 16

_Todo = tuple[str, tuple[str, ...] | None]
_Answers = list[tuple[str, str | None, Answer]]


def _todo(
    ids: Sequence[str], tasks: Sequence[Task], done: frozenset[tuple[str, str | None]], *, per_task: bool
) -> Iterator[_Todo]:
    for instance_id in ids:
        if not per_task:
            if (instance_id, None) not in done:
                yield instance_id, None
        elif missing := tuple(task.name for task in tasks if (instance_id, task.name) not in done):
            yield instance_id, missing


def _opened_answerer(
    spec: str, seed: int, data_path: Path, hypotheses: Mapping[str, str] | None
) -> Callable[[_Todo], _Answers]:
    """Make an answerer in a process that has nothing yet."""
    return _answerer(make_system(spec, seed=seed), open_dataset(data_path), hypotheses)


def _answerer(
    system: NamedSystem, dataset: Dataset, hypotheses: Mapping[str, str] | None
) -> Callable[[_Todo], _Answers]:
    def answer(todo: _Todo) -> _Answers:
        instance_id, task_names = todo
        instance = dataset[instance_id]
        if hypotheses is not None:
            instance = with_hypothesis(instance, hypotheses[instance_id])
        if task_names is None:
            return [(instance_id, None, answer_instance(system, instance, None))]
        tasks = [task for task in map(task_named, task_names) if task.applies_to(instance.labels)]
        return [(instance_id, task.name, answer_instance(system, instance, task)) for task in tasks]

    return answer


def _hypotheses(dataset: Dataset, hypothesis: str, seed: int) -> dict[str, str] | None:
    if hypothesis not in {"own", "wrong"}:
        raise ValueError(f"hypothesis: expected 'own' or 'wrong', got '{hypothesis}'")
    if hypothesis == "own":
        return None
    return derange_hypotheses(dataset.queries(), np.random.default_rng(seed))


def _header(
    system: NamedSystem, dataset: Dataset, tasks: Sequence[Task], *, limit: int | None, seed: int, hypothesis: str
) -> RunHeader:
    return RunHeader(
        system=SystemHeader(name=system.name, options=dict(system.options)),
        data=DataHeader(name=dataset.name, path=str(dataset.path), sha256=dataset.sha256, n=len(dataset)),
        tasks=tuple(task.name for task in tasks),
        per_task=system.reads_brief,
        limit=limit,
        seed=seed,
        hypothesis=hypothesis,
        versions={
            "evidencebench": __version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            **system.versions(),
        },
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
