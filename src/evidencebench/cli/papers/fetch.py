"""``evidencebench papers fetch``."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import click

from evidencebench.cli import options
from evidencebench.cli.options import argument, option, read_lines
from evidencebench.cli.output import print_json, print_prose
from evidencebench.papers.fetching import BASE_URL, INDEX_NAME, EuropePmc, FetchedPaper, fetch_papers, missing_papers
from evidencebench.papers.ids import IdScheme, PublicId, public_id, public_ids
from evidencebench.tables import printable
from evidencebench.web.fetch import require_web_address
from evidencebench.wording import counted

_LONG_SECONDS = 1.0
_MOST_IDS_BYTES = 4 << 20
_N_SHOWN = 8


@options.command
def command(
    *,
    ids: Annotated[tuple[PublicId, ...], argument("[ID]...", kind=options.Parsed("id", public_id))],
    from_file: Annotated[
        Path | None,
        option(
            "--from-file FILE",
            "More ids, one a line; - is standard input.",
            click.Path(path_type=Path, allow_dash=True),
        ),
    ],
    folder: Annotated[
        Path,
        option("-o, --output FOLDER", "Where the files go.", options.FOLDER, default=".", show_default=True),
    ],
    overwrite: Annotated[bool, option("--overwrite", "Fetch papers that are here too, and replace them.")],
    dry_run: Annotated[bool, option("--dry-run", "Print the addresses that would be asked; send nothing.")],
    base_url: Annotated[
        str, option("--base-url URL", "Address of the service; default: Europe PMC's.", default=BASE_URL)
    ],
    attempts: Annotated[int, options.number("--attempts N", "Tries of each request.", most=100)] = 4,
    as_json: options.AsJson,
) -> int:
    """Fetch open-access papers from Europe PMC, by their ids.

    ID is a PMCID (PMC1280405), a DOI or a PMID (digits), or the address of its page
    at PubMed Central, PubMed or Europe PMC. FOLDER gets PMCID.xml for each paper, and
    papers.csv with ids, licence and checksum, or the reason why there is no file.
    Papers that are here are not fetched again, so the same command resumes after a
    stop. Nothing but the ids is sent. Exit code 1: some papers could not be fetched.

    \b
    Examples:
      evidencebench papers fetch PMC1280405 10.1186/1471-2458-5-99 -o papers
      evidencebench papers fetch --from-file ids.txt -o papers
      evidencebench papers fetch 9000312 --dry-run
    """
    lines, name = read_lines(from_file, at_most=_MOST_IDS_BYTES) if from_file else ((), "")
    wanted = list(dict.fromkeys([*ids, *public_ids(lines, name=name)]))
    if not wanted:
        raise click.UsageError("expected at least one ID, or a file of them with --from-file")
    service = EuropePmc(base_url=require_web_address(base_url), attempts=attempts, sleep=_wait)
    missing = wanted if overwrite else missing_papers(wanted, folder)
    if dry_run:
        for paper_id in missing:
            pmcid = paper_id.value if paper_id.scheme is IdScheme.PMCID else "{PMCID}"
            click.echo(f"{service.search_address(paper_id)}\n{service.full_text_address(pmcid)}")
        return 0
    if missing:
        shown = ", ".join(map(str, missing[:_N_SHOWN]))
        rest = f" and {len(missing) - _N_SHOWN:,} more (--dry-run names all)" if len(missing) > _N_SHOWN else ""
        host = urlsplit(service.base_url).netloc.rpartition("@")[2]
        print_prose(printable(f"asking {host} about {counted(len(missing), 'paper')}: {shown}{rest}"), err=True)
    missing_ids = frozenset(map(str, missing))
    papers = fetch_papers(
        service,
        wanted,
        folder,
        overwrite=overwrite,
        on_paper=lambda paper: None if as_json else _print_paper(paper, was_here=paper.id not in missing_ids),
    )
    n_failed = sum(bool(paper.reason) for paper in papers)
    if as_json:
        print_json({"folder": str(folder), "papers": list(map(asdict, papers))})
    else:
        n_fetched, all_papers = len(papers) - n_failed, counted(len(papers), "paper")
        click.echo(printable(f"{n_fetched} of {all_papers} in {folder}, listed in {INDEX_NAME}"))
    return 1 if n_failed else 0


def _wait(seconds: float) -> None:
    if seconds >= _LONG_SECONDS:
        click.echo(f"the service is busy or cannot be reached; next attempt in {seconds:.0f} s", err=True)
    time.sleep(seconds)


def _print_paper(paper: FetchedPaper, *, was_here: bool) -> None:
    file = f"{paper.file} (was here)" if was_here else paper.file
    fetched = "  ".join(filter(None, (file, paper.licence, paper.title)))
    line = f"{paper.id}: not fetched: {paper.reason}" if paper.reason else fetched
    print_prose(printable(line), "  ")
