"""Papers with notes as RIS, which managers of references read."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from evidencebench.provenance import require_extra
from evidencebench.tables import printable

_KEYS = {"journal": "journal_name", "volume": "volume", "abstract": "abstract"}  # rispy's names


class NotedPaper(NamedTuple):
    title: str
    ids: Mapping[str, str]
    year: int | None
    notes: Sequence[str]  # a line of RIS each
    about: Mapping[str, tuple[str, ...]] = MappingProxyType({})  # as `ListedPaper.about`


def as_ris(papers: Iterable[NotedPaper], what: str) -> str:
    """Return a record a paper; raises `MissingExtraError` without rispy. ``what`` asks for it."""
    require_extra(what, "ris", "rispy")
    import rispy  # noqa: PLC0415 - an extra

    records = []
    for title, ids, year, notes, about in papers:
        fields = {
            "type_of_reference": "JOUR",
            "title": title,
            "doi": ids.get("doi"),
            "year": year and str(year),
            "accession_number": ids.get("pmcid") or ids.get("pmid"),
        }
        fields |= {key: next(iter(about.get(name, ())), None) for name, key in _KEYS.items()}
        printed: dict[str, Any] = {name: printable(value) for name, value in fields.items() if value}
        if authors := about.get("authors"):
            printed["authors"] = list(map(printable, authors))
        records.append({**printed, "notes": list(map(printable, notes))})
    return str(rispy.dumps(records))
