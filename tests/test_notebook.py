"""The notebook of the documents runs, and holds what its cells print."""

import copy
import re
from typing import Any

from run_notebook import executed, read_notebook


def contents(notebook: Any) -> list[tuple[str, Any]]:
    return [(cell.source, cell.get("outputs")) for cell in notebook.cells]


def test_the_notebook_holds_what_its_cells_print() -> None:
    """Where it differs after a change that is meant, `make docs` writes it again."""
    kept = read_notebook()
    assert contents(executed(copy.deepcopy(kept))) == contents(kept)


def test_the_notebook_shows_no_path_of_a_machine_and_loads_nothing() -> None:
    text = str(contents(read_notebook()))
    assert not re.search(r"/home/|/root/|/tmp/|/work/|<script|https?://", text)
