"""Which files are written for which tool."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from evidencebench.construction.people.exchange.label_studio import label_studio_interface, label_studio_tasks
from evidencebench.construction.people.exchange.sheet import sheet_text
from evidencebench.construction.people.tasks import TasksFile

TOOLS: Mapping[str, Mapping[str, Callable[[TasksFile], str | bytes]]] = MappingProxyType(
    {
        "label-studio": {"label-studio.json": label_studio_tasks, "label-studio.xml": label_studio_interface},
        "csv": {"csv": sheet_text},
    }
)
"""Tool -> the ends of the names of its files -> what makes them."""


def tool_paths(path: Path, tool: str) -> list[Path]:
    """Return the files for a tool beside a file of tasks.

    >>> [path.name for path in tool_paths(Path("tasks.jsonl"), "label-studio")]
    ['tasks.label-studio.json', 'tasks.label-studio.xml']
    """
    return [path.with_name(f"{path.stem}.{end}") for end in TOOLS[tool]]
