"""The folder of the cache, and how its times, costs and sizes are shown."""

import os
from datetime import UTC, datetime
from pathlib import Path

from evidencebench.errors import CacheError
from evidencebench.files.places import cache_folder
from evidencebench.models.llm.costs import shown_usd


def required_cache_folder() -> Path:
    """Return the folder of the cache; raises `CacheError` if that is switched off."""
    folder = cache_folder(os.environ)
    if folder is None:
        raise CacheError("cache: nothing is kept, since EVIDENCEBENCH_CACHE is 'off'; set it to a folder, or unset it")
    return folder


def shown_time(seconds: float) -> str:
    """Return a time in UTC, as ``2026-11-21T13:05:00Z``; a number that is no time stays a number."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, OSError, ValueError, TypeError):
        return str(seconds)


def shown_cost(cost_usd: float | None, n_unpriced: int) -> str:
    """Return a sum in dollars, and how many replies it lacks the cost of; an unknown cost is never shown as $0."""
    if cost_usd is None:
        return "unknown"
    return shown_usd(cost_usd) + (f" + {n_unpriced} unpriced" if n_unpriced else "")


def shown_size(n_bytes: int) -> str:
    """Return a size in the unit that fits.

    Examples
    --------
    >>> shown_size(512), shown_size(2_500_000)
    ('512 B', '2.5 MB')
    """
    size, units = float(n_bytes), ["B", "kB", "MB", "GB"]
    while size >= 1000 and len(units) > 1:  # noqa: PLR2004 - the step between units
        size, units = size / 1000, units[1:]
    return f"{size:.0f} B" if units[0] == "B" else f"{size:.1f} {units[0]}"
