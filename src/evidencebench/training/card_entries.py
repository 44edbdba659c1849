"""What the cards of all trainings say: on which data a model was trained, and by which versions."""

import platform
from collections.abc import Mapping, Sequence
from typing import Any

from evidencebench.data.instance import Instance
from evidencebench.extras import library_versions
from evidencebench.version import __version__


def data_entries(instances: Sequence[Instance], given: Mapping[str, Any] | None, **computed: Any) -> dict[str, Any]:
    """Return the entries about the data: counts, what a training computed of it, and what its caller says."""
    n_papers = len({instance.query.paper_id for instance in instances})
    return {"n_instances": len(instances), "n_papers": n_papers, **computed, **(given or {})}


def version_entries(*libraries: str) -> dict[str, str]:
    """Return the versions of this package, of libraries and of Python."""
    return {
        "evidencebench": __version__,
        **library_versions(*libraries),
        "python": platform.python_version(),
    }
