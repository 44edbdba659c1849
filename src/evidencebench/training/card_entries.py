"""What the cards of all trainings say: on which data a model was trained, and by which versions."""

import platform
from collections.abc import Mapping, Sequence
from typing import Any

from evidencebench.extras import library_versions
from evidencebench.version import __version__


def data_entries(papers: Sequence[str], given: Mapping[str, Any] | None, **computed: Any) -> dict[str, Any]:
    """Return the entries about the data, given the paper of each instance: counts, and what the caller says."""
    return {"n_instances": len(papers), "n_papers": len(set(papers)), **computed, **(given or {})}


def version_entries(*libraries: str) -> dict[str, str]:
    """Return the versions of this package, of libraries and of Python."""
    return {"evidencebench": __version__, **library_versions(*libraries), "python": platform.python_version()}
