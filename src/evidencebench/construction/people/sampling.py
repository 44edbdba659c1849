"""Draw what people are asked: papers at random, and of each paper one aspect, or one instance."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from evidencebench.construction.draft import open_drafts
from evidencebench.construction.people.tasks import CRITERIA, AnnotationTask, FileDigest, TasksHeader, TaskSort
from evidencebench.data.dataset import Dataset
from evidencebench.errors import DataError
from evidencebench.wording import counted

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
    """Return one task for each of ``n_papers`` papers, all equally likely, as are a paper's aspects or instances."""
    of_paper: dict[str, list[tuple[str, str]]] = {}
    for instance in dataset:
        texts = instance.labels.texts
        aspects = [aspect for aspect in instance.labels.aspects if texts.get(aspect, "").strip()]
        if sort == "hypotheses":
            aspects = [""]  # none is asked about
        if aspects and (sort != "sentences" or instance.query.sentences):
            of_paper.setdefault(instance.query.paper_id, []).extend((instance.id, aspect) for aspect in aspects)
    if not of_paper and n_papers:
        raise DataError(
            f"{dataset.path}: expected a data set with the texts of its aspects, which people are asked about, got "
            "none; the original data has none, but --sort hypotheses works for it"
        )
    if len(of_paper) < n_papers:
        with_what = "" if sort == "hypotheses" else " with the text of an aspect"
        raise DataError(
            f"{dataset.path}: expected {counted(n_papers, 'paper')}{with_what}, got {len(of_paper):,}; draw fewer"
        )
    random = Random(seed)  # noqa: S311 - a sample, not a secret
    chosen = [random.choice(sorted(of_paper[paper])) for paper in random.sample(sorted(of_paper), n_papers)]
    tasks, n_positives = [], 0
    for number, (instance_id, aspect) in enumerate(chosen, 1):
        query, labels = dataset[instance_id].query, dataset[instance_id].labels
        n_positives += len(set(labels.sources.get(aspect, ())))
        key = (query.paper_id, query.hypothesis, tuple(labels.texts.get(name, "") for name in labels.aspects))
        summary = summaries.get(key, "") if summaries else ""
        if summaries and not summary:
            raise DataError(
                f"{instance_id}: none of the drafts is of this instance, so that people could not see its summary; "
                "give the drafts that the data set was assembled from"
            )
        task = AnnotationTask(
            id=f"task_{number:0{len(str(n_papers))}}",
            instance_id=instance_id,
            paper_id=query.paper_id,
            hypothesis=query.hypothesis,
            aspect_id=aspect,
            aspect=labels.texts.get(aspect, "") if aspect else "",
            summary=summary,
            sentences=() if sort == "aspects" else query.sentences,
            kinds=() if sort == "aspects" else query.kinds,
        )
        tasks.append(task)
    criteria = tuple(one for one in CRITERIA.get(sort, ()) if summaries or one.name != "faithful")
    data = FileDigest(name=dataset.name, sha256=dataset.sha256)
    return DrawnTasks(
        header=TasksHeader(sort=sort, seed=seed, data=data, criteria=criteria),
        tasks=tuple(tasks),
        n_papers=len(of_paper),
        n_pairs=sum(len(task.sentences) for task in tasks) if sort == "sentences" else 0,
        n_positives=n_positives if sort == "sentences" else None,
    )


def summaries_in(path: Path) -> dict[SummaryKey, str]:
    return {
        (draft.paper_id, draft.hypothesis, draft.aspects): draft.summary
        for draft in open_drafts(path).drafts()
        if draft.summary
    }
