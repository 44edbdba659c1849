"""The work of a cross-validation, cut into cells: one model each, which answers papers that it has not seen.

Each finished cell is a line of a journal, so that an interrupted cross-validation goes on where it stopped.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from evidencebench.data.dataset import Dataset, reopen_dataset
from evidencebench.data.instance import Instance
from evidencebench.data.source import DataFile
from evidencebench.data.tasks import Task, task_named
from evidencebench.engine.processes import engine_of
from evidencebench.errors import AnswerError, RunFormatError, RunMismatchError
from evidencebench.execution.ask import answers_from
from evidencebench.execution.system_table import make_system, module_of
from evidencebench.models.embedding.folder import library_versions
from evidencebench.provenance import differences, merged_versions, versions_of_code
from evidencebench.runs.run_file import Answer, Failure
from evidencebench.scoring.evaluate import AnswerSource
from evidencebench.scoring.selection import check_answer
from evidencebench.storage.journal import open_journal
from evidencebench.storage.json_lines import lines_of
from evidencebench.system import NamedSystem, Ranking
from evidencebench.systems.derangement import derange_hypotheses
from evidencebench.training.folding import paper_folds, parted
from evidencebench.training.trainings import Trainable, trainable
from evidencebench.version import __version__

Progress = Callable[[int, int], None]

_BEGINS = b'{"evidencebench_crossval":'


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What decides the answers of a cross-validation.

    Attributes
    ----------
    systems
        Specifications; those that name a training are trained in every fold.
    data
        sha256 of the data file.
    tasks
        Names.
    n_folds
        How many parts the papers are cut into.
    seeds
        One for each time that this is done, each time otherwise.
    with_blind
        Whether systems that can be trained without the hypothesis are trained so too.
    versions
        What else decides the answers, as far as it is known before anything is trained.
    """

    systems: tuple[str, ...]
    data: str
    tasks: tuple[str, ...]
    n_folds: int
    seeds: tuple[int, ...]
    with_blind: bool
    versions: dict[str, str] = {}
    evidencebench: str = __version__


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One model, or one system that needs none: which papers it answers, and how it is made.

    Attributes
    ----------
    systems
        Specifications of what answers with the model; several where they differ only in how they use it.
    seed
        Of folds, training and the swap of hypotheses.
    fold
        Which fold it answers; None: it is not trained, and answers all.
    blind
        Whether it is trained and asked without the hypothesis.
    """

    systems: tuple[str, ...]
    seed: int
    fold: int | None = None
    blind: bool = False


class Picked(msgspec.Struct, frozen=True, omit_defaults=True):
    """What counts of an answer: the first sentences of an ordered one, as many as the budget, or a whole set."""

    sentences: tuple[int, ...] = ()
    ordered: bool = True
    error: str | None = None

    @property
    def answer(self) -> Answer:
        """The answer, or the failure in its place."""
        return (
            Ranking(sentences=self.sentences, ordered=self.ordered) if self.error is None else Failure(error=self.error)
        )


Picks = dict[str, dict[str, Picked]]
"""Instance id -> task name -> what was picked."""


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """A cell's answers, by system.

    Attributes
    ----------
    cell
        What was asked.
    fit_seconds
        Time to train the model; 0 where there is none.
    answer_seconds
        System -> instance id -> time to answer all tasks.
    own, wrong
        System -> its picks, each paper asked with its own hypothesis, or with none in a blind cell, and with another's.
    """

    cell: Cell
    fit_seconds: float
    answer_seconds: dict[str, dict[str, float]]
    own: dict[str, Picks]
    wrong: dict[str, Picks]

    def n_failed(self, system: str) -> int:
        """Return how many answers of a system failed."""
        picks = (*self.own[system].values(), *self.wrong[system].values())
        return sum(picked.error is not None for by_task in picks for picked in by_task.values())


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    evidencebench_crossval: int = 1
    plan: Plan


def cells_of(plan: Plan) -> Iterator[Cell]:
    """Yield the cells of a plan, seed by seed; systems that are trained alike share theirs."""
    together: dict[object, list[str]] = {}
    trainings: dict[str, Trainable | None] = {system: trainable(system) for system in plan.systems}
    for system, found in trainings.items():
        together.setdefault(system if found is None else (found.name, found.training), []).append(system)
    for seed in plan.seeds:
        for systems in map(tuple, together.values()):
            found = trainings[systems[0]]
            if found is None:
                yield Cell(systems=systems, seed=seed)
                continue
            for fold in range(plan.n_folds):
                yield Cell(systems=systems, seed=seed, fold=fold)
                if plan.with_blind and found.blind is not None:
                    yield Cell(systems=systems, seed=seed, fold=fold, blind=True)


def finished_cells(
    plan: Plan,
    dataset: Dataset,
    path: Path,
    *,
    jobs: int,
    overwrite: bool,
    ask: Callable[[Sequence[Cell]], Iterator[Finished]],
    report: Progress | None,
) -> list[Finished]:
    """Return every cell of a plan, those that the journal lacks worked off and appended to it first.

    Cells that wait for a server come first, since they may be stopped at once by what only it can say; ``ask`` finishes
    them in this process.

    Raises
    ------
    RunMismatchError
        If the journal was begun as another cross-validation.
    RunFormatError
        If a line of it is damaged.
    """
    with open_journal(path, _BEGINS, truncate=overwrite) as journal:
        journal.begin(msgspec.json.encode(_Header(plan=plan)))
        finished = {one.cell: one for one in _read(path, plan)}
        cells = list(cells_of(plan))

        def keep(one: Finished) -> None:
            journal.append(msgspec.json.encode(one))
            finished[one.cell] = one
            if report is not None:
                report(len(finished), len(cells))

        todo = [cell for cell in cells if cell not in finished]
        waiting = [cell for cell in todo if waits(cell)]
        for one in ask(waiting):
            keep(one)
        todo = [cell for cell in todo if cell not in waiting]
        for one in engine_of(min(jobs, len(todo))).results(_cell_worker, (dataset.file, plan), todo):
            keep(one)
    return [finished[cell] for cell in cells]


def waits(cell: Cell) -> bool:
    """Say whether a cell's system waits for a server, such as a language model's."""
    return cell.fold is None and any(make_system(system).waits for system in cell.systems)


def _read(path: Path, plan: Plan) -> Iterator[Finished]:
    """Yield the cells of a journal that was begun for this plan."""
    for number, _, line, _ in lines_of(path.read_bytes()):
        try:
            if number > 1:
                yield msgspec.json.decode(line, type=Finished)
            else:
                _require_same(path, msgspec.json.decode(line, type=_Header).plan, plan)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RunFormatError(f"{path}: line {number}: {error}; start over with --overwrite") from error


def _require_same(path: Path, begun: Plan, plan: Plan) -> None:
    fields = [name for name in plan.__struct_fields__ if name != "versions"]
    before, after = ({name: getattr(one, name) for name in fields} for one in (begun, plan))
    differing = (differences(before, after), differences(begun.versions, plan.versions))
    if any(differing):
        raise RunMismatchError(
            f"{path}: begun as another cross-validation: {'; '.join(filter(None, differing))}; choose another file, or "
            "start over with --overwrite"
        )


def source_of(parts: Sequence[Picks]) -> AnswerSource:
    """Return the answers in picks as a source for `evaluate`."""
    picks = {instance_id: by_task for part in parts for instance_id, by_task in part.items()}

    def answer(instance: Instance, task: Task) -> Answer | None:
        found = picks.get(instance.id, {}).get(task.name)
        return None if found is None else found.answer

    return answer


def versions_before_training(systems: Sequence[str]) -> dict[str, str]:
    """Return the versions that decide the answers of systems, as far as they are known before any is trained.

    Of what is trained these are libraries, and the digests of own code that trains and that answers.

    Raises
    ------
    SystemSpecError
        If a system or an option does not fit.
    """
    return merged_versions(*map(_versions_of, systems))


def _versions_of(system: str) -> dict[str, str]:
    found = trainable(system)
    if found is None:
        return make_system(system).versions()
    libraries = library_versions("numpy", "lightgbm", "torch", "onnxruntime", "sentence-transformers")
    code_of_training = versions_of_code(found.name, sys.modules[type(found.training).__module__])
    return {**libraries, **code_of_training, **versions_of_code(found.system, module_of(found.system))}


def _cell_worker(data: DataFile, plan: Plan) -> Callable[[Cell], Finished]:
    dataset = reopen_dataset(data)
    if differing := differences(plan.versions, versions_before_training(plan.systems)):
        raise RunMismatchError(f"what decides the answers has changed since the work began: {differing}; start again")
    instances = list(dataset)
    tasks = tuple(map(task_named, plan.tasks))

    def work(cell: Cell) -> Finished:
        wrong = derange_hypotheses(dataset.queries(), np.random.default_rng(cell.seed))
        if cell.fold is None:
            systems = {spec: make_system(spec, seed=cell.seed) for spec in cell.systems}
            return _answered(cell, systems, instances, wrong, tasks)
        papers = [instance.query.paper_id for instance in instances]
        fold = paper_folds(papers, plan.n_folds, np.random.default_rng(cell.seed))[cell.fold]
        seen, asked = parted(instances, fold)
        with tempfile.TemporaryDirectory() as scratch:
            model = Path(scratch) / "model"
            fit_seconds = _train(cell, seen, model)
            systems = {
                spec: make_system(_trainable(spec).specification(model), seed=cell.seed) for spec in cell.systems
            }
            return msgspec.structs.replace(_answered(cell, systems, asked, wrong, tasks), fit_seconds=fit_seconds)

    return work


def _trainable(spec: str) -> Trainable:
    found = trainable(spec)
    if found is None:
        raise TypeError(f"expected a training, got '{spec}'")
    return found


def _train(cell: Cell, seen: Sequence[Instance], folder: Path) -> float:
    """Train a cell's model into a folder, and return how many seconds that took."""
    found = _trainable(cell.systems[0])
    trained = found.blind if cell.blind and found.blind is not None else found
    started = time.perf_counter()
    trained.quick.training.fit(seen, folder, seed=cell.seed)
    return time.perf_counter() - started


