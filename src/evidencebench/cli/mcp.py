"""``evidencebench mcp``."""

import signal
from pathlib import Path
from typing import Annotated, Any

import click

from evidencebench.cli import options
from evidencebench.cli.options import argument, option
from evidencebench.execution.finding import DEFAULT_FINDER, find_evidence
from evidencebench.execution.findings import finding_record
from evidencebench.execution.making import make_system
from evidencebench.integrations.mcp import PaperShelf, make_server
from evidencebench.papers.fetching import BASE_URL, EuropePmc
from evidencebench.papers.paper import Paper
from evidencebench.provenance import require_extra
from evidencebench.web.fetch import require_web_address


@options.command
def mcp(
    *,
    folders: Annotated[tuple[Path, ...], argument("FOLDER...", required=True, kind=options.EXISTING_FOLDER)],
    fetch_to: Annotated[
        Path | None,
        option("--fetch-to FOLDER", "Let the assistant fetch papers into this FOLDER.", options.EXISTING_FOLDER),
    ],
    base_url: Annotated[str, option("--base-url URL", "Base URL of the service that papers come from.")] = BASE_URL,
) -> None:
    """Serve folders of papers to an AI assistant over MCP.

    The assistant starts this command and talks to it over standard input and output
    (extra mcp). It can list the papers in each FOLDER, read them, and find the
    evidence for a hypothesis as 'find' does. Nothing outside these folders is read,
    and nothing is written or sent unless --fetch-to names one of them: then the
    assistant can fetch papers from Europe PMC by their ids.

    \b
    Examples:
      evidencebench mcp papers
      evidencebench mcp papers other --fetch-to papers
    """
    require_extra("mcp", "mcp", "mcp")
    shelf = PaperShelf.of(folders)
    names = {folder: name for name, folder in shelf.folders.items()}
    if fetch_to is not None and fetch_to.resolve() not in names:
        raise click.UsageError(f"--fetch-to: expected one of the folders that are served, got {fetch_to}")
    system = make_system(DEFAULT_FINDER)

    def answer(paper: Paper, hypothesis: str, budget: int) -> dict[str, Any]:
        return finding_record(find_evidence(paper, hypothesis, budget=budget, system=system))

    service = EuropePmc(base_url=require_web_address(base_url), attempts=2)
    server = make_server(shelf, answer, service, names[fetch_to.resolve()] if fetch_to else None)
    for number in (signal.SIGINT, signal.SIGTERM):  # else the thread that waits for input would hold up the end
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    server.run()
