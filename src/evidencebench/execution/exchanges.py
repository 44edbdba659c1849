"""Show a run's prompts and replies: the prompts are made again from data and options, replies are in the cache."""

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass

import msgspec

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task, task_named
from evidencebench.errors import DataError, EvidenceBenchError, PendingError, RunMismatchError, StopError, TaskError
from evidencebench.execution.answers import answer_instance, default_tasks, in_epoch, require_answerable
from evidencebench.execution.changes import changed_instance, changes_of, unchanged_control
from evidencebench.execution.compatibility import require_same_data
from evidencebench.execution.making import asks_model, make_system
from evidencebench.models.llm.client import ChatClient, Replayed, ReplayingSender
from evidencebench.models.llm.costs import PriceTable
from evidencebench.models.llm.replies import ReplyCache
from evidencebench.runs.header import QueryControl, RunHeader
from evidencebench.runs.run import RunFile
from evidencebench.specification import write_specification
from evidencebench.system import NamedSystem

_HARMLESS = frozenset(
    {
        *("llm_base", "llm_icl", "llm_sections", "llm_rank", "llm_vote", "llm_rerank", "fuse", "diverse"),
        *("bm25", "bm25_abstract_first", "tfidf", "tfidf_char", "lead", "lead_no_headings", "abstract_first"),
        *("abstract_backwards", "longest", "most_digits", "structure", "cues"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request for an answer, with its reply if that is stored."""

    instance_id: str
    task: str | None  # None: one answer serves all
    turn: int  # number of the request among those for this answer, from 1
    replayed: Replayed


def first_requests(
    system: str, dataset: Dataset, tasks: Sequence[Task], *, seed: int, control: QueryControl | None
) -> list[Exchange]:
    """Return the requests for the first instance and the first task under which the system sends any."""
    if not dataset.ids:
        raise DataError(f"{dataset.path}: expected an instance to ask about, got none")
    instance = changed_instance(dataset[0], changes_of(control, dataset, seed, limit=1), dataset).instance
    sender = ReplayingSender()
    with closing(_client(sender)) as client:
        named = make_system(system, seed=seed, client=client)
        asked = tasks or default_tasks(named)
        require_answerable(named, dataset, asked)
        for task in _tasks(named, asked, instance):
            if exchanges := _exchanges(named, sender, instance, task):
                return exchanges
    raise DataError(f"{dataset.path}: {instance.id}: nobody is asked, since none of the tasks wants a sentence of it")


def exchanges_of(
    run: RunFile, dataset: Dataset, instance_id: str, *, cache: ReplyCache | None, tasks: Sequence[Task] = ()
) -> list[Exchange]:
    """Return requests and replies of a run, made again, all turns of an answer; a reply not in ``cache`` ends them."""
    header = run.header
    if header is None:
        raise RunMismatchError(
            f"{run.path}: expected a run of this package, whose header says what was asked, got none"
        )
    require_same_data(run, dataset, "give its own data with --data")
    if not asks_model(_specification(header)):
        raise RunMismatchError(f"{run.path}: '{header.system.name}' asks no language model, so that nothing was asked")
    for task in tasks:
        if header.per_task and task.name not in header.tasks:
            raise TaskError(f"{run.path}: expected one of its tasks {', '.join(header.tasks)}, got '{task.name}'")
    part = dataset if header.data.ids is None else dataset.whole.subset(header.data.ids)
    changes = changes_of(unchanged_control(header.control), part, header.seed, header.limit)
    sender = ReplayingSender(cache=cache)
    with closing(_client(sender)) as client:
        named = in_epoch(make_system(_specification(header), client=client), run.epoch)
        instance = changed_instance(dataset[instance_id], changes, dataset).instance
        asked = _tasks(named, tasks or tuple(map(task_named, header.tasks)), instance)
        return [exchange for task in asked for exchange in _exchanges(named, sender, instance, task)]


def requests_can_be_made(run: RunFile) -> bool:
    """Whether a run asks a model by systems that run no own code, ask no server and read no other file."""
    if run.header is None or not _names(msgspec.to_builtins(run.header.system)) <= _HARMLESS:
        return False
    try:
        return asks_model(_specification(run.header))
    except EvidenceBenchError:  # options of another version
        return False


def _names(value: object) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(_names, value))
    if not isinstance(value, dict):
        return set()
    own = {str(value["name"])} if "name" in value and "options" in value else set()
    return own.union(*map(_names, value.values()))


def changed_since(run: RunFile) -> dict[str, tuple[str, str]]:
    """Return name -> (then, now) for each version in the run's header that decides its requests and is another now."""
    if run.header is None:
        return {}
    now = make_system(_specification(run.header)).versions()
    return {
        name: (then, now.get(name, "none"))
        for name, then in run.header.versions.items()
        if name not in {"evidencebench", "numpy", "python"} and now.get(name, "none") != then
    }


def _specification(header: RunHeader) -> str:
    return write_specification(header.system.name, header.system.options)


def _client(sender: ReplayingSender) -> ChatClient:
    return ChatClient(sender=sender, cache=None, prices=PriceTable(as_of="", models={}))


def _tasks(named: NamedSystem, tasks: Sequence[Task], instance: Instance) -> Sequence[Task | None]:
    if not named.reads_task:
        return (None,)
    return [task for task in tasks if task.can_be_asked(instance.labels)]


def _exchanges(named: NamedSystem, sender: ReplayingSender, instance: Instance, task: Task | None) -> list[Exchange]:
    sender.noted.clear()  # keeps only one answer's requests in memory
    with suppress(PendingError, StopError):  # the requests were noted before the error
        answer_instance(named, instance, task)
    name = None if task is None else task.name
    return [
        Exchange(instance_id=instance.id, task=name, turn=turn, replayed=replayed)
        for turn, replayed in enumerate(sender.noted, 1)
    ]
