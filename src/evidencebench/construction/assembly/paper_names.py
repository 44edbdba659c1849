"""The names by which a paper is known: its ids in their normal spelling."""

from collections.abc import Mapping

from evidencebench.construction.harvest.paper_names import id_of_type
from evidencebench.errors import DataError
from evidencebench.papers.paper_ids import public_id


def paper_names(paper_id: str, ids: Mapping[str, str] | None = None) -> set[str]:
    """Return the names of a paper, given its id in a data set and its other ids, such as ``{"pmid": "9000312"}``.

    >>> sorted(paper_names("pmc_1280405", {"doi": "10.1186/TEA-5"}))
    ['10.1186/tea-5', 'PMC1280405']
    """
    others = {str(found) for pair in (ids or {}).items() if (found := id_of_type(*pair)) is not None}
    return others | ({_normal_spelling(paper_id)} if paper_id.strip() else set())


def _normal_spelling(name: str) -> str:
    try:
        return str(public_id(name.strip().removeprefix("doi_")))
    except DataError:  # a name that the user gave
        return name.strip().casefold()
