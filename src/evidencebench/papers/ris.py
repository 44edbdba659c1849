"""Papers with notes as RIS, which managers of references read."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from evidencebench.provenance import require_extra
from evidencebench.tables import printable


class NotedPaper(NamedTuple):
    title: str
    ids: Mapping[str, str]
    year: int | None
    notes: Sequence[str]  # a line of RIS each


def as_ris(papers: Iterable[NotedPaper], what: str) -> str:
    """Return a record a paper; raises `MissingExtraError` without rispy. ``what`` asks for it."""
    require_extra(what, "ris", "rispy")
    import rispy  # noqa: PLC0415 - an extra

    records = []
    for title, ids, year, notes in papers:
        fields = {
            "type_of_reference": "JOUR",
            "title": title,
            "doi": ids.get("doi"),
            "year": year and str(year),
            "accession_number": ids.get("pmcid") or ids.get("pmid"),
        }
        printed = {name: printable(value) for name, value in fields.items() if value}
        records.append({**printed, "notes": list(map(printable, notes))})
    return str(rispy.dumps(records))
