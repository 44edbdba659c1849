"""The ids of a paper in their normal spelling, and how a data set names the paper by them."""

from collections.abc import Iterable, Mapping

from evidencebench.errors import DataError
from evidencebench.papers.paper_ids import IdScheme, PublicId, public_id

_PREFIXES = {"pmcid": "pmc_", "pmid": "pubmed_", "doi": "doi_"}
_SCHEMES = {"pmc": IdScheme.PMCID, "pmcid": IdScheme.PMCID, "pmid": IdScheme.PMID, "doi": IdScheme.DOI}


def id_of_type(kind: str, text: str) -> PublicId | None:
    """Return the id that a text of a ``pub-id-type`` spells; None where it is no id, or one of another type."""
    scheme = _SCHEMES.get(kind.lower())
    try:
        spelled = public_id(f"PMC{text}" if scheme is IdScheme.PMCID and text.isdigit() else text)
    except DataError:
        return None
    return spelled if spelled.scheme is scheme else None


def normal_ids(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return ids in their normal spelling, given types and ids; those that are none are left out.

    >>> normal_ids([("doi", "10.1186/Tea"), ("pmcid", "PMC22"), ("pmid", "none")])
    {'doi': '10.1186/tea', 'pmcid': 'PMC22'}
    """
    known_ids = (id_of_type(kind, text) for kind, text in pairs)
    return {public_id.scheme.name.lower(): public_id.value for public_id in known_ids if public_id is not None}


def names_of_paper(paper_id: str, ids: Mapping[str, str] | None = None) -> set[str]:
    """Return the names by which a paper is known: its id in a data set and its other ids, in their normal spelling.

    >>> sorted(names_of_paper("pmc_1280405", {"doi": "10.1186/TEA-5"}))
    ['10.1186/tea-5', 'PMC1280405']
    """
    names = {str(spelled) for pair in (ids or {}).items() if (spelled := id_of_type(*pair)) is not None}
    if paper_id := paper_id.strip():
        try:
            names.add(str(public_id(paper_id.removeprefix("doi_"))))
        except DataError:  # a name that the user gave
            names.add(paper_id.casefold())
    return names


def paper_id_of(ids: Mapping[str, str]) -> str:
    """Return how a data set names the paper with these ids, by the best of them; an empty text where there is none.

    >>> paper_id_of({"doi": "10.1/tea", "pmcid": "PMC1280405"}), paper_id_of({"pmid": "9000312"})
    ('pmc_1280405', 'pubmed_9000312')
    """
    return next((prefix + ids[key].removeprefix("PMC") for key, prefix in _PREFIXES.items() if key in ids), "")


def id_to_fetch(ids: Mapping[str, str]) -> str:
    """Return the best of a paper's ids, as ``papers fetch`` takes it.

    >>> id_to_fetch({"pmid": "9000312", "doi": "10.1/tea"})
    'PMID:9000312'
    """
    key = next(key for key in _PREFIXES if key in ids)
    return f"PMID:{ids[key]}" if key == "pmid" else ids[key]
