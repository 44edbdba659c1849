"""A data set and runs as a folder of TREC files: topics, diversity qrels of each scope, runs."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

import msgspec

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task, task_named
from evidencebench.errors import AnswerError, DataError
from evidencebench.execution.fitting import check_answers, check_belongs
from evidencebench.integrations.trec.document_names import docno, one_word
from evidencebench.integrations.trec.qrels import qrels_lines
from evidencebench.integrations.trec.run_scores import scored
from evidencebench.query import AspectScope
from evidencebench.runs.run_file import RunFile
from evidencebench.scoring.selection import check_answer
from evidencebench.storage.whole_file import Output, whole_file, write_whole
from evidencebench.storage.whole_folder import whole_folder
from evidencebench.version import __version__

MARKER = "evidencebench.json"
"""The file of such a folder that says what it was made of, and by which it is told from other folders."""

_SCOPES: tuple[AspectScope, ...] = get_args(AspectScope)


@dataclass(kw_only=True)
class WrittenRun:
    """What was written of a run, and what a TREC file cannot hold."""

    system: str  # as its signature has it
    task: str | None  # whose answers, where there are others for each task
    is_cut: bool  # to the task's budget
    n_answers: int = 0
    n_without: int = 0  # answers that failed or select nothing: they have no line
    n_sets: int = 0  # answers without an order, written in the order in which they name sentences
    n_cut_sets: int = 0  # of which a budget took the first


@dataclass(frozen=True, kw_only=True)
class TrecReport:
    """What a folder holds: ``qrels`` maps its files to their numbers of lines, ``runs`` its files to what they hold."""

    evidencebench: str = __version__
    data: str
    data_sha256: str
    n_topics: int
    qrels: dict[str, int] = field(default_factory=dict)
    runs: dict[str, WrittenRun] = field(default_factory=dict)


@dataclass(kw_only=True)
class _RunLines:
    """The lines of one file of a run."""

    run: RunFile
    task: Task | None  # whose answers
    cut_to: Task | None  # whose budget counts; None: all of an answer is written
    tag: str
    written: WrittenRun

    def lines(self, instance: Instance) -> Iterator[str]:
        answer = self.run.answer(instance.id, None if self.task is None else self.task.name)
        if answer is None or (self.cut_to is not None and not self.cut_to.applies_to(instance.labels)):
            return
        try:
            checked = check_answer(answer, len(instance.query.sentences)).ranking
        except AnswerError as error:
            raise AnswerError(f"{self.run.path}: {instance.id}: {error}; mend the answer, or take it out") from error
        sentences = checked.sentences
        self.written.n_answers += 1
        self.written.n_without += not sentences
        self.written.n_sets += bool(sentences) and not checked.ordered
        if self.cut_to is not None:
            budget = self.cut_to.budget_for(instance)
            self.written.n_cut_sets += budget is not None and len(sentences) > budget and not checked.ordered
            sentences = sentences[:budget]
        for rank, (index, score) in enumerate(scored(sentences), 1):
            yield f"{instance.id} Q0 {docno(instance.id, index)} {rank} {score:.0f} {self.tag}\n"


def write_trec(
    folder: Path,
    dataset: Dataset,
    runs: Sequence[RunFile] = (),
    tasks: Sequence[Task] = (),
    *,
    overwrite: bool = False,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> TrecReport:
    """Write a data set and runs into a folder, whole or not at all.

    With tasks, a run has a file for each of them, cut to the budget, so that a cut-off of the tools that is no smaller
    counts what the task counts; else one file with all of its answers, or one a task where these differ by task.
    """
    for run in runs:
        check_belongs(run, dataset)
        for task in tasks:
            check_answers(run, task, dataset)
    files = _run_files(runs, tasks)
    n_lines: dict[str, int] = {}
    with whole_folder(folder, marker=MARKER, overwrite=overwrite) as (made, _), ExitStack() as opened:
        if runs:
            (made / "runs").mkdir()

        def append(name: str, lines: Iterator[str]) -> None:
            if name not in outputs:
                outputs[name] = opened.enter_context(whole_file(made / name))
            for line in lines:
                outputs[name].write(line.encode())
                n_lines[name] = n_lines.get(name, 0) + 1

        outputs: dict[str, Output] = {}
        for n_done, instance in enumerate(dataset, 1):
            append("topics.tsv", iter([f"{one_word(instance.id)}\t{' '.join(instance.query.hypothesis.split())}\n"]))
            for scope in _SCOPES:
                append(f"qrels.{scope}.txt", qrels_lines(instance, scope))
            for name, file in files.items():
                append(name, file.lines(instance))
            on_progress(n_done, len(dataset))
        report = TrecReport(
            data=dataset.name,
            data_sha256=dataset.sha256,
            n_topics=len(dataset),
            qrels={name: n_lines.get(name, 0) for name in (f"qrels.{scope}.txt" for scope in _SCOPES)},
            runs={name: file.written for name, file in files.items()},
        )
        write_whole(made / MARKER, msgspec.json.format(msgspec.json.encode(report), indent=2))
    return report


def _run_files(runs: Sequence[RunFile], tasks: Sequence[Task]) -> dict[str, _RunLines]:
    files: dict[str, _RunLines] = {}
    for run in runs:
        differ = run.header is not None and run.header.per_task
        own = [task_named(name) for name in run.header.tasks] if run.header is not None and differ else [None]
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", run.path.name.removesuffix(".jsonl").removesuffix(".json")) or "run"
        for task in tasks or own:
            file = f"runs/{name}.{task.name}.run" if task is not None else f"runs/{name}.run"
            if file in files:
                raise DataError(f"{run.path}: another run would be written as '{file}' too; rename one of the two")
            files[file] = _RunLines(
                run=run,
                task=task,
                cut_to=task if tasks else None,
                tag=name,
                written=WrittenRun(system=run.signature, task=None if task is None else task.name, is_cut=bool(tasks)),
            )
    return files
