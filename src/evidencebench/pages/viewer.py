"""What the viewer and the report show: a data set with its systems, a record for each instance."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from math import isnan
from pathlib import Path

import msgspec

from evidencebench.data.branch_and_bound import bits
from evidencebench.data.cover import Coverage, coverage_of
from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import TASKS, Task
from evidencebench.errors import AnswerError, RunMismatchError
from evidencebench.execution.answers import answers_from
from evidencebench.files.disk import PathText
from evidencebench.pages.html import beginning_of
from evidencebench.pages.paper import (
    AspectRecord,
    GradedAnswer,
    GradedInstance,
    ListRow,
    Overview,
    RowGrades,
    Status,
    SystemRecord,
    TaskRecord,
    TaskTerms,
    paper_of,
)
from evidencebench.query import Kind
from evidencebench.runs.run import Answer, RunFile
from evidencebench.scoring.breakdowns import pick_letters
from evidencebench.scoring.controls import CONTROLS, knows_labels
from evidencebench.scoring.evaluate import AnswerSource, Case, answers_of, case_of, grade
from evidencebench.scoring.score_runs import common_tasks, open_runs
from evidencebench.scoring.selection import Rules
from evidencebench.scoring.significance import spent_line
from evidencebench.tables import shortened_apart
from evidencebench.version import __version__
from evidencebench.wording import without_folders


def task_title(task: Task) -> str:
    """Return a task in words, such as ``Results aspects, 5 sentences``."""
    scope = "All aspects" if task.scope == "all" else "Results aspects"
    return f"{scope}, {task.words}"


# What a language model was asked for a paper and what it replied, as a page shows it: the records for its script.


class RequestRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One request: what it is, tokens and cost in words, and its messages with the reply, where that is stored."""

    title: str
    facts: str  # says also where messages are left out, since the request before had them too
    texts: tuple[Mapping[str, str], ...]  # each with its ``name`` and ``text``


class AskedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The requests for one answer, in order; ``note`` says what cannot be shown, and why."""

    requests: tuple[RequestRecord, ...] = ()
    note: str = ""


ExchangeSource = Callable[[RunFile, str, Task], AskedRecord]
"""Returns what was asked for the answer of a run to an instance, by its id, on a task."""


# Makes the page records of a data set and its runs, one instance at a time.

SHOWN_CONTROLS = tuple(name for name, control in CONTROLS.items() if control.is_shown_in_papers)

_MOST_READ = 20  # so many answers of a run tell whether it asks a language model
# The most instances whose labels are read to tell a run that lacks answers from one that was not asked for them.
_MOST_LOOKED_UP = 1_000
_MOST_ERROR_CHARACTERS = 2_000  # a record repeats an error for each task, and a provider's may fill a page


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSystem:
    record: SystemRecord
    source: AnswerSource
    rules: Rules
    selects: bool = True  # False: it ranks all sentences, so it cannot answer a task without a budget
    run: RunFile | None = None  # where it is one

    def answer(self, case: Case | None, task: Task) -> GradedAnswer | None:
        """Return its graded answer; None where the task does not apply or the system cannot answer it."""
        if case is None or (case.budget is None and not self.selects):
            return None
        if self.record.knows_labels and not case.instance.labels.aspects:
            return None
        return graded_answer(case, self.source(case.instance, task), self.rules)

    def answer_in_list(self, case: Case | None, task: Task) -> GradedAnswer | None:
        """Return its graded answer, of the oracle without its sentences: computing them would take long."""
        if case is not None and self.record.is_oracle and not isnan(case.ceiling):
            return GradedAnswer(status="answered", recall=case.ceiling)  # by definition
        return self.answer(case, task)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewerData:
    """A data set with the tasks and systems that are shown; records refer to them by their positions here."""

    title: str
    dataset: Dataset
    tasks: tuple[Task, ...]
    systems: tuple[ShownSystem, ...]
    best: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # task -> the runs, the best first, where known
    exchanges: ExchangeSource | None = None  # None: what language models were asked is not shown

    def overview(self) -> Overview:
        records: dict[str, SystemRecord] = {}
        for shown in self.systems:
            # Labels stand in addresses and head columns, so they are distinct: a control may have that of a run.
            label = shown.record.label
            while label in records:
                label += " (baseline)"
            records[label] = msgspec.structs.replace(shown.record, label=label)
        short = shortened_apart(records)
        return Overview(
            title=self.title,
            data=self.dataset.name,
            n_instances=len(self.dataset),
            tasks=tuple(
                TaskRecord(
                    name=task.name,
                    scope=task.scope,
                    budget=task.budget,
                    title=task_title(task),
                    best=self.best.get(task.name, ()),
                )
                for task in self.tasks
            ),
            systems=tuple(msgspec.structs.replace(one, shown=short[label]) for label, one in records.items()),
            version=__version__,
            has_exchanges=self.exchanges is not None,
        )

    def row(self, position: int, instance: Instance, grades: RowGrades | None = None) -> ListRow:
        """Return the row of an instance in the list; where ``grades`` is None, its answers are graded for it."""
        if grades is None:
            cases = self._cases(instance)
            answers = (tuple(shown.answer_in_list(case, task) for task, case in cases) for shown in self.systems)
            coverages = [None if case is None else case.coverage for _, case in cases]
            grades = self._grades(coverages, tuple(answers))
        labels = instance.labels
        return ListRow(
            position=position,
            id=instance.id,
            paper_id=instance.query.paper_id,
            hypothesis=instance.query.hypothesis,
            n_sentences=len(instance.query.sentences),
            n_aspects=len(labels.aspects) or None,
            n_results=len(labels.results) if labels.aspects else None,
            **msgspec.structs.asdict(grades),
        )

    def grades_of(self, instance: Instance, record: GradedInstance) -> RowGrades:
        """Return the grades of a record for the list, so that no answer is graded twice."""
        coverages = {scope: coverage_of(instance.labels, scope) for scope in {task.scope for task in self.tasks}}
        asked = zip(self.tasks, record.terms, strict=True)
        return self._grades([None if term is None else coverages[task.scope] for task, term in asked], record.answers)

    def record(
        self,
        position: int,
        instance: Instance,
        known: Callable[[str, int, Task], GradedAnswer | None] = lambda *_: None,
    ) -> GradedInstance:
        """Return an instance with its labels; ``known`` gives those of its answers that need not be graded here."""
        cases, labels = self._cases(instance), instance.labels
        headings = frozenset(instance.query.indices_of(Kind.HEADING))

        def answer(system: int, task: Task, case: Case | None) -> GradedAnswer | None:
            found = known(instance.id, system, task) or self.systems[system].answer(case, task)
            if case is None or found is None:
                return found
            picks = pick_letters(found.certain, found.tied, case.coverage, headings)
            return msgspec.structs.replace(found, picks=picks)

        answers = (tuple(answer(system, *asked) for asked in cases) for system in range(len(self.systems)))
        results = frozenset(labels.results)
        aspects = tuple(
            AspectRecord(
                id=aspect,
                text=labels.texts.get(aspect),
                is_result=aspect in results,
                sentences=tuple(sorted(set(labels.sources.get(aspect, ())))),
            )
            for aspect in labels.aspects
        )
        spent = {
            place: tuple(
                "" if answer is None else spent_line(answer.notes)
                for answer in (shown.run.answer(instance.id, task.name) for task in self.tasks)
            )
            for place, shown in enumerate(self.systems)
            if shown.run is not None and shown.record.asks_model
        }
        return GradedInstance(
            paper=paper_of(position, instance.query),
            review_id=labels.review_id,
            aspects=aspects,
            terms=tuple(None if case is None else _terms_of(case) for _, case in cases),
            answers=tuple(answers),
            spent=spent,
        )

    def asked(self, instance_id: str, system: int, task: int) -> AskedRecord:
        shown = self.systems[system]
        if shown.run is None or not shown.record.asks_model or self.exchanges is None:
            return AskedRecord(note="This system uses no language model, or its requests cannot be shown.")
        return self.exchanges(shown.run, instance_id, self.tasks[task])

    def _cases(self, instance: Instance) -> list[tuple[Task, Case | None]]:
        return [(task, shown_case(instance, task)) for task in self.tasks]

    def _grades(
        self, coverages: Sequence[Coverage | None], answers: Sequence[Sequence[GradedAnswer | None]]
    ) -> RowGrades:
        def counts(coverage: Coverage | None, of_task: Sequence[GradedAnswer | None]) -> tuple[int, ...]:
            if coverage is None:
                return ()
            counting = (
                one for one, shown in zip(of_task, self.systems, strict=True) if one and shown.record.is_counted
            )
            masks = [coverage.mask_of((*answer.certain, *answer.tied)) for answer in counting]
            n_finding = Counter(sum(1 for mask in masks if mask & bit) for bit in bits(coverage.coverable))
            return tuple(n_finding[n] for n in range(max(n_finding, default=-1) + 1))

        by_task = list(zip(*answers, strict=True))
        return RowGrades(
            recalls=tuple(tuple(None if one is None else one.recall for one in of_system) for of_system in answers),
            unanswered=tuple(
                {position: one.status for position, one in enumerate(of_task) if one and one.status != "answered"}
                for of_task in by_task
            ),
            found=tuple(map(counts, coverages, by_task)),
        )


def viewer_data_of(
    paths: Sequence[Path],
    dataset: Dataset,
    tasks: Sequence[Task] = (),
    *,
    rules: Rules | None = None,
    title: str = "",
    names: Mapping[PathText, str] | None = None,
    exchanges: ExchangeSource | None = None,
) -> ViewerData:
    """Return runs with the controls after them, which are read by the default rules; raises as `score_runs` does.

    Empty ``tasks``: all tasks that every run can answer, or without runs all tasks with a budget.
    """
    runs = open_runs(paths, dataset, tasks, names)
    for run in runs.values():
        if run.header is not None and run.header.answers_two_papers:
            raise RunMismatchError(
                f"{run.path}: answers queries of two papers, and this page shows one; 'score' and 'report' take it"
            )
    budgeted = tuple(task for task in TASKS.values() if task.budget is not None)
    asked = tuple(tasks) or (common_tasks(list(runs.values()), dataset) if runs else budgeted)
    if not tasks and len(dataset) and not dataset[0].labels.aspects:  # without labels, only fixed budgets are known
        asked = tuple(sorted(asked, key=lambda task: (task.budget == "optimal", task.scope)))
    systems = shown_systems(runs, dataset, asked, rules or Rules())
    return ViewerData(title=title or dataset.name, dataset=dataset, tasks=asked, systems=systems, exchanges=exchanges)


def shown_systems(
    runs: Mapping[str, RunFile],
    dataset: Dataset,
    tasks: Sequence[Task],
    rules: Rules,
    replaced: Collection[str] | None = None,
) -> tuple[ShownSystem, ...]:
    """Return runs, then controls, but for those that runs stand for: ``replaced``, or all that are also among them."""
    shown = [_shown_run(label, run, rules, _unfinished(run, dataset, tasks)) for label, run in runs.items()]
    own = {run.header.system.name for run in runs.values() if run.header is not None and run.header.control is None}
    for name in SHOWN_CONTROLS:
        system = CONTROLS[name].named
        if name in (own if replaced is None else replaced) and not system.knows_labels:
            continue
        record = SystemRecord(
            label=name,
            signature=name,
            is_control=True,
            knows_labels=system.knows_labels,
            is_counted=not system.knows_labels and name not in own,
        )
        source = answers_from(system)
        shown.append(ShownSystem(record=record, source=source, rules=Rules(), selects=system.selects))
    return tuple(shown)


def _unfinished(run: RunFile, dataset: Dataset, tasks: Sequence[Task]) -> str:
    ids = [instance_id for instance_id in run.asked(dataset.whole.ids) if instance_id in dataset]
    answered = run.ids
    lacking = [instance_id for instance_id in ids if instance_id not in answered]
    is_part = run.header is not None and run.header.per_task  # it was asked only where a task applies
    if is_part and len(lacking) <= _MOST_LOOKED_UP:
        applying = [key for key in lacking if any(task.applies_to(dataset[key].labels) for task in tasks)]
        ids, lacking = ids[len(lacking) - len(applying) :], applying
    return f"{len(ids) - len(lacking):,} of {len(ids):,}" if lacking else ""


def _shown_run(label: str, run: RunFile, rules: Rules, unfinished: str) -> ShownSystem:
    knows, is_changed = knows_labels(run), run.header is not None and run.header.control is not None
    first = (run.answer(*key) for key in nsmallest(_MOST_READ, run.done, key=str))
    record = SystemRecord(
        label=label,
        signature=without_folders(run.signature),
        knows_labels=knows,
        unfinished=unfinished,
        asks_model=any(answer is not None and "requests" in answer.notes for answer in first),
        is_counted=not knows and not is_changed,
    )
    return ShownSystem(record=record, source=answers_of(run), rules=rules, run=run)


def shown_case(instance: Instance, task: Task) -> Case | None:
    """Return the case of an instance on a task, as `case_of`; where the budget is fixed, also of one without labels."""
    if instance.labels.aspects or task.asks_labels:
        return case_of(instance, task)
    coverage = coverage_of(instance.labels, task.scope)
    return Case(instance=instance, coverage=coverage, budget=task.budget_for(instance), ceiling=float("nan"))


def graded_answer(case: Case, answer: Answer | None, rules: Rules) -> GradedAnswer:
    """Return the sentences of an answer that count, with its recall; the grade is the same as by `evaluate`."""

    def without_sentences(status: Status, error: str) -> GradedAnswer:
        return GradedAnswer(status=status, error=beginning_of(without_folders(error), _MOST_ERROR_CHARACTERS))

    try:
        graded = grade(case, answer, rules)
    except AnswerError as error:
        return without_sentences("invalid", str(error))
    if graded.checked.is_missing:
        return GradedAnswer(status="missing")
    if graded.checked.error is not None:
        return without_sentences("failed", graded.checked.error)
    selection = graded.selection
    return GradedAnswer(
        status="answered" if selection.size else "empty",
        certain=selection.certain,
        tied=selection.tied,
        n_drawn=selection.n_drawn,
        recall=graded.recall if case.coverage.n_aspects else None,
    )


def _terms_of(case: Case) -> TaskTerms:
    ceiling = None if isnan(case.ceiling) else case.ceiling
    return TaskTerms(budget=case.budget, n_aspects=case.coverage.n_aspects, ceiling=ceiling)
