"""Ask a system instances of a data set, and gather what comes."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task, task_named
from evidencebench.errors import FailedAnswerError, PendingError, StopError
from evidencebench.execution.ask import answer_instance, with_hypothesis
from evidencebench.execution.recording import Todo, Worked
from evidencebench.execution.waiting import Waiting, ask_all
from evidencebench.runs.run_file import Answer, Failure
from evidencebench.system import NamedSystem


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """A system, and which hypotheses it is asked.

    Attributes
    ----------
    system
        What answers.
    hypotheses
        Instance id -> the hypothesis to ask instead of its own; None: its own.
    """

    system: NamedSystem
    hypotheses: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What came of an inquiry.

    Attributes
    ----------
    answers
        (instance id, task name) -> answer; the task is None where one answer serves all.
    seconds
        Instance id -> how long its answers took together.
    """

    answers: dict[tuple[str, str | None], Answer] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def answer(self, instance: Instance, task: Task) -> Answer:
        """Return the answer to an instance under a task that was asked."""
        found = self.answers.get((instance.id, None))
        return self.answers[instance.id, task.name] if found is None else found


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """What asking without sending came to.

    Attributes
    ----------
    n_instances
        Instances that were asked.
    n_failed
        Answers that failed already here, so that a run would fail too.
    first_error
        The first of them, or None.
    tasks
        Names of the tasks, each of which is asked by itself; empty: one answer serves all.
    """

    n_instances: int
    n_failed: int
    first_error: str | None = None
    tasks: tuple[str, ...] = ()


def gather(
    inquiries: Sequence[Inquiry],
    dataset: Dataset,
    tasks: Sequence[Task],
    *,
    limit: int | None = None,
    waiting: Waiting = Waiting(),  # noqa: B008 - frozen
    on_progress: Callable[[int, int], None] | None = None,
) -> list[Gathered]:
    """Return the answers to all inquiries, for systems that wait for a server: many instances at once, from threads.

    Parameters
    ----------
    inquiries
        Who is asked what; requests of all of them share batches, and a request that two of them make is sent once.
    dataset
        What is asked.
    tasks
        What the answers are for.
    limit
        Only the first so many instances; None: all.
    waiting
        How it is done.
    on_progress
        Called with (instances done, instances in all), an instance once for each inquiry.

    Raises
    ------
    StopError
        If no more requests may be sent, or answers wait for a batch that does not come. What was replied is stored,
        so that asking again goes on from there.
    """
    gathering = _Gathering(inquiries, dataset, tasks, limit, on_progress)
    n_all = len(gathering.todo)
    if on_progress is not None:
        on_progress(0, n_all)
    ask_all(gathering.work, gathering.todo, gathering, waiting)
    if gathering.n_done < n_all:
        raise StopError(
            f"{n_all - gathering.n_done} of {n_all} questions are unanswered, since their batch ended before "
            "their turn; run again: what is stored is not paid twice"
        )
    return gathering.gathered


