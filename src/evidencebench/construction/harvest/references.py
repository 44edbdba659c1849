"""The reference list of a review, and the ids and the licence of a paper in one spelling."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from evidencebench.errors import DataError
from evidencebench.files.disk import packaged_table
from evidencebench.papers.ids import IdScheme, PublicId, ids_of_pairs, public_id
from evidencebench.papers.tree import Element

_PREFIXES = {"pmcid": "pmc_", "pmid": "pubmed_", "doi": "doi_"}


def id_of_type(kind: str, text: str) -> PublicId | None:
    """Return the id that a text of a ``pub-id-type`` spells; None where it is no id, or one of another type."""
    for scheme, spelling in ids_of_pairs([(kind, text)]).items():
        with suppress(DataError):
            spelled = public_id(spelling)
            return spelled if spelled.scheme is IdScheme[scheme.upper()] else None
    return None


def normal_ids(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return ids in their normal spelling, given types and ids; those that are none are left out."""
    known_ids = (id_of_type(kind, text) for kind, text in pairs)
    return {public_id.scheme.name.lower(): public_id.value for public_id in known_ids if public_id is not None}


def names_of_paper(paper_id: str, ids: Mapping[str, str] | None = None) -> set[str]:
    """Return the names by which a paper is known: its id in a data set and its other ids, in their normal spelling."""
    names = {str(spelled) for pair in (ids or {}).items() if (spelled := id_of_type(*pair)) is not None}
    if paper_id := paper_id.strip():
        try:
            names.add(str(public_id(paper_id.removeprefix("doi_"))))
        except DataError:  # a name that the user gave
            names.add(paper_id.casefold())
    return names


def paper_id_of(ids: Mapping[str, str]) -> str:
    """Return how a data set names the paper with these ids, by the best of them; an empty text where there is none."""
    return next((prefix + ids[key].removeprefix("PMC") for key, prefix in _PREFIXES.items() if key in ids), "")


def id_to_fetch(ids: Mapping[str, str]) -> str:
    """Return the best of a paper's ids, as ``papers fetch`` takes it."""
    key = next(key for key in _PREFIXES if key in ids)
    return f"PMID:{ids[key]}" if key == "pmid" else ids[key]


_LABEL = re.compile(r"[\s\[(]*(\d{1,5})[\s\]).]*")
_YEAR = re.compile(r"\b((?:19|20)\d\d)([a-z]?)\b")
_WORD = re.compile(r"[^\W\d_][\w'\u2019-]*")
_LONGEST_ENTRY = 2_000  # characters of an entry without tags in which its year is looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    id: str  # in the file, such as ``B7``
    number: int | None  # that its label gives
    surname: str  # its first author's, or the first word of the entry
    year: str  # such as ``2004`` or ``2004b``
    ids: Mapping[str, str]  # in their normal spelling, such as ``{"pmid": "9000312"}``
    lists_several: bool  # whether its ids are those of several papers


class ReferenceList:
    def __init__(self, references: Sequence[Reference]) -> None:
        self.references = references
        # Id -> place, from 0; the first of an id counts.
        self.positions: dict[str, int] = {
            reference.id: position for position, reference in reversed(list(enumerate(references)))
        }
        labels = [reference.number for reference in references]
        self.is_labelled: bool = any(number is not None for number in labels)
        # By the label, or the place from 1 where no entry has a label.
        numbered = [*zip(labels if self.is_labelled else range(1, len(labels) + 1), references, strict=True)]
        uses = Counter(number for number, _ in numbered)
        self._by_number = {number: reference.id for number, reference in numbered if number and uses[number] == 1}
        self._by_author: defaultdict[tuple[str, str], list[Reference]] = defaultdict(list)
        for reference in references:
            if reference.surname and reference.year:
                self._by_author[reference.surname.casefold(), reference.year[:4]].append(reference)

    def __getitem__(self, reference_id: str) -> Reference:
        return self.references[self.positions[reference_id]]

    def numbered(self, numbers: Sequence[int]) -> tuple[str, ...]:
        """Return the ids of the references with these numbers; none where one is not known."""
        return tuple(map(self._by_number.__getitem__, numbers)) if self._by_number.keys() >= {*numbers} else ()

    def written(self, surname: str, year: str) -> str | None:
        """Return the id of the only reference of a first author in a year, such as 2004 or 2004b; None: not one."""
        matches = self._by_author.get((surname.casefold(), year[:4]), [])
        if len(matches) > 1 or any(len(reference.year) > len("2004") for reference in matches):
            matches = [reference for reference in matches if reference.year == year]
        return matches[0].id if len(matches) == 1 else None


