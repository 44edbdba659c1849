"""Fetch papers into a folder: ``PMC1280405.xml`` for each, and ``papers.csv``, which says of each what became of it."""

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from evidencebench.errors import DataError, DownloadError, FailingServerError
from evidencebench.papers.europe_pmc import EuropePmc
from evidencebench.papers.paper_ids import IdScheme, PublicId
from evidencebench.storage.locks import locked_folder
from evidencebench.storage.reading import read_whole
from evidencebench.storage.whole_file import write_whole
from evidencebench.tables import Table, as_csv
from evidencebench.web.transient import TransientError

INDEX_NAME = "papers.csv"

MOST_FAILURES = 3
"""After so many papers in a row of which the service said nothing at any attempt, no more are asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPaper:
    """A row of ``papers.csv``: a paper that was asked for by ``id``, its file in the folder, or why there is none."""

    id: str
    pmcid: str = ""
    doi: str = ""
    pmid: str = ""
    licence: str = ""
    title: str = ""
    file: str = ""
    sha256: str = ""
    reason: str = ""


_COLUMNS = [field.name for field in fields(FetchedPaper)]


class PaperFolder:
    """A folder of fetched papers, and its records by the ids that were asked for."""

    def __init__(self, path: Path) -> None:
        """Read what the folder holds; raises `DataError` where its ``papers.csv`` is another file."""
        self.path = path
        self._records = _read_index(path / INDEX_NAME)

    def held(self, wanted: PublicId) -> FetchedPaper | None:
        """Return the record of a paper whose file is here; None: it is not here, as far as the folder knows."""
        if wanted.scheme is IdScheme.PMCID and (self.path / f"{wanted.value}.xml").is_file():
            known = self._records.get(str(wanted))
            return (
                known
                if known and known.file
                else FetchedPaper(id=str(wanted), pmcid=wanted.value, file=f"{wanted}.xml")
            )
        for record in self._records.values():
            own = {IdScheme.PMCID: record.pmcid, IdScheme.DOI: record.doi, IdScheme.PMID: record.pmid}[wanted.scheme]
            if own.lower() == wanted.value and record.file and (self.path / record.file).is_file():
                return replace(record, id=str(wanted))
        return None

    def fetch(self, service: EuropePmc, wanted: Sequence[PublicId], *, overwrite: bool) -> Iterator[FetchedPaper]:
        """Yield a record for each id; ask for one paper after the other, and write the index in the end.

        Papers that are here are not asked for, unless ``overwrite``. Raises `FailingServerError` after `MOST_FAILURES`
        papers in a row of which the service said nothing, and `DataError` where the folder cannot be written.
        """
        n_failures = 0
        with self._indexed():
            for one in wanted:
                held = None if overwrite else self.held(one)
                try:
                    record = held or self._fetch_one(service, one, overwrite=overwrite)
                    n_failures = 0
                except DownloadError as error:
                    record, n_failures = FetchedPaper(id=str(one), reason=str(error)), 0
                except TransientError as error:
                    record, n_failures = (
                        FetchedPaper(id=str(one), reason=f"{service.base_url}: {error}"),
                        n_failures + 1,
                    )
                self._records[record.id] = record
                yield record
                if n_failures == MOST_FAILURES:
                    raise FailingServerError(f"{record.reason}, at {MOST_FAILURES} papers in a row; try later")

    def _fetch_one(self, service: EuropePmc, wanted: PublicId, *, overwrite: bool) -> FetchedPaper:
        found = service.open_paper(wanted)
        pmcid = str(found.pmcid)
        file = self.path / f"{pmcid}.xml"
        if file.is_file() and not overwrite:
            content = _bytes_of(file)
        else:
            content = service.full_text(pmcid)
            write_whole(file, content)
        return FetchedPaper(
            id=str(wanted),
            pmcid=pmcid,
            doi=found.doi or "",
            pmid=found.pmid or "",
            licence=found.license or "",
            title=found.title,
            file=file.name,
            sha256=hashlib.sha256(content).hexdigest(),
        )

    @contextmanager
    def _indexed(self) -> Iterator[None]:
        """Make the folder, and write its index when the block ends, also after an error."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"{self.path}: cannot be made: {error.strerror}") from error
        try:
            yield
        finally:
            with locked_folder(self.path):
                merged = _read_index(self.path / INDEX_NAME) | self._records
                write_whole(self.path / INDEX_NAME, f"{as_csv(_table(merged.values()))}\n")


def _table(records: Iterable[FetchedPaper]) -> Table:
    return Table(columns=_COLUMNS, rows=[list(asdict(record).values()) for record in records])


def _read_index(path: Path) -> dict[str, FetchedPaper]:
    if not path.exists():
        return {}
    rows = list(csv.reader(io.StringIO(_bytes_of(path).decode("utf-8", errors="replace"))))
    if not rows or rows[0] != _COLUMNS or any(len(row) != len(_COLUMNS) for row in rows):
        raise DataError(
            f"{path}: expected the columns {','.join(_COLUMNS)}, as 'papers fetch' writes them, got another table; "
            "rename that file, or choose another folder"
        )
    return {row[0]: FetchedPaper(**dict(zip(_COLUMNS, row, strict=True))) for row in rows[1:]}


def _bytes_of(path: Path) -> bytes:
    try:
        return read_whole(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