def rehearse_all(
    inquiries: Sequence[Inquiry],
    dataset: Dataset,
    tasks: Sequence[Task],
    *,
    limit: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Rehearsal:
    """Ask all inquiries as `gather` would, one instance at a time, and keep no answer.

    It is meant for systems whose client sends nothing but estimates.
    """
    found = gather(inquiries, dataset, tasks, limit=limit, waiting=Waiting(max_waiting=1), on_progress=on_progress)
    failures = [
        f"{instance_id}: {answer.error}"
        for one in found
        for (instance_id, _), answer in one.answers.items()
        if isinstance(answer, Failure)
    ]
    return Rehearsal(
        n_instances=len(dataset.ids[:limit]),
        n_failed=len(failures),
        first_error=failures[0] if failures else None,
        tasks=tuple(task.name for task in tasks) if any(one.system.reads_brief for one in inquiries) else (),
    )


def todo_of(
    ids: Sequence[str], tasks: Sequence[Task], done: frozenset[tuple[str, str | None]], *, per_task: bool
) -> Iterator[Todo]:
    """Yield what is to be asked of each instance, but for what is done.

    Parameters
    ----------
    ids
        Of the instances.
    tasks
        What answers are for.
    done
        (instance id, task name or None) of what has an answer.
    per_task
        Whether each task has an answer of its own.
    """
    for instance_id in ids:
        if not per_task:
            if (instance_id, None) not in done:
                yield instance_id, None
        elif missing := tuple(task.name for task in tasks if (instance_id, task.name) not in done):
            yield instance_id, missing


def answerer(
    system: NamedSystem, dataset: Dataset, hypotheses: Mapping[str, str] | None, *, fails_fast: bool = False
) -> Callable[[Todo], Worked]:
    """Return what asks a system one instance of a data set.

    Parameters
    ----------
    system
        What answers.
    dataset
        Where the instances are.
    hypotheses
        Instance id -> the hypothesis to ask instead of its own; None: its own.
    fails_fast
        Whether the first answer that fails stops the work, and stays unanswered.
    """

    def answer(todo: Todo) -> Worked:
        instance_id, task_names = todo
        instance = dataset[instance_id]
        if hypotheses is not None:
            instance = with_hypothesis(instance, hypotheses[instance_id])
        asked: Sequence[Task | None] = (None,)
        if task_names is not None:
            asked = [task for task in map(task_named, task_names) if task.applies_to(instance.labels)]
        return _worked(system, instance, asked, fails_fast=fails_fast)

    return answer


def _worked(system: NamedSystem, instance: Instance, tasks: Sequence[Task | None], *, fails_fast: bool) -> Worked:
    answers: list[tuple[str, str | None, Answer]] = []
    pending: list[str | None] = []
    stop: StopError | None = None
    names = [None if task is None else task.name for task in tasks]
    for place, task in enumerate(tasks):
        try:
            answer = answer_instance(system, instance, task)
            if fails_fast and isinstance(answer, Failure):
                raise FailedAnswerError(f"{instance.id}: {answer.error}").at(answer.trace)
            answers.append((instance.id, names[place], answer))
        except PendingError:
            pending.append(names[place])
        except StopError as error:
            stop = error
            pending += names[place:]  # those behind it are not asked, and so not answered either
            break
    unanswered: Todo | None = (instance.id, tuple(filter(None, pending)) or None) if pending else None
    return Worked(answers=tuple(answers), unanswered=unanswered, stop=stop)


class _Gathering:
    """Asks the instances of all inquiries, each under its inquiry's place and its id, and keeps what comes."""

    def __init__(
        self,
        inquiries: Sequence[Inquiry],
        dataset: Dataset,
        tasks: Sequence[Task],
        limit: int | None,
        on_progress: Callable[[int, int], None] | None,
    ) -> None:
        self.todo: list[Todo] = [
            (f"{place} {instance_id}", names)
            for place, one in enumerate(inquiries)
            for instance_id, names in todo_of(dataset.ids[:limit], tasks, frozenset(), per_task=one.system.reads_brief)
        ]
        self.gathered = [Gathered() for _ in inquiries]
        self.n_done = 0
        self._answerers = [answerer(one.system, dataset, one.hypotheses) for one in inquiries]
        self._on_progress = on_progress

    def work(self, todo: Todo) -> Worked:
        place, _, instance_id = todo[0].partition(" ")
        started = time.perf_counter()
        worked = self._answerers[int(place)]((instance_id, todo[1]))
        self.gathered[int(place)].seconds[instance_id] = time.perf_counter() - started
        left = worked.unanswered
        return replace(
            worked,
            answers=tuple((todo[0], name, answer) for _, name, answer in worked.answers),
            unanswered=None if left is None else (todo[0], left[1]),
        )

    def keep(self, worked: Worked) -> None:
        for name, task, answer in worked.answers:
            place, _, instance_id = name.partition(" ")
            self.gathered[int(place)].answers[instance_id, task] = answer
        self.n_done += worked.unanswered is None
        if self._on_progress is not None:
            self._on_progress(self.n_done, len(self.todo))
