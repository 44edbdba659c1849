"""The wrong-hypothesis control: a system asked about each paper with the hypothesis of another paper."""

from collections.abc import Callable, Iterable, Sequence

from evidencebench.data.dataset import Dataset, dataset_from
from evidencebench.data.tasks import Task, TaskOrName, tasks_from
from evidencebench.execution.answering import answers_from, named_system, require_answerable
from evidencebench.execution.asking import Inquiry, Waiting, gather
from evidencebench.scoring.compare import Comparison, compare
from evidencebench.scoring.evaluate import AnswerSource, evaluate
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Resampling
from evidencebench.storage.reading import PathText
from evidencebench.system import NamedSystem, System
from evidencebench.systems.derangement import derange_hypotheses


def wrong_hypothesis_control(
    system: NamedSystem | System,
    dataset: Dataset | PathText,
    tasks: TaskOrName | Iterable[TaskOrName],
    *,
    limit: int | None = None,
    resampling: Resampling = DEFAULT_RESAMPLING,
    waiting: Waiting = Waiting(),  # noqa: B008 - frozen
    on_progress: Callable[[int, int], None] | None = None,
) -> dict[str, Comparison]:
    """Return task name -> comparison of a system asked with each paper's own hypothesis and with another paper's.

    A system whose recall and selections stay the same did not use the hypothesis, however high it scores.

    Parameters
    ----------
    system
        A system of `make_system`, or any object with ``rank(query, brief)``.
    dataset
        The data; hypotheses are swapped over all of it, whatever the limit.
    tasks
        The tasks to score on: tasks or their names, or a single one.
    limit
        Only the first so many instances; None: all.
    resampling
        How the intervals are drawn; its seed also decides the swap.
    waiting
        How a system that waits for a server is asked.
    on_progress
        Called with (instances done, instances in all).

    Raises
    ------
    UndefinedScoreError
        If hypotheses cannot be swapped between papers.
    RunMismatchError
        If the system builds on stored answers, which are for each paper's own hypothesis, or it may not be asked one of
        the instances.
    StopError
        If no more requests may be sent; the replies so far are in the cache.
    TaskError
        If the system cannot answer a task.
    """
    system, dataset, tasks = named_system(system), dataset_from(dataset), tasks_from(tasks)
    inquiries = wrong_hypothesis_inquiries(system, dataset, tasks, limit=limit, resampling=resampling)
    sources: dict[str, AnswerSource]
    if system.waits:
        gathered = gather(
            list(inquiries.values()), dataset, tasks, limit=limit, waiting=waiting, on_progress=on_progress
        )
        sources = {name: one.answer for name, one in zip(inquiries, gathered, strict=True)}
        on_progress = None
    else:
        sources = {name: answers_from(one.system, one.hypotheses) for name, one in inquiries.items()}
    scores = evaluate(sources, dataset, tasks, limit=limit, on_progress=on_progress)
    return {
        name: compare(own, scores["wrong"][name], resampling=resampling)
        for name, own in scores["own"].items()
        if own.ids
    }


def wrong_hypothesis_inquiries(
    system: NamedSystem,
    dataset: Dataset,
    tasks: Sequence[Task],
    *,
    limit: int | None = None,
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> dict[str, Inquiry]:
    """Return the two inquiries of `wrong_hypothesis_control`: ``own``, with each paper's hypothesis, and ``wrong``."""
    require_answerable(system, dataset, tasks, limit=limit, own_hypotheses=False)
    swapped = derange_hypotheses(dataset.queries(), resampling.generator())
    return {"own": Inquiry(system=system), "wrong": Inquiry(system=system, hypotheses=swapped)}
