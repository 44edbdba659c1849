"""The reference list of a review: what each entry is called in its marks, and the ids of the paper."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from evidencebench.errors import DataError
from evidencebench.papers.markup_tree import Element
from evidencebench.papers.paper_ids import IdScheme, PublicId, public_id

_SCHEMES = {"pmc": IdScheme.PMCID, "pmcid": IdScheme.PMCID, "pmid": IdScheme.PMID, "doi": IdScheme.DOI}
_PREFIXES = {IdScheme.PMCID: "pmc_", IdScheme.PMID: "pubmed_", IdScheme.DOI: "doi_"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """An entry of a reference list.

    Attributes
    ----------
    id
        Its id in the file, such as ``B7``.
    ids
        The paper's ids, such as ``{"pmid": "9000312"}``; empty where the entry names none.
    """

    id: str
    ids: Mapping[str, str]


@dataclass(frozen=True)
class ReferenceList:
    """The references of a review, in order."""

    references: tuple[Reference, ...]

    @cached_property
    def by_id(self) -> Mapping[str, Reference]:
        """Each reference by its id in the file."""
        return {one.id: one for one in reversed(self.references)}

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Where each reference stands in the list, from 0."""
        return {one.id: position for position, one in reversed(list(enumerate(self.references)))}


def references_of(article: Element) -> ReferenceList:
    """Return the reference list of an article; an empty one where it has none."""
    return ReferenceList(
        tuple(Reference(id=ref.attributes.get("id", ""), ids=_ids_in(ref)) for ref in article.all("ref"))
    )


def paper_id_of(ids: Mapping[str, str]) -> str:
    """Return how a data set names the paper with these ids, by the best of them; an empty text where there is none.

    >>> paper_id_of({"doi": "10.1/tea", "pmcid": "PMC1280405"}), paper_id_of({"pmid": "9000312"})
    ('pmc_1280405', 'pubmed_9000312')
    """
    for scheme, prefix in _PREFIXES.items():
        if value := ids.get(scheme.name.lower()):
            return prefix + value.removeprefix("PMC")
    return ""


def _ids_in(ref: Element) -> dict[str, str]:
    """Return the ids of a reference in their normal spelling, each by its scheme; the first of each counts."""
    ids: dict[str, str] = {}
    for found in _public_ids_in(ref):
        ids.setdefault(found.scheme.name.lower(), found.value)
    return ids


def _public_ids_in(ref: Element) -> Iterator[PublicId]:
    for element in ref.all("pub-id", "ext-link", "uri", "article-id"):
        kind = element.attributes.get("pub-id-type", "").lower()
        scheme = _SCHEMES.get(kind)
        is_link = element.tag in ("ext-link", "uri")
        given = (element.attributes.get("href") or element.text) if is_link else element.text
        if scheme is IdScheme.PMCID and given.isdigit():
            given = f"PMC{given}"
        try:
            found = public_id(given)
        except DataError:
            continue
        # The number in a link without an address could be anything.
        if found.scheme is scheme or (is_link and "/" in given):
            yield found
