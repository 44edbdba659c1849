"""What a person picks from, and how they scored."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import msgspec
import numpy as np

from evidencebench.data.cover import coverage_of
from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task
from evidencebench.errors import DataError, TaskError
from evidencebench.pages.paper import GradedAnswer, SystemRecord, paper_of
from evidencebench.pages.people.picks import MeanRecall, OfferedPaper, OwnScores, PickTasks
from evidencebench.pages.people.tasks import TaskApp, TaskRow
from evidencebench.pages.viewer import ShownSystem, ViewerData
from evidencebench.runs.header import DataHeader
from evidencebench.runs.people import Clock, PeopleFolder, Person, Submission, utc_now
from evidencebench.scoring.evaluate import Case, case_of, grade
from evidencebench.scoring.resampling import Estimate, bootstrap_columns
from evidencebench.scoring.selection import Rules
from evidencebench.scoring.significance import percent
from evidencebench.wording import counted

# How well a person has done, beside the systems: over exactly the papers that the person has submitted.


@dataclass(frozen=True, slots=True, kw_only=True)
class _Graded:
    case: Case
    recalls: tuple[float, ...]
    missing: tuple[bool, ...]


class SubmittedPapers:
    """The papers that anybody has submitted; the systems are graded once on each. All have labels, so recalls."""

    def __init__(self, viewed: ViewerData, task: Task) -> None:
        self._viewed, self._task = viewed, task
        self._known: dict[str, _Graded] = {}

    def scores(self, submissions: Mapping[str, Submission]) -> OwnScores | None:
        """Return the recalls of a person's submissions, and the means of person and systems on these papers."""
        if not submissions:
            return None
        graded = [self._graded(paper) for paper in submissions]
        own = [
            grade(paper.case, submission.as_ranking()).recall
            for paper, submission in zip(graded, submissions.values(), strict=True)
        ]
        values = np.array([[mine, *paper.recalls] for mine, paper in zip(own, graded, strict=True)])
        you, *others = bootstrap_columns(values, [paper.case.instance.cluster for paper in graded])
        missing = [sum(lacks) for lacks in zip(*(paper.missing for paper in graded), strict=True)]
        means = [_mean("You", you, is_you=True)]
        means += [
            _mean(_label(shown.record, n_missing), found)
            for shown, found, n_missing in zip(self._viewed.systems, others, missing, strict=True)
        ]
        runs = [place for place, shown in enumerate(self._viewed.systems, 1) if not shown.record.is_control]
        named = runs or [place for place, shown in enumerate(self._viewed.systems, 1) if not shown.record.is_oracle]
        named.sort(key=lambda place: -means[place].mean)
        labels = ["You", *(shown.record.label for shown in self._viewed.systems)]
        said = ", ".join(f"{labels[place]} {100 * means[place].mean:.1f}" for place in [0, *named])
        return OwnScores(
            summary=f"{said} on your {counted(len(own), 'paper')}.",
            means=tuple(sorted(means, key=lambda paper: -paper.mean)),
            recalls=dict(zip(submissions, own, strict=True)),
        )

    def _graded(self, instance_id: str) -> _Graded:
        if instance_id not in self._known:
            case = case_of(self._viewed.dataset[instance_id], self._task)
            assert case is not None, "the queue has only papers that the task applies to"
            answers = [shown.answer_in_list(case, self._task) for shown in self._viewed.systems]
            self._known[instance_id] = _Graded(
                case=case,
                recalls=tuple(map(_recall, answers)),
                missing=tuple(answer.status == "missing" for answer in answers if answer is not None),
            )
        return self._known[instance_id]


def _recall(answer: GradedAnswer | None) -> float:
    assert answer is not None, "the task has a budget"
    assert answer.recall is not None, "the queue has only papers with labels"
    return answer.recall


def _label(record: SystemRecord, n_missing: int) -> str:
    lacks = f" (lacks {counted(n_missing, 'answer')}: 0)" if n_missing else ""
    return f"{record.label}{' *' if record.is_control else ''}{lacks}"


