"""Tasks and answers of people, made by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evidencebench.construction.people.answers import Annotations, TaskAnnotation
from evidencebench.construction.people.marks import Marks, collect_marks
from evidencebench.construction.people.tasks import (
    AnnotationTask,
    FileDigest,
    TasksFile,
    TasksHeader,
    TaskSort,
    read_tasks,
    write_tasks,
)
from evidencebench.data.dataset import Dataset, open_dataset, write_dataset
from evidencebench.data.instance import Instance
from evidencebench.query import Kind
from labelled_papers import paper

Answers = Mapping[str, Sequence[Sequence[int] | None]]
"""Rater -> of each task the marked sentences, or None where the task is not done."""


def marked_papers(n_papers: int, n_sentences: int = 8) -> list[Instance]:
    """Return papers with texts of aspects; sentence 2 and 5 are sources of an aspect each."""
    papers = [paper(number, text="reports") for number in range(1, n_papers + 1)]
    if n_sentences == len(papers[0].query.sentences):
        return papers
    texts = tuple(f"sentence {number}" for number in range(n_sentences))
    kinds = tuple((Kind.ABSTRACT, Kind.HEADING, Kind.BODY)[number % 3] for number in range(n_sentences))
    return [replace(one, query=replace(one.query, sentences=texts, kinds=kinds)) for one in papers]


@dataclass(frozen=True, kw_only=True)
class Study:
    """Papers as a data set, and tasks on their first aspect, in their order."""

    dataset: Dataset
    tasks: TasksFile

    def annotations(self, answers: Answers) -> Annotations:
        """Return what people said."""
        return Annotations(
            by_annotator={
                name: {
                    task.id: TaskAnnotation(task=task.id, sentences=tuple(sorted(marked)), is_done=True)
                    for task, marked in zip(self.tasks.records, given, strict=True)
                    if marked is not None
                }
                for name, given in answers.items()
            }
        )

    def marks(self, answers: Answers, *, with_model: bool = True) -> Marks:
        """Return the marks of people, and of the labels."""
        return collect_marks(self.tasks, self.annotations(answers), dataset=self.dataset if with_model else None)


def study_at(folder: Path, papers: Sequence[Instance], sort: TaskSort = "sentences") -> Study:
    """Write papers and tasks into a folder."""
    write_dataset(folder / "papers.json", papers)
    dataset = open_dataset(folder / "papers.json")
    header = TasksHeader(sort=sort, seed=0, data=FileDigest(name=dataset.name, sha256=dataset.sha256))
    tasks = [
        AnnotationTask(
            id=f"task_{number}",
            instance_id=one.id,
            paper_id=one.query.paper_id,
            hypothesis=one.query.hypothesis,
            aspect_id=one.labels.aspects[0],
            aspect=one.labels.texts[one.labels.aspects[0]],
            sentences=one.query.sentences,
            kinds=one.query.kinds,
        )
        for number, one in enumerate(papers)
    ]
    write_tasks(folder / "tasks.jsonl", header, tasks)
    return Study(dataset=dataset, tasks=read_tasks(folder / "tasks.jsonl"))
