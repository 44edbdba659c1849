"""The ids by which papers are asked for: a PMCID, a DOI or a PMID, in any usual spelling."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from urllib.parse import unquote

from evidencebench.errors import DataError
from evidencebench.tables import shortened


class IdScheme(Enum):
    PMCID = "PMCID"
    DOI = "DOI"
    PMID = "PMID"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicId:
    """An id in its normal spelling: ``PMC1280405``, ``10.1186/1471-2458-5-99`` in small letters, or ``9000312``."""

    scheme: IdScheme
    value: str

    def __str__(self) -> str:
        return f"PMID:{self.value}" if self.scheme is IdScheme.PMID else self.value


_NUMBER = r"(?![0-9]{11})0*([1-9][0-9]*)"  # at most ten digits, without zeros before them; there is no paper 0
_PMCID = re.compile(rf"(?:pmcid:?\s*)?pmc[_ ]?{_NUMBER}", re.IGNORECASE)
_PMID = re.compile(rf"(?:pmid:?\s*|pubmed_)?{_NUMBER}", re.IGNORECASE)
_DOI_ADDRESS = re.compile(r"https?://(?:dx\.|www\.)?doi\.org/(?=10)", re.IGNORECASE)
# The pages of papers at PubMed Central, PubMed and Europe PMC.
_PAGE = re.compile(
    r"https?://(?:(?:[a-z]+\.)?(?:ncbi\.nlm\.nih\.gov|europepmc\.org)/(?:[a-z]+/){0,3}(?=PMC)|"
    r"(?:pubmed\.ncbi\.nlm\.nih\.gov|www\.ncbi\.nlm\.nih\.gov/pubmed|europepmc\.org/(?:article|abstract)/med)/)"
    r"(?P<id>(?:PMC)?[0-9]{1,10})/?(?:[?#].*)?",
    re.IGNORECASE,
)
_DOI = re.compile(r"(?:doi:\s*)?(10\.[0-9]{4,9}/.+)", re.IGNORECASE)
# What no DOI holds, and what could end the query that a DOI is quoted in.
_NOT_IN_DOI = re.compile(r"[\s\"\\\x00-\x20\x7f-\x9f]")


def public_id(text: str) -> PublicId:
    spelling = text.strip()
    if page := _PAGE.fullmatch(spelling):
        spelling = page["id"]
    if match := _PMCID.fullmatch(spelling):
        return PublicId(scheme=IdScheme.PMCID, value=f"PMC{match[1]}")
    if match := _PMID.fullmatch(spelling):
        return PublicId(scheme=IdScheme.PMID, value=match[1])
    if address := _DOI_ADDRESS.match(spelling):
        spelling = unquote(spelling[address.end() :])
    spelling = spelling.rstrip(".,;")  # of the sentence that it was taken from
    if (match := _DOI.fullmatch(spelling)) and not _NOT_IN_DOI.search(match[1]):
        return PublicId(scheme=IdScheme.DOI, value=match[1].lower())
    raise DataError(
        f"'{shortened(text.strip(), 60)}': expected the id of a paper: a PMCID (PMC1280405), a DOI or a PMID (9000312)"
    )


def public_ids(lines: Iterable[str], *, name: str) -> list[PublicId]:
    """Return the ids of a text, one a line; lines that are empty or begin with ``#`` are left out."""
    ids = []
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                ids.append(public_id(line))
            except DataError as error:
                raise DataError(f"{name}: line {number}: {error}") from error
    return ids


_ID_TYPES = {"pmc": "pmcid", "pmcid": "pmcid", "pmid": "pmid", "doi": "doi"}


def ids_of_pairs(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return a paper's ids, as `Paper` has them, given a type and an id as files spell them."""
    ids: dict[str, str] = {}
    for kind, value in pairs:
        if value and (key := _ID_TYPES.get(kind.lower())):
            ids.setdefault(key, f"PMC{value}" if key == "pmcid" and value.isdigit() else value)
    return ids
