"""``evidencebench papers``: files of papers."""

import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

import click

from evidencebench.cli import options
from evidencebench.cli.main import LazyGroup
from evidencebench.cli.options import STANDARD_INPUT, argument, option, read_input
from evidencebench.cli.output import print_cautions, print_json, print_prose
from evidencebench.errors import DataError, MissingExtraError, UnreadableError
from evidencebench.files.disk import decoded, read_blocks, read_bytes
from evidencebench.papers.fetching import (
    BASE_URL,
    INDEX_NAME,
    EuropePmc,
    FetchedPaper,
    fetch_papers,
    files_below,
    missing_papers,
)
from evidencebench.papers.ids import IdScheme, PublicId, public_id, public_ids
from evidencebench.papers.lists import attached_file, is_list, read_list
from evidencebench.papers.paper import Paper
from evidencebench.papers.read import read_all_content
from evidencebench.papers.record import paper_record
from evidencebench.papers.sample import paper_path
from evidencebench.papers.sections import is_abstract_title
from evidencebench.query import Kind
from evidencebench.tables import printable, shortened
from evidencebench.web.fetch import require_web_address
from evidencebench.wording import counted

_LONG_SECONDS = 1.0
_N_SHOWN = 8


@options.command
def fetch(
    *,
    ids: Annotated[tuple[PublicId, ...], argument("[ID]...", kind=options.Parsed("id", public_id))],
    from_file: Annotated[
        Path | None, option("--from-file FILE", "More ids: one per line, or a list of papers; - is standard input.")
    ],
    folder: Annotated[Path, options.output("FOLDER", "Folder for the files.", options.FOLDER)] = Path(),
    overwrite: Annotated[bool, option("--overwrite", "Fetch again, and replace, papers that are already there.")],
    dry_run: Annotated[bool, option("--dry-run", "Print the URLs that would be requested; send nothing.")],
    base_url: Annotated[str, option("--base-url URL", "Base URL of the service.")] = BASE_URL,
    attempts: Annotated[int, options.number("--attempts N", "Attempts per request.", most=100)] = 4,
    as_json: options.AsJson,
) -> int:
    """Download open-access papers from Europe PMC by their ids.

    ID is a PMCID (PMC1280405), a DOI, a PMID (digits), or the URL of a paper at
    PubMed Central, PubMed or Europe PMC. From a list of papers (RIS, BibTeX, CSL
    JSON, EndNote XML, PubMed's exports), the id of each record is taken. FOLDER
    gets PMCID.xml for each paper, and papers.csv with its ids, licence and
    checksum, or the reason why there is no file. Papers that are already there are
    not fetched again, so the same command resumes after an interruption. Only the
    ids are sent. Exit code 1: some papers could not be fetched.

    \b
    Examples:
      evidencebench papers fetch PMC1280405 10.1186/1471-2458-5-99 -o papers
      evidencebench papers fetch --from-file ids.txt -o papers
      evidencebench papers fetch --from-file zotero.ris -o papers
    """
    wanted = list(dict.fromkeys([*ids, *(_ids_in(from_file) if from_file else ())]))
    if not wanted:
        raise click.UsageError("expected at least one ID, or a file of them with --from-file")
    service = EuropePmc(base_url=require_web_address(base_url), attempts=attempts, sleep=wait_for_service)
    missing = wanted if overwrite else missing_papers(wanted, folder)
    if dry_run:
        for paper_id in missing:
            pmcid = paper_id.value if paper_id.scheme is IdScheme.PMCID else "{PMCID}"
            click.echo(f"{service.search_address(paper_id)}\n{service.full_text_address(pmcid)}")
        return 0
    if missing:
        host = urlsplit(service.base_url).netloc.rpartition("@")[2]
        _tell(f"asking {host} about {counted(len(missing), 'paper')}: {_some(missing, ', ')}")
    missing_ids = frozenset(map(str, missing))

    def on_paper(paper: FetchedPaper) -> None:
        file = paper.file if paper.id in missing_ids else f"{paper.file} (already there)"
        fetched = "  ".join(filter(None, (file, paper.licence, paper.title)))
        if not as_json:
            print_prose(printable(f"{paper.id}: not fetched: {paper.reason}" if paper.reason else fetched), "  ")

    papers = fetch_papers(service, wanted, folder, overwrite=overwrite, on_paper=on_paper)
    n_failed = sum(bool(paper.reason) for paper in papers)
    if as_json:
        print_json({"folder": str(folder), "papers": list(map(asdict, papers))})
    else:
        n_fetched, all_papers = len(papers) - n_failed, counted(len(papers), "paper")
        click.echo(printable(f"{n_fetched} of {all_papers} in {folder}, listed in {INDEX_NAME}"))
    return 1 if n_failed else 0


