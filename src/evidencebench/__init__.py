"""evidencebench: which sentences of a paper are the evidence for or against a hypothesis.

Read the package in this order: `query`, `instance`, `dataset`, `cover`, `tasks`, `selection`, `measures`,
`significance` (answers known); `system`, `controls`, `retrievers` (answers not known); `runs`, `execution`,
`evaluation`, `comparison` (where they meet); `cli`.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

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
