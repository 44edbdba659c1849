"""Derive the four stored evaluations from the labels: for an instance, or for a file, in parallel and resumable."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from evidencebench.data.cover import Cover, Coverage, coverage_of, maximum_coverage, minimum_cover
from evidencebench.data.dataset import Dataset, dataset_from, reopen_dataset, write_dataset
from evidencebench.data.instance import Evaluation, Instance
from evidencebench.data.json_format import EVALUATION_KEYS
from evidencebench.data.sources import DataFile, writer_of
from evidencebench.data.tasks import TASKS, Task
from evidencebench.decoding import prepared
from evidencebench.engine.local import engine_of
from evidencebench.engine.protocol import Engine, results, too_many_errors
from evidencebench.errors import ChangedDataError, EvidenceBenchError
from evidencebench.files.disk import PathText
from evidencebench.files.records import RecordFormat
from evidencebench.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class Optima:
    """The evaluations of one instance by task name, and the tasks whose optimum is not proven."""

    id: str  # of the instance
    evaluations: Mapping[str, Evaluation]
    unproven: tuple[str, ...] = ()


class _PartialHeader(msgspec.Struct, frozen=True):
    evidencebench_solve: str  # the version of this package
    sha256: str  # of the data


_PARTIALS = RecordFormat(
    header=_PartialHeader,
    record=Optima,
    begins=b'{"evidencebench_solve":',
    what="a partial file",
    a_record="what was solved of an instance",
    made_by="evidencebench data solve",
    version_field=None,
    remedy="remove the file to start over",
)


def derive_optima(instance: Instance) -> Optima:
    """Return the stored evaluations, derived exactly; fixed budgets are filled up with the first unused sentences."""
    evaluations: dict[str, Evaluation] = {}
    unproven: list[str] = []
    for name in EVALUATION_KEYS:
        task = TASKS[name]
        if not task.applies_to(instance.labels):
            continue
        coverage = coverage_of(instance.labels, task.scope)
        cover = minimum_cover(coverage)
        if isinstance(task.budget, int) and not (cover.proven and len(cover.sentences) <= task.budget):
            cover = maximum_coverage(coverage, task.budget)
        evaluations[name] = _evaluation(instance, task, coverage, cover)
        if not cover.proven:
            unproven.append(name)
    return Optima(id=instance.id, evaluations=evaluations, unproven=tuple(unproven))


def with_optima(instance: Instance, optima: Optima) -> Instance:
    return replace(instance, labels=replace(instance.labels, evaluations=optima.evaluations))


def _evaluation(instance: Instance, task: Task, coverage: Coverage, cover: Cover) -> Evaluation:
    sentences, optimal = cover.sentences, len(cover.sentences)
    if isinstance(task.budget, int):
        unused = [index for index in range(len(instance.query.sentences)) if index not in sentences]
        sentences = tuple(sorted([*sentences, *unused[: task.budget - len(sentences)]]))
    mask = coverage.mask_of(sentences)
    aspects = instance.labels.that_count(task.scope)
    covered = tuple(aspect for position, aspect in enumerate(aspects) if mask >> position & 1)
    return Evaluation(sentences=sentences, covered=covered, optimal=optimal if task.budget == "optimal" else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveReport:
    """The result of `solve_file`; where any ``failed`` (instance id -> why), no copy was written."""

    n_instances: int
    n_resumed: int
    unproven: dict[str, tuple[str, ...]]
    failed: dict[str, str]


def solve_file(
    dataset: Dataset | PathText,
    path: PathText,
    *,
    jobs: int = 1,
    engine: Engine | None = None,
    max_errors: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> SolveReport:
    """Write a copy of a data set with all four evaluations derived; ``<name>.partial`` lets a stopped call go on."""
    dataset, path = dataset_from(dataset), Path(path)
    writer_of(path)  # before anything is solved
    partial = path.with_name(f"{path.name}.partial")
    with _PARTIALS.append(partial, _PartialHeader(__version__, dataset.sha256)) as journal:
        solved = {line.record.id: bytes(line.content) for line in _PARTIALS.scan(partial)[1]}
        todo = [instance_id for instance_id in dataset.ids if instance_id not in solved]
        n_resumed = len(dataset) - len(todo)
        engine = engine_of(engine, jobs, at_most=1 + len(todo) // 500)  # fewer are not worth a process
        failed: dict[str, str] = {}

        def keep_error(instance_id: str, error: Exception) -> None:
            if not isinstance(error, EvidenceBenchError) or isinstance(error, ChangedDataError):
                raise error  # it concerns all instances
            failed[instance_id] = str(error)
            if stop := too_many_errors(len(failed), max_errors, f"{instance_id}: {error}"):
                raise stop

        for optima in results(engine, _solver, (dataset.file,), todo, on_error=keep_error):
            encoded = msgspec.json.encode(optima)
            journal.append(encoded)
            solved[optima.id] = encoded
            if on_progress is not None:
                on_progress(len(solved), len(dataset))
    unproven: dict[str, tuple[str, ...]] = {}
    if not failed:
        write_dataset(path, _with_solutions(dataset, solved, unproven))
        partial.unlink()
    return SolveReport(n_instances=len(dataset), n_resumed=n_resumed, unproven=unproven, failed=failed)


def _solver(data: DataFile) -> Callable[[str], Optima]:
    dataset = reopen_dataset(data)
    return lambda instance_id: derive_optima(dataset[instance_id])


def _with_solutions(
    dataset: Dataset, solved: dict[str, bytes], unproven: dict[str, tuple[str, ...]]
) -> Iterator[Instance]:
    for instance in dataset:
        optima = msgspec.json.decode(solved[instance.id], type=prepared(Optima))
        if optima.unproven:
            unproven[instance.id] = optima.unproven
        yield with_optima(instance, optima)
