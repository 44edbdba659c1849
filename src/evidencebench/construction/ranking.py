"""The order in which the shipped finder puts the sentences of a paper: for judging only a share of the windows."""

from collections.abc import Sequence

from evidencebench.query import Query
from evidencebench.system import Brief
from evidencebench.systems.selectors.finder import Finder


def ranked_by_finder(query: Query) -> Sequence[int]:
    """Return the indices of a paper's sentences, best first."""
    return Finder(wish="study").rank(query, Brief(budget=None)).sentences
