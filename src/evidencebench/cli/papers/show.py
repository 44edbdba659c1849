"""``evidencebench papers show``."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import click

from evidencebench.cli import options
from evidencebench.cli.find import paper_names, read_papers
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import print_cautions, print_json, print_prose
from evidencebench.papers.paper import Paper
from evidencebench.papers.sections import is_abstract_title
from evidencebench.query import Kind
from evidencebench.tables import printable
from evidencebench.wording import counted

_SIGNS = {Kind.HEADING: "#", Kind.ABSTRACT: ">", Kind.BODY: " "}
_DEEPEST = 4  # sections within each other that are set in


@options.command
def command(
    *,
    files: Annotated[tuple[str, ...], argument("FILE...", required=True, kind=click.Path(allow_dash=True))],
    only_loss: Annotated[bool, option("--loss", "Only what was kept of the file, and what was left out.")],
    as_lines: Annotated[bool, option("--sentences", "One sentence a line, as 'find' reads plain text.")],
    as_json: options.AsJson,
) -> int:
    """Show what is read from files of papers.

    FILE is a paper in any format, a folder of papers, or - for standard input. Shown
    are title, ids and format, then the sentences, numbered from 0 (# is a heading, >
    the abstract), then how many characters were kept, and what was left out. White
    space is not counted. --sentences adds the headings Abstract and Body where a file
    has none. Exit code 1: some papers could not be read.

    \b
    Examples:
      evidencebench papers show papers/ --loss
      evidencebench papers show paper.pdf --sentences > paper.txt
      evidencebench papers show paper.xml --json
    """
    if only_loss + as_lines + as_json > 1:
        raise click.UsageError("expected at most one of --loss, --sentences and --json")
    results = [result for papers in read_papers(paper_names(files)) for result in papers]
    papers = [result for result in results if isinstance(result, Paper)]
    errors = [result for result in results if not isinstance(result, Paper)]
    for error in errors:
        click.echo(f"error: {printable(str(error))}", err=True)
    print_cautions(f"{paper.name}: {warning}" for paper in papers for warning in paper.warnings)
    if as_json:
        print_json([_record(paper) for paper in papers])
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
        loss = paper.loss
        n_characters, n_kept = sum(loss.n_characters.values()), sum(loss.n_kept.values())
        share = "all" if n_kept == n_characters else f"{100 * loss.share_kept:.2f} %"
        parts = ", ".join(f"{part} {loss.n_kept.get(part, 0):,} of {n:,}" for part, n in loss.n_characters.items())
        print_prose(f"kept: {share} of {counted(n_characters, 'character')}")
        print_prose(f"kept by part: {parts}")
        for sort, out in loss.left_out.items():
            print_prose(f"left out: {sort}: {out.n_elements:,}, of {counted(out.n_characters, 'character')}")
    return 1 if errors else 0


def _record(paper: Paper) -> dict[str, Any]:
    rows = zip(paper.sentences, paper.kinds, paper.places, paper.spans, strict=True)
    return {
        "name": paper.name,
        "format": paper.format,
        "title": paper.title,
        "ids": dict(paper.ids),
        "sentences": [
            {"index": index, "kind": kind.value, "text": text, **asdict(place), **asdict(span)}
            for index, (text, kind, place, span) in enumerate(rows)
        ],
        "loss": {
            "n_characters": dict(paper.loss.n_characters),
            "n_kept": dict(paper.loss.n_kept),
            "left_out": {sort: asdict(out) for sort, out in paper.loss.left_out.items()},
        },
        "warnings": paper.warnings,
    }


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
