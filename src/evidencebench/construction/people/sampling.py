"""Draw what people are asked: papers at random, and of each paper one aspect, or one instance."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evidencebench.construction.draft import open_drafts
from evidencebench.construction.people.tasks import AnnotationTask, Criterion, FileDigest, TasksHeader, TaskSort
from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.errors import DataError
from evidencebench.wording import counted

VALUABLE = Criterion(name="valuable", question="Is the hypothesis worth asking: would its answer matter?")
RELEVANT = Criterion(name="relevant", question="Does the paper report evidence for or against the hypothesis?")
MATCHABLE = Criterion(name="matchable", question="Can one single sentence of a paper hold all of the aspect?")
FAITHFUL = Criterion(name="faithful", question="Does the aspect say only what the summary says?")

SummaryKey = tuple[str, str, tuple[str, ...]]
"""What tells an instance's draft: the paper's id, the hypothesis, and the texts of the aspects."""


@dataclass(frozen=True, kw_only=True)
class DrawnTasks:
    """Tasks that were drawn, and what the draw holds: never written beside the tasks, which are blind."""

    header: TasksHeader
    tasks: tuple[AnnotationTask, ...]
    n_papers: int  # from which the draw was made
    n_pairs: int  # sentences to be marked
    n_positives: int | None  # of them sources by the data set's labels; None where things are rated


def draw_tasks(
    dataset: Dataset,
    *,
    sort: TaskSort = "sentences",
    n_papers: int = 50,
    seed: int = 0,
    summaries: Mapping[SummaryKey, str] | None = None,
) -> DrawnTasks:
    """Return one task for each of ``n_papers`` papers, in random order; memory is that of the names and the draw.

    Papers are equally likely, and so are a paper's aspects (or, where hypotheses are rated, its instances).
    """
    of_paper: dict[str, list[tuple[str, str]]] = {}
    for instance in dataset:
        asked = _askable(instance, sort)
        if asked:
            of_paper.setdefault(instance.query.paper_id, []).extend((instance.id, aspect) for aspect in asked)
    if len(of_paper) < n_papers:
        if not of_paper:
            raise DataError(
                f"{dataset.path}: expected a data set with the texts of its aspects, which people are asked about, got "
                "none; the original data has none, but --sort hypotheses works for it"
            )
        what = "" if sort == "hypotheses" else " with the text of an aspect"
        raise DataError(
            f"{dataset.path}: expected {counted(n_papers, 'paper')}{what}, got {len(of_paper):,}; draw fewer"
        )
    drawn = random.Random(seed)  # noqa: S311 - a sample, not a secret
    chosen = [drawn.choice(sorted(of_paper[paper])) for paper in drawn.sample(sorted(of_paper), n_papers)]
    digits = len(str(n_papers))
    tasks = []
    n_positives = 0
    for number, (instance_id, aspect) in enumerate(chosen, 1):
        instance = dataset[instance_id]
        n_positives += len(set(instance.labels.sources.get(aspect, ())))
        tasks.append(_task(f"task_{number:0{digits}}", instance, aspect, sort, summaries or {}))
    header = TasksHeader(
        sort=sort,
        seed=seed,
        data=FileDigest(name=dataset.name, sha256=dataset.sha256),
        criteria={
            "sentences": (),
            "hypotheses": (VALUABLE, RELEVANT),
            "aspects": (FAITHFUL, MATCHABLE) if summaries else (MATCHABLE,),
        }[sort],
    )
    return DrawnTasks(
        header=header,
        tasks=tuple(tasks),
        n_papers=len(of_paper),
        n_pairs=sum(len(task.sentences) for task in tasks) if sort == "sentences" else 0,
        n_positives=n_positives if sort == "sentences" else None,
    )


def summaries_in(path: Path) -> dict[SummaryKey, str]:
    """Return the summaries of a file of drafts; raises what `open_drafts` raises."""
    return {
        (draft.paper_id, draft.hypothesis, draft.aspects): draft.summary
        for draft in open_drafts(path).drafts()
        if draft.summary
    }


def _askable(instance: Instance, sort: TaskSort) -> tuple[str, ...]:
    """Return the ids of the aspects that may be asked about; for a hypothesis, one empty id."""
    if sort == "hypotheses":
        return ("",)
    if sort == "sentences" and not instance.query.sentences:
        return ()
    return tuple(aspect for aspect in instance.labels.aspects if instance.labels.texts.get(aspect, "").strip())


def _task(
    task_id: str, instance: Instance, aspect: str, sort: TaskSort, summaries: Mapping[SummaryKey, str]
) -> AnnotationTask:
    query, labels = instance.query, instance.labels
    key = (query.paper_id, query.hypothesis, tuple(labels.texts.get(aspect_id, "") for aspect_id in labels.aspects))
    summary = summaries.get(key, "")
    if summaries and not summary:
        raise DataError(
            f"{instance.id}: none of the drafts is of this instance, so that people could not see its summary; give "
            "the drafts that the data set was assembled from"
        )
    with_paper = sort != "aspects"
    return AnnotationTask(
        id=task_id,
        instance_id=instance.id,
        paper_id=query.paper_id,
        hypothesis=query.hypothesis,
        aspect_id=aspect,
        aspect=labels.texts.get(aspect, "") if aspect else "",
        summary=summary,
        sentences=query.sentences if with_paper else (),
        kinds=query.kinds if with_paper else (),
    )
