"""The papers that people are asked to pick in, and the labels that they are shown after they have submitted."""

from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import msgspec

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.optimum.cover import coverage_of
from evidencebench.data.tasks import Task
from evidencebench.errors import DataError, TaskError
from evidencebench.pages.paper import paper_of
from evidencebench.pages.people.own_scores import SubmittedPapers
from evidencebench.pages.people.picks import OfferedPaper, OwnScores, PickTasks
from evidencebench.pages.people.tasks import TaskApp, TaskRow
from evidencebench.pages.viewer.page_records import SystemRecord
from evidencebench.pages.viewer.viewer_data import ShownSystem, ViewerData
from evidencebench.runs.header import DataHeader
from evidencebench.runs.people.people_folder import PeopleFolder, utc_now
from evidencebench.runs.people.person import Clock, Person, Submission
from evidencebench.scoring.selection import Rules
from evidencebench.wording import counted


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