def _mean(label: str, found: Estimate, *, is_you: bool = False) -> MeanRecall:
    text = percent(found)
    return MeanRecall(label=label, text=text, is_you=is_you, mean=found.mean, low=found.low, high=found.high)


# The papers that people are asked to pick in, and the labels that they are shown after they have submitted.


def pick_tasks(
    viewed: ViewerData, folder: Path, task: Task, *, limit: int | None = None, clock: Clock = utc_now
) -> TaskApp:
    """Return the app for people who pick sentences; their answers are written to ``folder``."""
    if task.budget is None:
        raise TaskError(f"task '{task.name}' has no budget, and people are told how many to pick; take er_at_optimal")
    dataset = viewed.dataset
    limit = limit if limit is not None and limit < len(dataset) else None
    rows = _rows(dataset, task, limit)
    positions = {instance_id: position for position, instance_id in enumerate(dataset.ids)}
    if not rows:
        raise TaskError(f"{dataset.path}: task '{task.name}' applies to none of the instances")

    def offer(instance_id: str) -> OfferedPaper:
        instance = dataset[instance_id]
        budget = task.brief(instance).budget
        assert budget is not None, "the task has one"
        paper = paper_of(positions[instance_id], instance.query)
        return OfferedPaper(**msgspec.structs.asdict(paper), budget=budget)

    def reveal(person: Person, instance_id: str, submission: Submission) -> object:
        record = SystemRecord(label=f"{person.name} (you)", signature=person.signature)
        you = ShownSystem(record=record, source=lambda *_: submission.as_ranking(), rules=Rules())
        shown = replace(viewed, tasks=(task,), systems=(you, *viewed.systems))
        return {
            "overview": shown.overview(),
            "record": shown.record(positions[instance_id], dataset[instance_id]),
            "seconds": submission.seconds,
        }

    graded = SubmittedPapers(viewed, task)

    def scores(person: Person) -> OwnScores | None:
        return graded.scores({one: submission for one, submission in person.submissions.items() if one in rows})

    data = DataHeader(name=dataset.name, path=str(dataset.path), sha256=dataset.sha256, n=len(dataset))
    people = PeopleFolder(folder, data=data, task=task.name, limit=limit, clock=clock)
    kind = PickTasks(people=people, rows=rows, offer=offer, reveal=reveal, scores=scores)
    about = {"sort": "picks", "title": viewed.title, "task": task.name, "scope": task.scope, "n_tasks": len(rows)}
    return TaskApp(kinds={"tasks": kind}, about=about, folder=folder)


_LONGEST_ID_BYTES = 6_000  # an address holds an id and a person's name, in at most `MAX_TARGET_BYTES`


def _rows(dataset: Dataset, task: Task, limit: int | None) -> dict[str, TaskRow]:
    rows: dict[str, TaskRow] = {}
    for position, instance in enumerate(dataset.instances(limit)):
        if task.applies_to(instance.labels) and _allows_picks(task, instance):
            n_bytes = len(quote(instance.id, safe="", errors="replace"))
            if n_bytes > _LONGEST_ID_BYTES:
                raise DataError(
                    f"{dataset.path}: instance {position}: its id takes {n_bytes} bytes in an address, and people can "
                    f"ask for at most {_LONGEST_ID_BYTES}; give it a shorter one, or leave it out"
                )
            facts = counted(len(instance.query.sentences), "sentence")
            rows[instance.id] = TaskRow(id=instance.id, text=instance.query.hypothesis, facts=facts)
    return rows


def _allows_picks(task: Task, instance: Instance) -> bool:
    """Say whether the budget is more than 0; the minimum cover is not computed for that, since it can take long."""
    if task.budget != "optimal":
        return True
    stored = instance.labels.evaluations.get(task.name)
    if stored is not None and stored.optimal is not None:
        return stored.optimal != 0
    return bool(coverage_of(instance.labels, task.scope).masks)
