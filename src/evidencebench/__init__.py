"""evidencebench: which sentences of a paper are the evidence for or against a hypothesis.

Read the package in this order: `query`, `instance`, `dataset`, `cover`, `tasks`, `selection`, `measures`,
`significance` (answers known); `system`, `controls`, `retrievers` (answers not known); `runs`, `execution`,
`evaluation`, `comparison` (where they meet); `cli`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same table for type checkers, which cannot follow it; a test keeps the two alike
    from evidencebench.answering import answers_from as answers_from
    from evidencebench.answers import open_run as open_run
    from evidencebench.comparison import compare as compare
    from evidencebench.comparison import wrong_hypothesis_control as wrong_hypothesis_control
    from evidencebench.cover import coverage_of as coverage_of
    from evidencebench.cover import maximum_coverage as maximum_coverage
    from evidencebench.cover import minimum_cover as minimum_cover
    from evidencebench.dataset import Dataset as Dataset
    from evidencebench.dataset import open_dataset as open_dataset
    from evidencebench.dataset import write_dataset as write_dataset
    from evidencebench.errors import EvidenceBenchError as EvidenceBenchError
    from evidencebench.evaluation import Rules as Rules
    from evidencebench.evaluation import TaskScores as TaskScores
    from evidencebench.evaluation import answers_of as answers_of
    from evidencebench.evaluation import evaluate as evaluate
    from evidencebench.execution import execute as execute
    from evidencebench.instance import Instance as Instance
    from evidencebench.instance import Labels as Labels
    from evidencebench.measures import aspect_recall as aspect_recall
    from evidencebench.query import Kind as Kind
    from evidencebench.query import Query as Query
    from evidencebench.retrievers.bm25 import BM25 as BM25
    from evidencebench.sample import load_sample as load_sample
    from evidencebench.selection import select as select
    from evidencebench.system import Brief as Brief
    from evidencebench.system import Ranking as Ranking
    from evidencebench.system import System as System
    from evidencebench.system import rank_by_score as rank_by_score
    from evidencebench.systems import SYSTEMS as SYSTEMS
    from evidencebench.systems import make_system as make_system
    from evidencebench.tasks import TASKS as TASKS
    from evidencebench.tasks import Task as Task
    from evidencebench.tasks import task_named as task_named
    from evidencebench.validation import validate_file as validate_file

from evidencebench.version import __version__ as __version__

# Public name -> module. Resolved when first used, so that `evidencebench --help` need not import numpy.
_MODULE_OF = {
    "BM25": "retrievers.bm25",
    "Brief": "system",
    "Dataset": "dataset",
    "EvidenceBenchError": "errors",
    "Instance": "instance",
    "Kind": "query",
    "Labels": "instance",
    "Query": "query",
    "Ranking": "system",
    "Rules": "evaluation",
    "SYSTEMS": "systems",
    "System": "system",
    "TASKS": "tasks",
    "Task": "tasks",
    "TaskScores": "evaluation",
    "answers_from": "answering",
    "answers_of": "evaluation",
    "aspect_recall": "measures",
    "compare": "comparison",
    "coverage_of": "cover",
    "evaluate": "evaluation",
    "execute": "execution",
    "load_sample": "sample",
    "make_system": "systems",
    "maximum_coverage": "cover",
    "minimum_cover": "cover",
    "open_dataset": "dataset",
    "open_run": "answers",
    "rank_by_score": "system",
    "select": "selection",
    "task_named": "tasks",
    "validate_file": "validation",
    "write_dataset": "dataset",
    "wrong_hypothesis_control": "comparison",
}

__all__ = ["__version__", *sorted(_MODULE_OF)]  # noqa: PLE0604 - the table above is the one list of names


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'evidencebench' has no attribute '{name}'")
    return getattr(import_module(f"evidencebench.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
