"""Derive the optima of a whole file: in parallel, and resumable after any interruption."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from evidencebench.data.dataset import Dataset, dataset_from, reopen_dataset, write_dataset
from evidencebench.data.formats.table import DataFile, format_to_write
from evidencebench.data.instance import Instance
from evidencebench.data.optima import Optima, derive_optima, with_optima
from evidencebench.engine.ordering import map_in_order
from evidencebench.engine.processes import engine_of
from evidencebench.engine.protocol import Engine
from evidencebench.errors import RunFormatError, RunMismatchError
from evidencebench.storage.journal import open_journal
from evidencebench.storage.reading import PathText
from evidencebench.version import __version__

_BEGINS = b'{"evidencebench_solve":'
_MIN_INSTANCES_A_JOB = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveReport:
    """What `solve_file` did: ``n_resumed`` were solved by an interrupted call; instance id -> tasks not proven."""

    n_instances: int
    n_resumed: int
    unproven: dict[str, tuple[str, ...]]


def solve_file(
    dataset: Dataset | PathText,
    path: PathText,
    *,
    jobs: int = 1,
    engine: Engine | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> SolveReport:
    """Write a copy of a data set with all four evaluations derived from its labels; those that it stores are not read.

    What is solved is kept beside the target in ``<name>.partial`` until the copy is whole, so that the same call goes
    on after an interruption. The work runs in so many ``jobs`` (processes), or on an ``engine``; ``on_progress`` is
    called with (instances solved, instances in all).

    Raises `RunMismatchError` or `RunFormatError` if the partial file is of other data or damaged, `DataError` if a copy
    cannot be written, and `MissingExtraError` if an optimum is beyond the built-in search and scipy is not installed.
    """
    dataset, path = dataset_from(dataset), Path(path)
    format_to_write(path)  # before anything is solved
    partial = path.with_name(f"{path.name}.partial")
    header = msgspec.json.encode({"evidencebench_solve": __version__, "sha256": dataset.sha256})
    with open_journal(partial, _BEGINS) as journal:
        journal.begin(header)
        solved = _read_partial(partial, header)
        todo = [instance_id for instance_id in dataset.ids if instance_id not in solved]
        n_resumed = len(dataset) - len(todo)
        engine = engine or engine_of(min(jobs, 1 + len(todo) // _MIN_INSTANCES_A_JOB))
        for n_done, optima in enumerate(map_in_order(engine, _solver, (dataset.file,), todo), n_resumed + 1):
            encoded = msgspec.json.encode(optima)
            journal.append(encoded)
            solved[optima.id] = encoded
            if on_progress is not None:
                on_progress(n_done, len(dataset))
    unproven: dict[str, tuple[str, ...]] = {}
    write_dataset(path, _with_solutions(dataset, solved, unproven))
    partial.unlink()
    return SolveReport(n_instances=len(dataset), n_resumed=n_resumed, unproven=unproven)


def _solver(data: DataFile) -> Callable[[str], Optima]:
    dataset = reopen_dataset(data)
    return lambda instance_id: derive_optima(dataset[instance_id])


def _read_partial(path: Path, header: bytes) -> dict[str, bytes]:
    lines = path.read_bytes().splitlines()
    if lines[0] != header:
        raise RunMismatchError(f"{path}: belongs to other data or another version; remove it to start over")
    solved: dict[str, bytes] = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            solved[msgspec.json.decode(line, type=Optima).id] = line
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RunFormatError(f"{path}: line {number}: {error}; remove the file to start over") from error
    return solved


def _with_solutions(
    dataset: Dataset, solved: dict[str, bytes], unproven: dict[str, tuple[str, ...]]
) -> Iterator[Instance]:
    for instance in dataset:
        optima = msgspec.json.decode(solved[instance.id], type=Optima)
        if optima.unproven:
            unproven[instance.id] = optima.unproven
        yield with_optima(instance, optima)
