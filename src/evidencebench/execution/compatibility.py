"""Check that answers belong to the data and to the tasks with which they are scored."""

from collections.abc import Collection

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import TASKS, Task, task_named
from evidencebench.errors import RunFormatError, RunMismatchError, TaskError
from evidencebench.runs.header import DataHeader
from evidencebench.runs.run import RunFile
from evidencebench.system import Ranking
from evidencebench.wording import counted


def data_header(dataset: Dataset) -> DataHeader:
    path, sha256 = str(dataset.path), dataset.sha256
    return DataHeader(name=dataset.name, path=path, sha256=sha256, n=len(dataset.whole), ids=dataset.chosen_ids)


def require_known(
    name: str, answered: Collection[str], data: Dataset | list[Instance], called: object = "the data"
) -> None:
    """Raise `RunMismatchError` if an answered id is not in the data set; for a list of instances, if all are not."""
    ids = data.whole.ids if isinstance(data, Dataset) else [instance.id for instance in data]
    unknown = sorted(set(answered).difference(ids))
    if unknown and (isinstance(data, Dataset) or len(unknown) == len(answered)):
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        example = next(iter(ids), "")
        raise RunMismatchError(
            f"{name}: answers '{unknown[0]}'{more}, which {called} does not hold; its ids look like '{example}'"
        )


def require_same_data(run: RunFile, dataset: Dataset, advice: str) -> None:
    if run.header is not None and run.header.data.sha256 != dataset.sha256:
        made_on = run.header.data
        raise RunMismatchError(
            f"{run.path}: made on {made_on.name} ({_shown(made_on.n, made_on.sha256)}), but {dataset.name} has "
            f"{_shown(len(dataset), dataset.sha256)}; {advice}"
        )


def _shown(n: int, sha256: str) -> str:
    return f"sha256 {sha256[:8]}, {counted(n, 'instance')}"


def check_belongs(run: RunFile, dataset: Dataset) -> None:
    require_same_data(run, dataset, "give its own data with --data")
    require_known(str(run.path), run.ids, dataset, dataset.name)


def tasks_of(run: RunFile, dataset: Dataset) -> tuple[Task, ...]:
    """Return the tasks that a run can answer on this data, in the order of its header or of `TASKS`."""
    names = run.header.tasks if run.header is not None else tuple(TASKS)
    try:
        tasks = tuple(map(task_named, names))
    except TaskError as error:
        raise RunFormatError(f"{run.path}: line 1: {error}") from error
    return tuple(task for task in tasks if _why_unanswerable(run, task, dataset) is None)


def check_answers(run: RunFile, task: Task, dataset: Dataset) -> None:
    reason = _why_unanswerable(run, task, dataset)
    if reason is not None:
        raise TaskError(f"{run.path}: cannot answer task '{task.name}': {reason}")


def _why_unanswerable(run: RunFile, task: Task, dataset: Dataset) -> str | None:
    header = run.header
    if header is not None and header.per_task and task.name not in header.tasks:
        return f"it holds answers for {', '.join(header.tasks)} only"
    if task.budget is not None or (header is not None and task.name in header.tasks):
        return None
    answers = (run.answer(instance_id, None) for instance_id in dataset.ids)  # the first that did not fail says
    if header is not None or next((answer.ordered for answer in answers if isinstance(answer, Ranking)), False):
        return "it ranks sentences, and a task without a budget does not end a ranking; give one with --budget"
    return None
