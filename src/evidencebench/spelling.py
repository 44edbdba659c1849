"""What somebody may have meant who wrote a name that there is not."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question to put behind a name in a message, or nothing where no known name is like it.

    Parameters
    ----------
    name
        As it was written.
    known
        The names that there are.

    Examples
    --------
    >>> f"no system 'BM52'{did_you_mean('BM52', ['lead', 'bm25'])}"
    "no system 'BM52' (did you mean 'bm25'?)"
    >>> did_you_mean("zzz", ["lead", "bm25"])
    ''
    """
    by_lower = {one.lower(): one for one in known}
    close = get_close_matches(name.lower(), by_lower, n=1)
    return f" (did you mean '{by_lower[close[0]]}'?)" if close else ""
