"""What people are asked about a data set, and what they are shown once they have submitted: labels are known here."""

from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.optimum.cover import coverage_of
from evidencebench.data.tasks import Task
from evidencebench.errors import DataError, TaskError
from evidencebench.pages.paper import paper_of
from evidencebench.pages.picking.routes import Offer, PickingPages, QueuedPaper
from evidencebench.pages.viewer.page_records import SystemRecord
from evidencebench.pages.viewer.viewer_data import ShownSystem, ViewerData
from evidencebench.runs.header import DataHeader
from evidencebench.runs.people.people_folder import PeopleFolder, utc_now
from evidencebench.runs.people.person import Clock, Person, Submission
from evidencebench.scoring.selection import Rules


def picking_pages(
    viewed: ViewerData, folder: Path, task: Task, *, limit: int | None = None, clock: Clock = utc_now
) -> PickingPages:
    """Return the pages of people who pick sentences, whose runs lie in a folder.

    The systems of ``viewed`` stand below a person's answer once it is submitted. ``limit``: only the first so many
    instances; None: all. It raises `RunError` if the folder cannot be made, `DataError` if an id is too long, and
    `TaskError` if the task has no budget or applies to none of the instances.
    """
    if task.budget is None:
        raise TaskError(f"task '{task.name}' has no budget, and people are told how many to pick; take er_at_optimal")
    dataset = viewed.dataset
    limit = limit if limit is not None and limit < len(dataset) else None
    queue = _queue(dataset, task, limit)
    if not queue:
        raise TaskError(f"{dataset.path}: task '{task.name}' applies to none of the instances")

    def offer(instance_id: str) -> Offer:
        instance = dataset[instance_id]
        budget = task.brief(instance).budget
        assert budget is not None, "the task has one"
        return Offer(paper=paper_of(queue[instance_id].position, instance.query), budget=budget)

    def reveal(person: Person, instance_id: str, submission: Submission) -> object:
        record = SystemRecord(label=f"{person.name} (you)", signature=person.signature)
        you = ShownSystem(record=record, source=lambda *_: submission.as_ranking(), rules=Rules())
        shown = replace(viewed, tasks=(task,), systems=(you, *viewed.systems))
        return {
            "overview": shown.overview(),
            "record": shown.record(queue[instance_id].position, dataset[instance_id]),
            "seconds": submission.seconds,
        }

    data = DataHeader(name=dataset.name, path=str(dataset.path), sha256=dataset.sha256, n=len(dataset))
    return PickingPages(
        people=PeopleFolder(folder, data=data, task=task.name, limit=limit, clock=clock),
        title=viewed.title,
        scope=task.scope,
        queue=queue,
        offer=offer,
        reveal=reveal,
    )


_LONGEST_ID_BYTES = 6_000  # beside a name, and below what an address of the app may have


def _queue(dataset: Dataset, task: Task, limit: int | None) -> dict[str, QueuedPaper]:
    """Return what people are asked: of labels it tells only whether any count, as the task's name does.

    Papers that would allow no pick are left out, since no aspect of them has a source.
    """
    queue: dict[str, QueuedPaper] = {}
    for position, instance in enumerate(dataset.instances(limit)):
        if task.applies_to(instance.labels) and _allows_picks(task, instance):
            n_bytes = len(quote(instance.id, safe="", errors="replace"))
            if n_bytes > _LONGEST_ID_BYTES:
                raise DataError(
                    f"{dataset.path}: instance {position}: its id takes {n_bytes} bytes in an address, and people can "
                    f"ask for at most {_LONGEST_ID_BYTES}; give it a shorter one, or leave it out"
                )
            query = instance.query
            queue[instance.id] = QueuedPaper(
                position=position, id=instance.id, hypothesis=query.hypothesis, n_sentences=len(query.sentences)
            )
    return queue


def _allows_picks(task: Task, instance: Instance) -> bool:
    """Say whether the budget is more than 0, without solving what offering the paper solves."""
    if task.budget != "optimal":
        return True
    stored = instance.labels.evaluations.get(task.name)
    if stored is not None and stored.optimal is not None:
        return stored.optimal != 0
    return bool(coverage_of(instance.labels, task.scope).masks)