def _ids_in(file: Path) -> list[PublicId]:
    """Return the ids of a file of one a line, or of a list of papers, whose records without any are told."""
    content, name = read_input(file)
    if not is_list(content):
        return public_ids(decoded(content, name=name).splitlines(), name=name)
    records = read_list(content, name=name)
    if without := [record.title or "(no title)" for record in records if record.public is None]:
        _tell(f"note: {name}: without DOI, PMID and PMCID, so not fetched: {_some(without)}")
    return [public_id(record.public) for record in records if record.public]


def _tell(text: str) -> None:
    print_prose(printable(text), err=True)


def _some(texts: Sequence[object], between: str = "; ") -> str:
    rest = f" and {len(texts) - _N_SHOWN:,} more" if len(texts) > _N_SHOWN else ""
    return f"{between.join(shortened(str(text), 100) for text in texts[:_N_SHOWN])}{rest}"


def wait_for_service(seconds: float) -> None:
    if seconds >= _LONG_SECONDS:
        click.echo(f"the service is busy or cannot be reached; next attempt in {seconds:.0f} s", err=True)
    time.sleep(seconds)


_SIGNS = {Kind.HEADING: "#", Kind.ABSTRACT: ">", Kind.BODY: " "}
_DEEPEST = 4  # sections within each other that are set in


def paper_names(given: Iterable[str]) -> Iterator[str]:
    """Yield names of files; a folder stands for all below it, in order, but hidden ones and `papers fetch`'s list."""
    for name in given:
        path = paper_path(name)
        is_folder = name != STANDARD_INPUT and path.is_dir()
        yield from map(str, files_below(path) if is_folder else (path,))


class PaperFile(NamedTuple):
    """A file to be read, and the ids and title that a list of papers has for it; or why a list stands for no file."""

    name: str
    ids: Mapping[str, str] = MappingProxyType({})
    error: DataError | None = None
    title: str = ""
    about: Mapping[str, tuple[str, ...]] = MappingProxyType({})


def paper_files(given: Iterable[str]) -> list[PaperFile]:
    """Return the files of papers; a list of papers stands for the files that its records name, each once."""
    given = list(given)
    files: dict[Path, PaperFile] = {}
    for name in paper_names(given):
        for file in _listed_files(Path(name), list(map(Path, given))):
            path = Path(file.name).resolve()
            files[path] = file if file.ids else files.get(path, file)
    return list(files.values())


def _listed_files(path: Path, allowed: Sequence[Path]) -> list[PaperFile]:
    """Return a file, or the files of the records of a list; what has none, or one that is not there, is told."""
    if str(path).startswith(("http:/", "https:/")):
        address = str(path).replace(":/", "://", 1)
        return [
            PaperFile(address, error=UnreadableError(f"{address}: is an address; download the file, and give that"))
        ]
    try:
        if str(path) == STANDARD_INPUT or not is_list(next(read_blocks(path), b"")):
            return [PaperFile(str(path))]
        records = read_list(read_bytes(path), name=str(path))
    except (DataError, MissingExtraError) as error:
        hint = "" if path.exists() else _how_to_fetch(str(path))
        return [PaperFile(str(path), error=UnreadableError(f"{error}{hint}"))]
    files, problems, n_with = list[PaperFile](), list[str](), 0
    for number, record in enumerate(records, 1):
        here = []
        for written in record.files:
            try:
                here.append(attached_file(written, path.parent, allowed))
            except DataError as error:
                problems.append(f"record {number}: {error}")
        # A saved page may hold the abstract alone.
        papers = [file for file in here if file.suffix not in (".html", ".htm")] or here[:1]
        files += [PaperFile(str(file), record.ids, title=record.title, about=record.about) for file in papers]
        n_with += bool(papers)
    if n_with < len(records):
        has = f"{n_with:,} of {counted(len(records), 'record')} {'has' if n_with == 1 else 'have'} a file"
        command = f"evidencebench papers fetch --from-file {shlex.quote(str(path))} -o papers"
        fetch = f"'{command}' fetches open ones of the others"
        problems = [has, _some(problems), fetch] if problems else [has, fetch]
    said = f"{path}: {'; '.join(problems)}"
    if not files:
        return [PaperFile(str(path), error=UnreadableError(said))]
    if problems:
        _tell(f"note: {said}")
    return files


def _how_to_fetch(name: str) -> str:
    """Return how to fetch a paper that is named by its id; an empty text for any other name."""
    try:
        return f"; to fetch it: {shlex.join(['evidencebench', 'papers', 'fetch', public_id(name).value])}"
    except DataError:
        return ""


