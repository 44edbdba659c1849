"""Fetch papers into a folder: ``PMC1280405.xml`` for each, and ``papers.csv``, which says of each what became of it."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from evidencebench.errors import DataError, DownloadError, FailingServerError
from evidencebench.papers.europe_pmc import EuropePmc
from evidencebench.papers.paper_ids import IdScheme, PublicId
from evidencebench.storage.locks import locked_folder
from evidencebench.storage.reading import file_sha256, read_whole
from evidencebench.storage.whole_file import write_whole
from evidencebench.tables import Table, as_csv, cell_as_written, shortened
from evidencebench.web.transient import TransientError
from evidencebench.wording import counted

INDEX_NAME = "papers.csv"

MOST_FAILURES = 3
"""After so many papers in a row of which the service said nothing at any attempt, no more are asked for."""

_MOST_CHARACTERS = 300  # of what the service says of a paper


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


def missing_papers(wanted: Sequence[PublicId], folder: Path) -> list[PublicId]:
    """Return those papers that have no file in a folder; raises `DataError` where its index is another table."""
    held = _by_each_id(read_index(folder))
    return [one for one in wanted if _held(one, folder, held) is None]


def fetch_papers(
    service: EuropePmc,
    wanted: Sequence[PublicId],
    folder: Path,
    *,
    overwrite: bool = False,
    on_paper: Callable[[FetchedPaper], object] = lambda _: None,
) -> list[FetchedPaper]:
    """Return what became of each paper; ask for one after the other, and write the index in the end.

    Papers that have a file in the folder are not asked for, unless ``overwrite``. ``on_paper`` is called after each.
    Raises `FailingServerError` after `MOST_FAILURES` papers in a row of which the service said nothing, and `DataError`
    where the folder cannot be written.
    """
    held = _by_each_id(read_index(folder))
    done: list[FetchedPaper] = []
    n_failures = 0
    _make(folder)
    try:
        for one in wanted:
            is_silent, here = False, _held(one, folder, held)
            try:
                paper = here if here and not overwrite else _fetch(service, one, folder, held, overwrite=overwrite)
            except (DownloadError, TransientError) as error:
                is_silent = isinstance(error, TransientError)
                paper = replace(here or FetchedPaper(id=str(one)), reason=_reason(error, one, service))
            done.append(paper)
            on_paper(paper)
            n_failures = n_failures + 1 if is_silent else 0
            if n_failures == MOST_FAILURES:
                raise FailingServerError(f"{paper.reason}; so it was for {MOST_FAILURES} papers in a row")
    finally:
        with locked_folder(folder):
            _write_index(read_index(folder) | {paper.id: paper for paper in done}, folder)
    return done


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be made: {error.strerror}") from error


def _fetch(
    service: EuropePmc, wanted: PublicId, folder: Path, held: Mapping[str, FetchedPaper], *, overwrite: bool
) -> FetchedPaper:
    found = service.open_paper(wanted)
    file = folder / f"{found.pmcid}.xml"
    here = _held(PublicId(scheme=IdScheme.PMCID, value=str(found.pmcid)), folder, held)  # under another id
    if overwrite or here is None:
        write_whole(file, service.full_text(str(found.pmcid)))
    elif here.reason:
        return replace(here, id=str(wanted))
    return FetchedPaper(
        id=str(wanted),
        pmcid=_said(found.pmcid),
        doi=_said(found.doi),
        pmid=_said(found.pmid),
        licence=_said(found.license),
        title=_said(found.title),
        file=file.name,
        sha256=file_sha256(file),
    )


def _said(text: str | None) -> str:
    """Return what the service said, cut where it is long, without what would make it a formula in a spreadsheet."""
    return shortened((text or "").lstrip("=+-@ \t\r\n"), _MOST_CHARACTERS)


def _reason(error: Exception, wanted: PublicId, service: EuropePmc) -> str:
    if isinstance(error, TransientError):
        said = f"{service.base_url}: no answer in {counted(service.attempts, 'attempt')}, the last failed: {error}"
        return f"{said}; check the network and --base-url, or try later"
    return str(error).removeprefix(f"{wanted}: ")


# What is here.


def _held(wanted: PublicId, folder: Path, held: Mapping[str, FetchedPaper]) -> FetchedPaper | None:
    """Return a paper whose file is in the folder; None: it is not there, as far as is known.

    Where the file is not the one whose checksum the index has, its reason says so: it may be cut, or changed by hand.
    """
    paper = held.get(str(wanted))
    if paper is None and wanted.scheme is IdScheme.PMCID:
        paper = FetchedPaper(id=str(wanted), pmcid=wanted.value, file=f"{wanted}.xml")
    if paper is None or not (folder / paper.file).is_file():
        return None
    found = file_sha256(folder / paper.file)
    here = replace(paper, id=str(wanted), sha256=paper.sha256 or found, reason="")
    wrong = f"{paper.file}: expected the file that was fetched, got one with another sha256 than {INDEX_NAME} has"
    return here if here.sha256 == found else replace(here, reason=f"{wrong}; delete it, or replace it with --overwrite")


def _by_each_id(papers: Mapping[str, FetchedPaper]) -> dict[str, FetchedPaper]:
    """Return the papers that have a file in the folder, and in none beside or below it, by each of their ids."""
    return {
        one: paper
        for paper in papers.values()
        for one in (paper.id, paper.pmcid, paper.doi.lower(), f"PMID:{paper.pmid}")
        if paper.file and Path(paper.file).name == paper.file
    }


_COLUMNS = [field.name for field in fields(FetchedPaper)]


def _write_index(papers: Mapping[str, FetchedPaper], folder: Path) -> None:
    rows = [list(asdict(paper).values()) for paper in papers.values()]
    write_whole(folder / INDEX_NAME, f"{as_csv(Table(columns=_COLUMNS, rows=rows))}\n")


def read_index(folder: Path) -> dict[str, FetchedPaper]:
    """Return the papers of a folder's index by the ids that were asked for; of none, there are none."""
    path = folder / INDEX_NAME
    try:
        content = read_whole(path)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        columns, *rows = csv.reader(io.StringIO(content.decode()))
        as_written = (list(map(cell_as_written, row)) for row in rows)
        if columns != _COLUMNS:
            raise ValueError(columns)  # noqa: TRY301 - one message for all that may be wrong
        return {row[0]: FetchedPaper(**dict(zip(_COLUMNS, row, strict=True))) for row in as_written}
    except (ValueError, csv.Error) as error:
        raise DataError(
            f"{path}: expected the columns {','.join(_COLUMNS)}, as 'papers fetch' writes them, got another table; "
            "rename that file, or choose another folder"
        ) from error
