"""Ask systems about many instances: one after the other, or many at a time if the system waits for a server."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import NamedTuple

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task, task_named
from evidencebench.engine.local import Threads
from evidencebench.engine.protocol import results
from evidencebench.errors import CostLimitError, FailedAnswerError, PendingError, StopError, WorkerError
from evidencebench.execution.answers import answer_instance
from evidencebench.execution.changes import Changes, changed_instance
from evidencebench.models.llm.client import ChatClient
from evidencebench.runs.run import Answer, Failure
from evidencebench.system import NamedSystem

DEFAULT_MAX_WAITING = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """A system to ask, and what is changed of the instances; None: each is asked as it is."""

    system: NamedSystem
    changes: Changes | None = None


class Todo(NamedTuple):
    """Answers still to be asked for: an instance, its tasks (None: one answer serves all), and the inquiry's index."""

    instance_id: str
    tasks: tuple[str, ...] | None
    inquiry: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceOutcome:
    todo: Todo
    answers: Mapping[str | None, Answer] = field(default_factory=dict)
    seconds: float = 0.0
    unanswered: Todo | None = None
    stop: StopError | None = None  # set if no other instance may be begun
    n_sentences: int = 0  # of the instance; 0: it was not asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    client: ChatClient | None = None  # sends nothing more after an interrupt
    max_waiting: int = DEFAULT_MAX_WAITING  # how many instances are asked at a time
    settle: Callable[[], bool] | None = None  # waits for batches, returns whether it submitted any; None: no batches
    on_interrupt: Callable[[], object] = lambda: None  # called at the first interrupt, in the signal's handler

    def interrupt(self) -> None:
        if self.client is not None:
            self.client.drain()
        self.on_interrupt()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The answers to an inquiry by (instance id, task; None: all tasks), and the seconds spent on each instance."""

    answers: dict[tuple[str, str | None], Answer] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def answer(self, instance: Instance, task: Task) -> Answer:
        for_all_tasks = self.answers.get((instance.id, None))
        return self.answers[instance.id, task.name] if for_all_tasks is None else for_all_tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """The result of asking everything without sending a request: how many instances, and how many answers failed."""

    n_instances: int
    n_failed: int
    first_error: str | None = None
    tasks: tuple[str, ...] = ()  # names of the tasks if each is asked for itself; empty: one answer serves all


def rehearsal_of(n_instances: int, failures: Collection[tuple[str, str]], tasks: tuple[str, ...] = ()) -> Rehearsal:
    """Return a rehearsal, of the failures as (instance id, error)."""
    first_error = next(map(": ".join, failures), None)
    return Rehearsal(n_instances=n_instances, n_failed=len(failures), first_error=first_error, tasks=tasks)


def attempted(todo: Todo, work: Callable[[], object]) -> InstanceOutcome:
    """Do the work of a todo, which keeps what comes of it, and return whether it is done as an outcome."""
    try:
        work()
    except PendingError:
        return InstanceOutcome(todo=todo, unanswered=todo)
    except StopError as error:
        return InstanceOutcome(todo=todo, unanswered=todo, stop=error)
    return InstanceOutcome(todo=todo)


def todo_of(
    ids: Sequence[str],
    tasks: Sequence[Task],
    system: NamedSystem,
    *,
    done: Collection[tuple[str, str | None]] = (),
    inquiry: int = 0,
) -> Iterator[Todo]:
    """Yield one `Todo` for each instance that lacks an answer; ``done`` holds (instance id, task name or None)."""
    for instance_id in ids:
        if not system.reads_task:
            if (instance_id, None) not in done:
                yield Todo(instance_id, None, inquiry)
        elif missing := tuple(task.name for task in tasks if (instance_id, task.name) not in done):
            yield Todo(instance_id, missing, inquiry)


def asker(
    inquiries: Sequence[Inquiry], dataset: Dataset, *, fails_fast: bool = False
) -> Callable[[Todo], InstanceOutcome]:
    """Return a function: todo -> outcome. With ``fails_fast``, a failed answer is left out and stops the asking."""

    def ask(todo: Todo) -> InstanceOutcome:
        started = time.perf_counter()
        inquiry = inquiries[todo.inquiry]
        changed = changed_instance(dataset[todo.instance_id], inquiry.changes, dataset)
        instance = changed.instance
        names = _names_to_ask(todo, instance)
        answers: dict[str | None, Answer] = {}
        pending: list[str | None] = []
        stop: StopError | None = None
        for number, name in enumerate(names):
            try:
                answer = changed.own_answer(answer_instance(inquiry.system, instance, name))
                if fails_fast and isinstance(answer, Failure):
                    raise FailedAnswerError(f"{instance.id}: {answer.error}").at(answer.trace)
                # An error may refuse to travel between processes.
                answers[name] = replace(answer, cause=None) if isinstance(answer, Failure) else answer
            except PendingError:
                pending.append(name)
            except StopError as error:
                stop = error
                pending += names[number:]  # the tasks behind it are not asked either
                break
        unanswered = todo._replace(tasks=tuple(filter(None, pending)) or None) if pending else None
        seconds = time.perf_counter() - started
        n = len(instance.query.sentences)
        return InstanceOutcome(
            todo=todo, answers=answers, seconds=seconds, unanswered=unanswered, stop=stop, n_sentences=n
        )

    return ask


def _names_to_ask(todo: Todo, instance: Instance) -> list[str | None]:
    """Return the names of the tasks of a todo that its instance can be asked; only None where one answer serves all."""
    if todo.tasks is None:
        return [None]
    return [name for name in todo.tasks if task_named(name).can_be_asked(instance.labels)]


def lost_outcome(todo: Todo, error: Exception, dataset: Dataset, *, fails_fast: bool) -> InstanceOutcome:
    """Return the outcome of an instance that took its worker with it: all failures; raise any other error."""
    if not isinstance(error, WorkerError):
        raise error
    if fails_fast:
        raise FailedAnswerError(f"{todo.instance_id}: {error}") from error
    asked = _names_to_ask(todo, dataset[todo.instance_id])
    failure = Failure(error=f"{type(error).__name__}: {error}")
    return InstanceOutcome(todo=todo, answers=dict.fromkeys(asked, failure))


def ask_all(
    ask: Callable[[Todo], InstanceOutcome],
    todo: Sequence[Todo],
    keep: Callable[[InstanceOutcome], StopError | None],
    waiting: Waiting,
) -> None:
    """Ask, in threads, until all is answered or `Waiting.settle` changes nothing; raise `StopError` at the end.

    Where ``keep`` returns a stop, no further todo begins, and the outcomes of those that have begun are kept.
    """
    before: set[Todo] = set()
    while True:
        remaining, stop = _ask_once(ask, todo, keep, waiting)
        if stop is not None and not isinstance(stop, CostLimitError):
            raise stop
        if not remaining:
            return
        # After a cost limit, begun batches are submitted too: replies cost less than was set aside for them, so that
        # more requests may fit. The todos are compared as sets, since answers come in any order.
        if not (waiting.settle is not None and waiting.settle()) and (stop is not None or set(remaining) == before):
            if stop is not None:
                raise stop
            return
        todo, before = remaining, set(remaining)


def _ask_once(
    ask: Callable[[Todo], InstanceOutcome],
    todo: Sequence[Todo],
    keep: Callable[[InstanceOutcome], StopError | None],
    waiting: Waiting,
) -> tuple[list[Todo], StopError | None]:
    """Ask each todo once, from threads, and keep the answers; return the todos that are left, and the stop or None."""
    remaining = dict.fromkeys(todo)
    stops: list[StopError] = []

    def ask_and_note(entry: Todo) -> InstanceOutcome:
        outcome = ask(entry)
        if outcome.stop is not None:  # noted in the asking thread, so that it begins no other instance
            stops.append(outcome.stop)
        return outcome

    def final_stops() -> list[StopError]:
        """Return the stops after which nothing is answered; after a cost limit, stored replies still answer."""
        return [stop for stop in stops if not isinstance(stop, CostLimitError)]

    engine = Threads(min(waiting.max_waiting, max(1, len(todo))))
    to_ask = takewhile(lambda _: not final_stops(), todo)
    for outcome in results(engine, lambda: ask_and_note, (), to_ask, on_interrupt=waiting.interrupt):
        if (stop := keep(outcome)) is not None:
            stops.append(stop)
        del remaining[outcome.todo]
        if outcome.unanswered is not None:
            remaining[outcome.unanswered] = None
    return list(remaining), next(iter(final_stops() or stops), None)


def gather(
    inquiries: Sequence[Inquiry],
    dataset: Dataset,
    tasks: Sequence[Task],
    *,
    limit: int | None = None,
    waiting: Waiting = Waiting(),
    on_progress: Callable[[int, int], None] | None = None,
) -> list[Gathered]:
    """Return the answers to each inquiry; raise `StopError` if any is missing. All inquiries share batches."""
    gathered = [Gathered() for _ in inquiries]
    todo = [
        entry
        for index, inquiry in enumerate(inquiries)
        for entry in todo_of(dataset.ids[:limit], tasks, inquiry.system, inquiry=index)
    ]
    n_done = 0

    def keep(outcome: InstanceOutcome) -> None:
        nonlocal n_done
        instance_id, own = outcome.todo.instance_id, gathered[outcome.todo.inquiry]
        own.answers.update({(instance_id, name): answer for name, answer in outcome.answers.items()})
        own.seconds[instance_id] = outcome.seconds
        n_done += outcome.unanswered is None
        if on_progress is not None:
            on_progress(n_done, len(todo))

    if on_progress is not None:
        on_progress(0, len(todo))
    ask_all(asker(inquiries, dataset), todo, keep, waiting)
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
    """Ask all inquiries as `gather` does, one instance at a time, keeping no answer; no client may send anything."""
    all_answers = gather(
        inquiries, dataset, tasks, limit=limit, waiting=Waiting(max_waiting=1), on_progress=on_progress
    )
    failures = [
        (instance_id, answer.error)
        for gathered in all_answers
        for (instance_id, _), answer in gathered.answers.items()
        if isinstance(answer, Failure)
    ]
    names = tuple(task.name for task in tasks) if any(inquiry.system.reads_task for inquiry in inquiries) else ()
    return rehearsal_of(len(dataset.ids[:limit]), failures, names)
