"""The run of a cross-validation: the first system's answers, each by a model that saw nothing of the paper."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from evidencebench.data.dataset import Dataset
from evidencebench.data.tasks import Task
from evidencebench.errors import RunError, RunFormatError
from evidencebench.execution.making import make_system
from evidencebench.execution.options import all_options
from evidencebench.runs.answer_line import encode_answer
from evidencebench.runs.header import CrossvalHeader, DataHeader, RunHeader, SystemHeader, differing_runs
from evidencebench.runs.run_file import RUNS, read_run
from evidencebench.storage.records import require_same
from evidencebench.storage.whole_file import write_whole
from evidencebench.training.crossval.plan import Plan, versions_before_training
from evidencebench.training.crossval.splits import AnsweredSplit
from evidencebench.training.training_table import trainable


def write_out_of_fold_run(
    path: Path, plan: Plan, dataset: Dataset, tasks: Sequence[Task], finished: Sequence[AnsweredSplit]
) -> None:
    """Write the answers of a plan's first system under its first seed as a run, the same bytes for the same splits."""
    write_whole(path, _lines(plan, dataset, tasks, finished))


def require_replaceable(path: Path, plan: Plan, dataset: Dataset, *, is_known: bool) -> None:
    """Raise `RunError` where a run cannot be written, or would replace something else, such as one of another plan."""
    if not path.parent.is_dir():
        raise RunError(f"{path}: cannot be written: there is no folder '{path.parent}'; make it first")
    if path.is_dir() or (path.exists() and not path.is_file()):
        raise RunError(f"{path}: expected a regular file, got a folder, a pipe or a device; choose another name")
    if not path.exists():
        return
    try:
        header = read_run(path).header if RUNS.is_at(path) else None
    except RunFormatError:
        header = None
    if header is None or header.crossval is None:
        raise RunError(f"{path}: holds something else, which would be lost; choose another name")
    if not is_known:
        require_same(path, differing_runs(header, _header(plan, dataset, ())))


def _lines(plan: Plan, dataset: Dataset, tasks: Sequence[Task], finished: Sequence[AnsweredSplit]) -> Iterator[bytes]:
    system, seed = plan.systems[0], plan.seeds[0]
    of_seed = [answers for answers in finished if answers.split.seed == seed and not answers.split.blind]
    mine = [answers for answers in of_seed if system in answers.own]
    yield msgspec.json.encode(_header(plan, dataset, mine)) + b"\n"
    answered = {instance_id: picks for answers in mine for instance_id, picks in answers.own[system].items()}
    for instance_id in dataset.ids:
        for task in tasks:
            counted = answered[instance_id].get(task.name)
            if counted is not None:  # else the task does not apply to the instance
                yield encode_answer(instance_id, task.name, counted.answer) + b"\n"


def _header(plan: Plan, dataset: Dataset, mine: Sequence[AnsweredSplit]) -> RunHeader:
    system, seed = plan.systems[0], plan.seeds[0]
    trained_on = [answers.trained_on for answers in mine]
    training = trainable(system)
    if training is None:
        named = make_system(system, seed=seed)
        header = SystemHeader(name=named.name, options=dict(named.options))
    else:  # under the training's name, with the options of both
        options = {**all_options(training.quick.training, {}), **training.options}
        header = SystemHeader(name=training.name, options=options)
    return RunHeader(
        system=header,
        data=DataHeader(name=dataset.name, path=str(dataset.path), sha256=dataset.sha256, n=len(dataset)),
        tasks=plan.tasks,
        per_task=True,
        seed=seed,
        crossval=CrossvalHeader(folds=None if training is None else plan.n_folds),
        versions={"evidencebench": plan.evidencebench, **versions_before_training([system])},
        trained_on=None
        if None in trained_on
        else tuple(sorted({sha256 for by_system in trained_on for sha256 in (by_system or {}).get(system, ())})),
    )