def read_reference(ref: Element) -> Reference:
    label = ref.first("label")
    number = _LABEL.fullmatch(label.text) if label else None
    ids: defaultdict[str, list[str]] = defaultdict(list)
    for element in ref.all("pub-id", "ext-link", "uri"):
        address, paper_id = element.attributes.get("href") or element.text, None
        if element.tag == "pub-id":
            paper_id = id_of_type(element.attributes.get("pub-id-type", ""), element.text)
        elif "/" in address:  # a number alone could be anything
            with suppress(DataError):
                paper_id = public_id(address)
        if paper_id is not None:
            ids[paper_id.scheme.name.lower()].append(paper_id.value)
    entry = next((element for element in ref.elements if element.tag.endswith("citation")), ref)
    surname, year = entry.first("surname"), entry.first("year")
    text = "" if surname and year else entry.text[:_LONGEST_ENTRY]
    first_word, first_year = _WORD.search(text), _YEAR.search(year.text if year else text)
    return Reference(
        id=ref.attributes.get("id", ""),
        number=int(number[1]) if number else None,
        surname=surname.text if surname else first_word[0] if first_word else "",
        year="".join(first_year.groups()) if first_year else "",
        ids={scheme: values[0] for scheme, values in ids.items()},
        lists_several=any(len(set(ids[scheme])) > 1 for scheme in ("pmcid", "pmid")),
    )


UNKNOWN = "unknown"

ALLOWED = ("cc0", "public-domain", "cc-by", "cc-by-sa", "cc-by-nc", "cc-by-nc-sa")
"""What may go into a data set by default. A data set is a derivative, which licences with ND do not allow."""

KNOWN = (*ALLOWED, "cc-by-nd", "cc-by-nc-nd", UNKNOWN)

_LICENCES, _PARTS = (
    {name: re.compile(pattern, re.IGNORECASE | re.VERBOSE) for name, pattern in patterns.items()}
    for patterns in packaged_table(__file__, "licences.toml").values()
)
_LONGEST = 20_000  # characters that a licence may have; what follows is not read


def licence_named(text: str) -> str:
    """Return the licence that a text names, in its usual spellings, or `UNKNOWN`; of several, the first."""
    text = text[:_LONGEST]
    match = _LICENCES["cc-by"].search(text)
    if match is None:
        return next((name for name, pattern in _LICENCES.items() if pattern.search(text)), UNKNOWN)
    parts = (match["parts"] or match["words"] or "").replace("_", "-")
    return "-".join(["cc-by", *(part for part, pattern in _PARTS.items() if pattern.search(parts))])


def licence_of(article: Element) -> str:
    """Return the licence of an article in JATS: by its address before its words, which often name CC0 too, for data."""
    licences = list(article.all("license"))
    texts = [
        *(licence.attributes.get("href", "") for licence in licences),
        *(reference.text for reference in article.all("license_ref")),
        *(licence.attributes.get("license-type", "") for licence in licences),
        " ".join(link.attributes.get("href", "") for licence in licences for link in licence.all("ext-link", "uri")),
        *(element.text for element in (*licences, *article.all("copyright-statement"))),
    ]
    return next((licence for licence in map(licence_named, texts) if licence != UNKNOWN), UNKNOWN)
