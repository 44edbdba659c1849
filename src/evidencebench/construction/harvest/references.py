"""The reference list of a review: how its marks may name each entry, and the ids of the paper."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from evidencebench.construction.harvest.paper_names import id_of_type
from evidencebench.errors import DataError
from evidencebench.papers.markup_tree import Element
from evidencebench.papers.paper_ids import PublicId, public_id

_LABEL = re.compile(r"[\s\[(]*(\d{1,5})[\s\]).]*")
_YEAR = re.compile(r"\b((?:19|20)\d\d)([a-z]?)\b")
_WORD = re.compile(r"[^\W\d_][\w'\u2019-]*")
_LONGEST_ENTRY = 2_000  # characters of an entry without tags in which its year is looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """An entry of a reference list; texts are empty where there are none."""

    id: str  # in the file, such as ``B7``
    number: int | None  # that its label gives
    surname: str  # its first author's, or the first word of the entry
    year: str  # such as ``2004`` or ``2004b``
    ids: Mapping[str, str]  # in their normal spelling, such as ``{"pmid": "9000312"}``
    lists_several: bool  # whether its ids are those of several papers


@dataclass(frozen=True)
class ReferenceList:
    """The references of a review, in order."""

    references: tuple[Reference, ...]

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Where each reference stands in the list, from 0, by its id in the file; the first of an id counts."""
        return {reference.id: position for position, reference in reversed(list(enumerate(self.references)))}

    @cached_property
    def is_labelled(self) -> bool:
        """Whether the labels number the references."""
        return any(reference.number is not None for reference in self.references)

    @cached_property
    def _by_number(self) -> Mapping[int, str]:
        if not self.is_labelled:
            return {number: reference.id for number, reference in enumerate(self.references, 1)}
        uses = Counter(reference.number for reference in self.references)
        return {
            reference.number: reference.id
            for reference in self.references
            if reference.number is not None and uses[reference.number] == 1
        }

    @cached_property
    def _by_author(self) -> Mapping[tuple[str, str], list[Reference]]:
        by_author: defaultdict[tuple[str, str], list[Reference]] = defaultdict(list)
        for reference in self.references:
            if reference.surname and reference.year:
                by_author[reference.surname.casefold(), reference.year[:4]].append(reference)
        return by_author

    def __getitem__(self, reference_id: str) -> Reference:
        """Return the reference of an id."""
        return self.references[self.positions[reference_id]]

    def numbered(self, number: int) -> str | None:
        """Return the id of the reference with a number: that of its label, else its place in the list."""
        return self._by_number.get(number)

    def written(self, surname: str, year: str) -> str | None:
        """Return the id of the only reference of a first author in a year, such as 2004 or 2004b; None: not one."""
        matches = self._by_author.get((surname.casefold(), year[:4]), [])
        if len(matches) > 1 or any(len(reference.year) > len("2004") for reference in matches):
            matches = [reference for reference in matches if reference.year == year]
        return matches[0].id if len(matches) == 1 else None


def read_reference(ref: Element) -> Reference:
    """Return the reference in an element ``ref``."""
    label = ref.first("label")
    number = _LABEL.fullmatch(label.text) if label else None
    ids: defaultdict[str, list[str]] = defaultdict(list)
    for paper_id in _public_ids_in(ref):
        ids[paper_id.scheme.name.lower()].append(paper_id.value)
    entry = next((element for element in ref.elements if element.tag.endswith("citation")), ref)
    surname, year = entry.first("surname"), entry.first("year")
    if not (surname and year):
        text = entry.text[:_LONGEST_ENTRY]
    first_word = None if surname else _WORD.search(text)
    first_year = _YEAR.search(year.text if year else text)
    return Reference(
        id=ref.attributes.get("id", ""),
        number=int(number[1]) if number else None,
        surname=surname.text if surname else first_word[0] if first_word else "",
        year="".join(first_year.groups()) if first_year else "",
        ids={scheme: values[0] for scheme, values in ids.items()},
        lists_several=any(len(set(ids[scheme])) > 1 for scheme in ("pmcid", "pmid")),
    )


def _public_ids_in(ref: Element) -> Iterator[PublicId]:
    for element in ref.all("pub-id", "ext-link", "uri"):
        if element.tag == "pub-id":
            paper_id = id_of_type(element.attributes.get("pub-id-type", ""), element.text)
        else:
            address = element.attributes.get("href") or element.text
            try:
                paper_id = public_id(address) if "/" in address else None  # a number alone could be anything
            except DataError:
                paper_id = None
        if paper_id is not None:
            yield paper_id
