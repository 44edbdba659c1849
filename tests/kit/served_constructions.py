"""The synthetic review in a folder, and the trial server that answers what its configuration asks."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from doors import synthetic_studies, write_synthetic_review
from evidencebench import load_sample
from kit.fake_models import RunningServer, running_fake_server

_AT_ONCE = "[judge]\nat_once = true\n"


@contextmanager
def served_construction(
    folder: Path, *, at_once: bool = True, model: str = "local/any", **settings: Any
) -> Iterator[RunningServer]:
    """Write the synthetic review into a folder, and serve what its configuration asks."""
    with running_fake_server(load_sample(), studies=synthetic_studies(), **settings) as server:
        write_synthetic_review(folder, model=f"{model},base_url={server.base_url}")
        if at_once:
            config = folder / "construction.toml"
            config.write_text(config.read_text() + _AT_ONCE)
        yield server
