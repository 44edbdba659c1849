"""Europe PMC: fetch papers into a folder."""

import csv
import io
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlencode

import msgspec

from evidencebench.errors import DataError, DownloadError, EndpointError, FailingServerError, UnreadableError
from evidencebench.files.atomic import write_whole
from evidencebench.files.disk import MOST_BYTES, file_sha256, read_whole
from evidencebench.files.places import hold, lock_of
from evidencebench.papers.html import is_html
from evidencebench.papers.ids import IdScheme, PublicId
from evidencebench.papers.jats import FORMAT as JATS
from evidencebench.papers.read import read_content
from evidencebench.tables import Table, as_csv, cell_as_written, shortened
from evidencebench.web.fetch import FETCHES, ask, decode_served, require_lasting, wrong_file
from evidencebench.web.retry import TransientError
from evidencebench.wording import counted

BASE_URL = "https://www.ebi.ac.uk/europepmc/webservices/rest"

# Before every request: one at a time and at most five a second burden nobody.
_PAUSE_SECONDS = 0.2
_PMCID = re.compile(r"PMC[1-9][0-9]{0,9}")


class FoundPaper(msgspec.Struct, frozen=True, kw_only=True):
    """What the service knows of a paper, by the service's own names of the fields."""

    pmcid: str | None = None
    doi: str | None = None
    pmid: str | None = None
    title: str = ""
    licence: str | None = msgspec.field(default=None, name="license")
    is_open_access: str = msgspec.field(default="N", name="isOpenAccess")

    def has(self, wanted: PublicId) -> bool:
        """Say whether the paper has an id; the service may find others too."""
        own = getattr(self, wanted.scheme.name.lower()) or ""
        return bool(own.lower() == wanted.value.lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class EuropePmc:
    """The service at an address: ``attempts`` at each request, and waits between them."""

    base_url: str = BASE_URL
    timeout_seconds: float = 30.0
    attempts: int = 4
    sleep: Callable[[float], object] = time.sleep

    def search_address(self, wanted: PublicId) -> str:
        query = {
            IdScheme.PMCID: f"PMCID:{wanted.value}",
            IdScheme.DOI: f'DOI:"{wanted.value}"',
            IdScheme.PMID: f"EXT_ID:{wanted.value} AND SRC:MED",
        }[wanted.scheme]
        parameters = urlencode({"query": query, "resultType": "core", "format": "json"})
        return f"{self.base_url.rstrip('/')}/search?{parameters}"

    def full_text_address(self, pmcid: str) -> str:
        return f"{self.base_url.rstrip('/')}/{pmcid}/fullTextXML"

    def open_paper(self, wanted: PublicId) -> FoundPaper:
        """Return the open-access paper of an id, which has a PMCID; raises `DownloadError` or `TransientError`."""
        address = self.search_address(wanted)
        content = self._content(address, 4 << 20, "the result of a search")
        try:
            answer = decode_served(content, dict[str, msgspec.Raw])["resultList"]
            results = decode_served(answer, dict[str, list[FoundPaper]])["result"]
        except (msgspec.DecodeError, KeyError) as error:
            got = "a web page" if is_html(content) else f"something else ({error})"
            raise wrong_file(address.partition("?")[0], "the JSON of a search", got, _CHECK_URL) from error
        papers = [paper for paper in results if paper.has(wanted)]
        in_pmc = [paper for paper in papers if _PMCID.fullmatch(paper.pmcid or "")]
        if found := next((paper for paper in in_pmc if paper.is_open_access == "Y"), None):
            return found
        why = "it is not open access; Europe PMC hands out the full text of open-access papers only"
        if not in_pmc:
            why = "it is not in PubMed Central, so Europe PMC has no full text"
        raise DownloadError(f"{wanted}: {why if papers else 'Europe PMC knows no such paper; check the id'}")

    def full_text(self, pmcid: str) -> bytes:
        address = self.full_text_address(pmcid)
        content = self._content(address, MOST_BYTES, _FULL_TEXT)
        try:
            paper = None if is_html(content) else read_content(content, name=address)
        except UnreadableError as error:  # it is cut off, holds metadata only, or is no paper
            raise DownloadError(str(error)) from error
        if paper is None or paper.format != JATS:
            got = paper.format if paper else "a web page"
            raise wrong_file(address, f"an article in {JATS}", got, _CHECK_URL)
        if paper.ids.get("pmcid", pmcid) != pmcid:
            raise wrong_file(address, pmcid, paper.ids["pmcid"], _CHECK_URL)
        return content

    def _content(self, address: str, most_bytes: int, what: str) -> bytes:
        shown = address.partition("?")[0]  # what is asked there is the paper that the message is about

        def content(_: object) -> bytes:
            self.sleep(_PAUSE_SECONDS)
            try:
                answer = ask(
                    address,
                    {},
                    silent_seconds=self.timeout_seconds,
                    most_bytes=most_bytes,
                    may_leave_host=False,
                )
            except EndpointError as error:
                raise wrong_file(shown, f"at most {most_bytes:,} bytes", "more", _CHECK_URL) from error
            require_lasting(answer)
            if answer.status != HTTPStatus.OK:
                is_absent = what == _FULL_TEXT and answer.status == HTTPStatus.NOT_FOUND
                advice = _NO_XML if is_absent else _CHECK_URL
                raise wrong_file(shown, what, f"the answer {answer.said_status}", advice)
            return answer.content

        return replace(FETCHES, max_attempts=self.attempts, sleep=self.sleep).call(content)


_FULL_TEXT = "the full text"
_NO_XML = "the service has no XML of it: get its PDF from the publisher"
_CHECK_URL = "check the network and --base-url, or try later"


INDEX_NAME = "papers.csv"
DESK_NAME = "evidencebench-review"
"""The folder, within one of papers, in which 'evidencebench review' keeps what was read, found and decided."""

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


def files_below(folder: Path) -> list[Path]:
    """Return the files of papers below a folder, in order, without hidden ones; raises `UnreadableError` for none."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != INDEX_NAME)
    parts = ((path, path.relative_to(folder).parts) for path in files)
    shown = (path for path, names in parts if not any(name.startswith(".") or name == DESK_NAME for name in names))
    if inside := sorted(shown):
        return inside
    raise UnreadableError(f"{folder}: expected a folder of papers, got one without files")


def missing_papers(wanted: Sequence[PublicId], folder: Path) -> list[PublicId]:
    """Return those papers that have no file in a folder."""
    held = _by_each_id(read_index(folder))
    return [paper_id for paper_id in wanted if _held(paper_id, folder, held) is None]


def fetch_papers(
    service: EuropePmc,
    wanted: Sequence[PublicId],
    folder: Path,
    *,
    overwrite: bool = False,
    on_paper: Callable[[FetchedPaper], object] = lambda _: None,
) -> list[FetchedPaper]:
    """Ask for one paper after the other, unless it has a file in the folder, and write the index in the end."""
    held = _by_each_id(read_index(folder))
    done: list[FetchedPaper] = []
    n_failures = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be made: {error.strerror}") from error
    try:
        for paper_id in wanted:
            is_silent, here = False, _held(paper_id, folder, held)
            try:
                paper = here if here and not overwrite else _fetch(service, paper_id, folder, held, overwrite=overwrite)
            except (DownloadError, TransientError) as error:
                reason = str(error).removeprefix(f"{paper_id}: ")
                if is_silent := isinstance(error, TransientError):
                    attempts = counted(service.attempts, "attempt")
                    reason = f"{service.base_url}: no answer in {attempts}, the last failed: {error}; {_CHECK_URL}"
                paper = replace(here or FetchedPaper(id=str(paper_id)), reason=reason)
            done.append(paper)
            on_paper(paper)
            n_failures = n_failures + 1 if is_silent else 0
            if n_failures == MOST_FAILURES:
                raise FailingServerError(f"{paper.reason}; so it was for {MOST_FAILURES} papers in a row")
    finally:
        with hold(lock_of(folder / INDEX_NAME), waits=True):
            papers = read_index(folder) | {paper.id: paper for paper in done}
            rows = [list(asdict(paper).values()) for paper in papers.values()]
            write_whole(folder / INDEX_NAME, f"{as_csv(Table(columns=_COLUMNS, rows=rows))}\n")
    return done


def _fetch(
    service: EuropePmc, wanted: PublicId, folder: Path, held: Mapping[str, FetchedPaper], *, overwrite: bool
) -> FetchedPaper:
    paper = service.open_paper(wanted)
    pmcid = str(paper.pmcid)
    file = folder / f"{pmcid}.xml"
    here = _held(PublicId(scheme=IdScheme.PMCID, value=pmcid), folder, held)  # under another id
    if overwrite or here is None:
        write_whole(file, service.full_text(pmcid))
    elif here.reason:
        return replace(here, id=str(wanted))
    # What the service said, cut where it is long, without what would make it a formula in a spreadsheet.
    said = {
        name: shortened((getattr(paper, name) or "").lstrip("=+-@ \t\r\n"), 300)
        for name in ("pmcid", "doi", "pmid", "licence", "title")
    }
    return FetchedPaper(id=str(wanted), file=file.name, sha256=file_sha256(file), **said)


def _held(wanted: PublicId, folder: Path, held: Mapping[str, FetchedPaper]) -> FetchedPaper | None:
    """Return a paper whose file is in the folder; its reason says where the file is not the one that was fetched."""
    paper = held.get(str(wanted))
    if paper is None and wanted.scheme is IdScheme.PMCID:
        paper = FetchedPaper(id=str(wanted), pmcid=wanted.value, file=f"{wanted}.xml")
    if paper is None or not (folder / paper.file).is_file():
        return None
    sha256 = file_sha256(folder / paper.file)
    here = replace(paper, id=str(wanted), sha256=paper.sha256 or sha256, reason="")
    if here.sha256 == sha256:
        return here
    wrong = f"{paper.file}: expected the file that was fetched, got one with another sha256 than {INDEX_NAME} has"
    return replace(here, reason=f"{wrong}; delete it, or replace it with --overwrite")


def _by_each_id(papers: Mapping[str, FetchedPaper]) -> dict[str, FetchedPaper]:
    """Return the papers that have a file in the folder, and in none beside or below it, by each of their ids."""
    return {
        paper_id: paper
        for paper in papers.values()
        for paper_id in (paper.id, paper.pmcid, paper.doi.lower(), f"PMID:{paper.pmid}")
        if paper.file and Path(paper.file).name == paper.file
    }


def read_index(folder: Path) -> dict[str, FetchedPaper]:
    """Return the papers of a folder's index by the ids that were asked for; raises `DataError` for another table."""
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
