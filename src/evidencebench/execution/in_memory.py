"""Ask systems that wait for a server, and keep their answers in memory."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task
from evidencebench.errors import StopError
from evidencebench.execution.answering import InstanceOutcome, Todo, answerer, todo_of
from evidencebench.execution.waiting import Waiting, ask_all
from evidencebench.runs.answer_line import Answer, Failure
from evidencebench.system import NamedSystem


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """A system, and instance id -> the hypothesis that it is asked instead of the instance's own; None: its own."""

    system: NamedSystem
    hypotheses: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The answers to an inquiry.

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
    """What a run would ask, counted without sending anything.

    Attributes
    ----------
    n_instances
        Instances that were asked.
    n_failed, first_error
        Answers that failed already here, so that a run would fail too, and the first of them.
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
    """Return the answers to all inquiries: many instances at once, from threads.

    Requests of all inquiries share batches, and a request that two of them make is sent once. ``on_progress`` is called
    with (instances done, instances in all), an instance once for each inquiry.

    Raises
    ------
    StopError
        If no more requests may be sent, or answers wait for a batch that does not come. What was replied is stored,
        so that asking again goes on from there.
    """
    gathered = [Gathered() for _ in inquiries]
    asking = [answerer(one.system, dataset, one.hypotheses) for one in inquiries]
    todo: list[Todo] = [  # each instance by the place of its inquiry and its id
        (f"{place} {instance_id}", names)
        for place, one in enumerate(inquiries)
        for instance_id, names in todo_of(dataset.ids[:limit], tasks, frozenset(), per_task=one.system.reads_brief)
    ]
    n_done = 0

    def work(one: Todo) -> InstanceOutcome:
        place, _, instance_id = one[0].partition(" ")
        started = time.perf_counter()
        worked = asking[int(place)]((instance_id, one[1]))
        gathered[int(place)].seconds[instance_id] = time.perf_counter() - started
        answers = tuple((one[0], name, answer) for _, name, answer in worked.answers)
        left = None if worked.unanswered is None else (one[0], worked.unanswered[1])
        return InstanceOutcome(answers=answers, unanswered=left, stop=worked.stop)

    def keep(worked: InstanceOutcome) -> None:
        nonlocal n_done
        for name, task, answer in worked.answers:
            place, _, instance_id = name.partition(" ")
            gathered[int(place)].answers[instance_id, task] = answer
        n_done += worked.unanswered is None
        if on_progress is not None:
            on_progress(n_done, len(todo))

    if on_progress is not None:
        on_progress(0, len(todo))
    ask_all(work, todo, keep, waiting)
    if n_done < len(todo):
        raise StopError(
            f"{len(todo) - n_done} of {len(todo)} questions are unanswered, since their batch ended before "
            "their turn; run again: what is stored is not paid twice"
        )
    return gathered


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