def read_papers(files: Iterable[PaperFile]) -> Iterator[Sequence[Paper | DataError]]:
    """Yield, for each file or standard input, its papers, or why one or all cannot be read."""
    for name, ids, error, *_ in files:
        try:
            if error:
                raise error
            content, called = read_input(Path(name))
            papers = read_all_content(content, name=called)
            listed, year = {**ids}, int(ids.get("year", 0)) or None
            listed.pop("year", None)
            yield [
                replace(one, ids={**listed, **one.ids}, year=one.year or year) if isinstance(one, Paper) else one
                for one in papers
            ]
        except DataError as problem:
            yield [problem]


@options.command
def show(
    *,
    files: Annotated[tuple[str, ...], argument("FILE...", required=True, kind=click.Path(allow_dash=True))],
    only_loss: Annotated[bool, option("--loss", "Show only how much of the file was kept and left out.")],
    as_lines: Annotated[bool, option("--sentences", "Print one sentence per line, the plain text that 'find' reads.")],
    as_json: options.AsJson,
) -> int:
    """Show the text that is read from papers.

    FILE is a paper in any format, a list of papers such as Zotero's RIS, a folder,
    or - for standard input. The output has the title, ids and format, then the
    sentences, numbered from 0 (# is a heading, > the abstract), then how many
    characters were kept and what was left out. White space is not counted.
    --sentences adds the headings Abstract and Body if a file has none. Exit code 1:
    some papers could not be read.

    \b
    Examples:
      evidencebench papers show papers/ --loss
      evidencebench papers show paper.pdf --sentences > paper.txt
    """
    if only_loss + as_lines + as_json > 1:
        raise click.UsageError("expected at most one of --loss, --sentences and --json")
    results = [result for papers in read_papers(paper_files(files)) for result in papers]
    papers = [result for result in results if isinstance(result, Paper)]
    errors = [result for result in results if not isinstance(result, Paper)]
    print_cautions(errors, "error")
    print_cautions(f"{paper.name}: {warning}" for paper in papers for warning in paper.warnings)
    if as_json:
        print_json([{**paper_record(paper), "loss": paper.loss} for paper in papers])
    for number, paper in enumerate([] if as_json else papers):
        if number:
            click.echo()
        if as_lines:
            click.echo("\n".join(_lines(paper)))
            continue
        print_prose(printable(paper.title or "(no title)"))
        ids = "".join(f", {key} {value}" for key, value in paper.ids.items())
        print_prose(printable(f"{paper.name}: {paper.format}{ids}"))
        if not only_loss:
            _print_sentences(paper)
        loss, n_characters = paper.loss, sum(paper.loss.n_characters.values())
        share = "all" if sum(loss.n_kept.values()) == n_characters else f"{100 * loss.share_kept:.2f} %"
        parts = ", ".join(f"{part} {loss.n_kept.get(part, 0):,} of {n:,}" for part, n in loss.n_characters.items())
        print_prose(f"kept: {share} of {counted(n_characters, 'character')}")
        print_prose(f"kept by part: {parts}")
        for sort, out in loss.left_out.items():
            print_prose(f"left out: {sort}: {out.n_elements:,}, of {counted(out.n_characters, 'character')}")
    return 1 if errors else 0


def _lines(paper: Paper) -> Iterator[str]:
    """Yield the lines of a plain text with the same sentences and kinds."""
    before, around = None, tuple[str, ...]()
    for text, kind, place in zip(paper.sentences, paper.kinds, paper.places, strict=True):
        if kind is Kind.ABSTRACT and before is not kind and not any(map(is_abstract_title, around)):
            yield "# Abstract"
        if kind is Kind.BODY and before is Kind.ABSTRACT:
            yield "# Body"
        if kind is Kind.HEADING:
            around = (*place.section, text)
            yield f"{'#' * len(around)} {printable(text)}"
        else:
            yield printable(text)
        before = kind


def _print_sentences(paper: Paper) -> None:
    click.echo()
    width, page = len(str(len(paper.sentences))), None
    for index, (text, kind, place) in enumerate(zip(paper.sentences, paper.kinds, paper.places, strict=True)):
        if place.page != page:
            page = place.page
            click.echo(f"{'':>{width}} [page {page}]")
        depth = min(_DEEPEST, len(place.section))
        head = f"{index:>{width}} {_SIGNS[kind]} {'  ' * depth}"
        print_prose(printable(text), " " * len(head), head)
    click.echo()


command: LazyGroup = LazyGroup("papers", commands=[fetch, show])
