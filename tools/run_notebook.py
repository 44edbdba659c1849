"""Run docs/notebook.ipynb and keep what its cells print in it."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "notebook.ipynb"
_SECONDS = 120


def read_notebook() -> Any:
    """Return the notebook as it lies on the disk."""
    return nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]


def executed(notebook: Any) -> Any:
    """Return the notebook with the outputs of a run in an empty folder, and nothing that differs from run to run."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    with tempfile.TemporaryDirectory() as folder:
        # The text of a stream comes in parts that differ from run to run; they are put together.
        where = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=_SECONDS, resources=where, coalesce_streams=True)
        client.execute(env={**os.environ, "PATH": path, "PYDEVD_DISABLE_FILE_VALIDATION": "1"})
    for cell in notebook.cells:
        cell.metadata = {}
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


if __name__ == "__main__":
    nbformat.write(executed(read_notebook()), NOTEBOOK)  # type: ignore[no-untyped-call]
    print(f"{NOTEBOOK}: run, with what its cells print")