def _answered(
    cell: Cell,
    systems: Mapping[str, NamedSystem],
    asked: Sequence[Instance],
    wrong: Mapping[str, str],
    tasks: Sequence[Task],
) -> Finished:
    """Ask systems; blind ones are shown no hypothesis, whatever their options are."""
    seconds: dict[str, dict[str, float]] = {}
    own: dict[str, Picks] = {}
    swapped: dict[str, Picks] = {}
    for spec, system in systems.items():
        own[spec], seconds[spec] = _ask(system, asked, tasks, dict.fromkeys(wrong, "") if cell.blind else None)
        swapped[spec] = {} if cell.blind else _ask(system, asked, tasks, wrong)[0]
    return Finished(cell=cell, fit_seconds=0.0, answer_seconds=seconds, own=own, wrong=swapped)


def _ask(
    system: NamedSystem, asked: Sequence[Instance], tasks: Sequence[Task], hypotheses: Mapping[str, str] | None
) -> tuple[Picks, dict[str, float]]:
    """Return what counts of the answers, and the seconds that each instance took."""
    source = answers_from(system, hypotheses)
    picks: Picks = {}
    seconds: dict[str, float] = {}
    for instance in asked:
        started = time.perf_counter()
        applicable = [task for task in tasks if task.applies_to(instance.labels)]
        picks[instance.id] = {task.name: picked(source(instance, task), instance, task) for task in applicable}
        seconds[instance.id] = time.perf_counter() - started
    return picks, seconds


def picked(answer: Answer, instance: Instance, task: Task) -> Picked:
    """Return what counts of an answer; one that names a sentence which does not exist has failed."""
    try:
        checked = check_answer(answer, len(instance.query.sentences))
    except AnswerError as error:
        return Picked(error=str(error))
    if checked.error is not None:
        return Picked(error=checked.error)
    if not checked.ranking.ordered:
        return Picked(checked.ranking.sentences, ordered=False)
    return Picked(checked.selection(task.budget_for(instance)).certain)
