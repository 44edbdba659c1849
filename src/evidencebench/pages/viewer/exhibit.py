"""What is shown of a data set and its runs, an instance at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import TASKS, Task
from evidencebench.errors import AnswerError
from evidencebench.execution.ask import answers_from
from evidencebench.pages.viewer.records import (
    AspectRecord,
    InstanceRecord,
    Judged,
    Overview,
    PaperRecord,
    Recalls,
    Row,
    SystemRecord,
    TaskRecord,
    Terms,
)
from evidencebench.query import Kind, Query
from evidencebench.runs.run_file import Answer, Failure, RunFile
from evidencebench.scoring.evaluation import AnswerSource, Case, Rules, answers_of, case_of
from evidencebench.scoring.graded_runs import CONTROLS, common_tasks, control_named, open_runs
from evidencebench.scoring.measures import aspect_recall
from evidencebench.scoring.selection import check_answer, select
from evidencebench.system import KNOWING_SYSTEMS
from evidencebench.version import __version__

SHOWN_CONTROLS = tuple(name for name in CONTROLS if name != "random")
"""The controls shown in a paper; random selects every sentence a little, which nobody can look at."""

_MOST_OF_AN_ERROR = 2_000
_LETTERS = {Kind.HEADING: "h", Kind.ABSTRACT: "a", Kind.BODY: "b"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A system that is shown: what it is called, and where its answers come from.

    Attributes
    ----------
    record
        Its names.
    source
        Its answer to an instance under a task.
    selects
        Whether its answers end by themselves, so that a task without a budget can be answered.
    """

    record: SystemRecord
    source: AnswerSource
    selects: bool = True

    @property
    def is_oracle(self) -> bool:
        """Whether it is the control that covers as much as can be."""
        return self.record.is_control and self.record.label == "oracle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """A data set with the tasks and systems that are shown on it.

    Attributes
    ----------
    title
        Of the page.
    dataset
        What is shown.
    tasks, systems
        On what, and whose answers; their positions are their names in every record.
    rules
        How answers of runs that do not fit the budget are read; controls are read by the defaults.
    """

    title: str
    dataset: Dataset
    tasks: tuple[Task, ...]
    systems: tuple[Shown, ...]
    rules: Rules

    def overview(self) -> Overview:
        """Return what the page must know before it shows anything."""
        return Overview(
            title=self.title,
            data=self.dataset.name,
            n_instances=len(self.dataset),
            tasks=tuple(TaskRecord(name=task.name, scope=task.scope, budget=task.budget) for task in self.tasks),
            systems=tuple(shown.record for shown in self.systems),
            version=__version__,
        )

    def row(self, position: int, instance: Instance, recalls: Recalls | None = None) -> Row:
        """Return an instance as it stands in the list, graded unless its recalls are known already."""
        return Row(
            position=position,
            id=instance.id,
            paper_id=instance.query.paper_id,
            hypothesis=instance.query.hypothesis,
            n_sentences=len(instance.query.sentences),
            n_aspects=len(instance.labels.aspects),
            n_results=len(instance.labels.results),
            recalls=self._recalls(instance) if recalls is None else recalls,
        )

    def record(self, position: int, instance: Instance) -> InstanceRecord:
        """Return all that is shown of an instance."""
        labels, cases = instance.labels, self._cases(instance)
        results = frozenset(labels.results)
        return InstanceRecord(
            paper=paper_of(position, instance.query),
            review_id=labels.review_id,
            aspects=tuple(
                AspectRecord(
                    id=aspect,
                    text=labels.texts.get(aspect),
                    is_result=aspect in results,
                    sentences=tuple(sorted(set(labels.sources.get(aspect, ())))),
                )
                for aspect in labels.aspects
            ),
            terms=tuple(None if case is None else _terms(case) for case in cases),
            answers=self._answers(cases),
        )

    def _recalls(self, instance: Instance) -> Recalls:
        cases = self._cases(instance)
        return tuple(
            tuple(self._recall(shown, case, task) for case, task in zip(cases, self.tasks, strict=True))
            for shown in self.systems
        )

    def _recall(self, shown: Shown, case: Case | None, task: Task) -> float | None:
        if case is not None and shown.is_oracle and not isnan(case.ceiling):
            return case.ceiling  # by what the oracle is, which would be solved once more to show it
        judged = self._judged(shown, case, task)
        return None if judged is None else judged.recall

    def _cases(self, instance: Instance) -> tuple[Case | None, ...]:
        return tuple(case_of(instance, task) for task in self.tasks)

    def _answers(self, cases: Sequence[Case | None]) -> tuple[tuple[Judged | None, ...], ...]:
        return tuple(
            tuple(self._judged(shown, case, task) for case, task in zip(cases, self.tasks, strict=True))
            for shown in self.systems
        )

    def _judged(self, shown: Shown, case: Case | None, task: Task) -> Judged | None:
        if case is None or (case.budget is None and not shown.selects):
            return None
        rules = Rules() if shown.record.is_control else self.rules
        return judged(case, shown.source(case.instance, task), rules)


def exhibit_of(
    paths: Sequence[Path],
    dataset: Dataset,
    tasks: Sequence[Task] = (),
    *,
    rules: Rules | None = None,
    title: str = "",
    with_controls: bool = True,
) -> Exhibit:
    """Return what is shown of run files, and of the controls beside them.

    Parameters
    ----------
    paths
        Run files; none shows the controls only.
    dataset
        What they are for.
    tasks
        On what; none: all that every run can answer, or all with a budget where there is no run.
    rules
        How answers of runs that do not fit are read; None: the defaults.
    title
        Of the page; empty: the data's name.
    with_controls
        Whether the controls are shown too.

    Raises
    ------
    RunMismatchError, TaskError
        As `grade` does.
    """
    runs = open_runs(paths, dataset, tasks)
    budgeted = tuple(task for task in TASKS.values() if task.budget is not None)
    asked = tuple(tasks) or (common_tasks(list(runs.values()), dataset) if runs else budgeted)
    systems = [_shown_run(label, run) for label, run in runs.items()]
    if with_controls:
        systems += [_shown_control(name) for name in SHOWN_CONTROLS]
    return Exhibit(
        title=title or dataset.name, dataset=dataset, tasks=asked, systems=tuple(systems), rules=rules or Rules()
    )


def _shown_run(label: str, run: RunFile) -> Shown:
    knows = run.header is not None and run.header.system.name in KNOWING_SYSTEMS
    return Shown(record=SystemRecord(label=label, signature=run.signature, knows_labels=knows), source=answers_of(run))


def _shown_control(name: str) -> Shown:
    system = control_named(name)
    record = SystemRecord(label=name, signature=name, is_control=True, knows_labels=system.knows_labels)
    return Shown(record=record, source=answers_from(system), selects=system.selects)


def paper_of(position: int, query: Query) -> PaperRecord:
    """Return a paper as it is shown to whoever may not see the labels."""
    return PaperRecord(
        position=position,
        id=query.instance_id,
        paper_id=query.paper_id,
        hypothesis=query.hypothesis,
        sentences=query.sentences,
        kinds="".join(_LETTERS[kind] for kind in query.kinds),
    )


def judged(case: Case, answer: Answer | None, rules: Rules) -> Judged:
    """Return what counts of an answer, with its recall: what `evaluate` grades, seen from near."""
    if answer is None:
        return Judged(status="missing")
    if isinstance(answer, Failure):
        return Judged(status="failed", error=_shortened(answer.error))
    try:
        checked = check_answer(answer, len(case.instance.query.sentences), rules.out_of_range)
    except AnswerError as error:
        return Judged(status="invalid", error=_shortened(str(error)))
    selection = select(checked.ranking, case.budget, over_length=rules.over_length, ties=rules.ties)
    return Judged(
        status="answered" if selection.size else "empty",
        certain=selection.certain,
        tied=selection.tied,
        n_drawn=selection.n_drawn,
        recall=aspect_recall(selection, case.coverage),
    )


def _shortened(error: str) -> str:
    """Return an error's beginning, since it is told once a task and system, and a provider's may be a page."""
    return error if len(error) <= _MOST_OF_AN_ERROR else f"{error[: _MOST_OF_AN_ERROR - 1]}…"


def _terms(case: Case) -> Terms:
    ceiling = None if isnan(case.ceiling) else case.ceiling
    return Terms(budget=case.budget, n_aspects=case.coverage.n_aspects, ceiling=ceiling)
