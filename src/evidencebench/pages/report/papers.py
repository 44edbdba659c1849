"""The papers of a report: their records are made of the answers as they were scored, so that none is graded twice."""

from collections.abc import Iterator
from math import isnan

from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task
from evidencebench.pages.report.findings import Findings
from evidencebench.pages.viewer.exchange_records import AskedRecord, ExchangeSource
from evidencebench.pages.viewer.page_records import GradedAnswer, GradedInstance, ListRow, TaskTerms
from evidencebench.pages.viewer.viewer_data import (
    ShownSystem,
    ViewerData,
    record_of,
    shown_case,
    shown_systems,
    terms_of,
)
from evidencebench.scoring.task_scores import TaskScores


def viewer_of(findings: Findings, title: str, exchanges: ExchangeSource | None = None) -> ViewerData:
    """Return the data of the report's viewer: the runs and controls of its leaderboards, under the same names."""
    dataset, tasks, scored = findings.dataset, findings.tasks, findings.scored
    systems = shown_systems(scored.runs, dataset, tasks, scored.rules)
    labels = list(scored.runs)
    best = {task.name: tuple(labels.index(row.system) for row in findings.best_runs(task)) for task in tasks}
    return ViewerData(title=title, dataset=dataset, tasks=tasks, systems=systems, best=best, exchanges=exchanges)


def asked_of(viewed: ViewerData, n_instances: int) -> Iterator[dict[int, tuple[AskedRecord, ...]]]:
    """Yield what each instance's systems asked language models: by system, for each task, or once for all tasks."""
    asking = [
        (place, shown.run.header.per_task)
        for place, shown in enumerate(viewed.systems)
        if shown.record.asks_model and shown.run is not None and shown.run.header is not None
    ]
    for instance_id in viewed.dataset.ids[:n_instances]:
        yield {
            place: tuple(viewed.asked(instance_id, place, n) for n in range(len(viewed.tasks) if per_task else 1))
            for place, per_task in asking
        }


def papers_of(findings: Findings, viewed: ViewerData) -> Iterator[tuple[ListRow, GradedInstance]]:
    """Yield the row and the record of each instance, the same as ``viewed`` makes."""
    scored = findings.scored
    scores = [
        [
            (scored.controls if shown.record.is_control else scored.scores)[shown.record.label].get(task.name)
            for task in viewed.tasks
        ]
        for shown in viewed.systems
    ]
    first = next(iter(scored.scores.values()))
    n_before = dict.fromkeys(first, 0)  # by task: how many instances it applied to so far
    for position, instance in enumerate(viewed.dataset.instances(findings.n_instances)):
        places: list[int | None] = []
        for task in viewed.tasks:
            place = n_before[task.name]
            applies = first[task.name].ids[place : place + 1] == (instance.id,)
            places.append(place if applies else None)
            n_before[task.name] += applies
        of_tasks = list(zip(viewed.tasks, places, strict=True))
        answers = tuple(
            tuple(_answer(shown, one, instance, *of_task) for one, of_task in zip(by_task, of_tasks, strict=True))
            for shown, by_task in zip(viewed.systems, scores, strict=True)
        )
        terms = tuple(_terms(first[task.name], instance, task, place) for task, place in of_tasks)
        record = record_of(position, instance, terms=terms, answers=answers, spent=viewed.spent(instance.id))
        yield viewed.row(position, instance, viewed.grades_of(record)), record


def _answer(
    shown: ShownSystem, scores: TaskScores | None, instance: Instance, task: Task, place: int | None
) -> GradedAnswer | None:
    """Return an answer as it was scored; where it has no sentence or no score, it is read again."""
    if scores is None or (place is None and instance.labels.aspects):
        return None
    if place is None or not scores.selections[place].size:
        return shown.answer(shown_case(instance, task), task)
    selection = scores.selections[place]
    return GradedAnswer(
        status="answered",
        certain=selection.certain,
        tied=selection.tied,
        n_drawn=selection.n_drawn,
        recall=float(scores.recalls[place]),
    )


def _terms(scores: TaskScores, instance: Instance, task: Task, place: int | None) -> TaskTerms | None:
    if place is None:
        case = None if instance.labels.aspects else shown_case(instance, task)
        return None if case is None else terms_of(case)
    ceiling = float(scores.scores["ceiling"][place])
    return TaskTerms(
        budget=task.budget_for(instance),
        n_aspects=len(instance.labels.that_count(task.scope)),
        ceiling=None if isnan(ceiling) else ceiling,
    )
