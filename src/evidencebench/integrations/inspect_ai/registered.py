"""The entry point of the group ``inspect_ai``: its import makes our tasks, scorer and models known to inspect_ai.

inspect_ai knows only what a decorator registered when a module was imported.
"""

from collections.abc import Callable
from typing import Any

from inspect_ai import Task as InspectTask
from inspect_ai import task
from inspect_ai.model import modelapi

from evidencebench.data.tasks import TASKS, Task
from evidencebench.integrations.inspect_ai.models import SystemModel
from evidencebench.integrations.inspect_ai.scores import aspect_recall, failed
from evidencebench.integrations.inspect_ai.tasks import ask, task_of

__all__ = ["ask", "aspect_recall", "evidencebench", "failed", "tasks"]


def _registered(benchmark_task: Task) -> Callable[..., InspectTask]:
    def make(data: str = "sample", limit: int | None = None, repairs: int = 1) -> InspectTask:
        return task_of(benchmark_task, data, limit, repairs)

    registered: Callable[..., InspectTask] = task(name=benchmark_task.name)(make)
    return registered


tasks = {name: _registered(benchmark_task) for name, benchmark_task in TASKS.items()}


@modelapi(name="evidencebench")  # type: ignore[untyped-decorator, unused-ignore]
def evidencebench() -> type[Any]:
    """Return the class of our models, as ``evidencebench/bm25``."""
    return SystemModel
