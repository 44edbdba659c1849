"""``evidencebench construct harvest``."""

from pathlib import Path
from typing import Annotated

import click
import msgspec

from evidencebench.cli import options
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import OutputFile, print_json, print_prose, print_table, progress, refuse_existing
from evidencebench.cli.papers import paper_names
from evidencebench.construction.draft import output_of
from evidencebench.construction.harvest.harvest import HarvestReport, HarvestRules, harvest
from evidencebench.construction.harvest.papers import papers_in
from evidencebench.construction.harvest.references import ALLOWED, KNOWN
from evidencebench.construction.harvest.table import harvest_table
from evidencebench.files.atomic import write_whole
from evidencebench.tables import Table, printable
from evidencebench.wording import counted

_LICENCES = f"Allowed licence; repeatable: {', '.join(KNOWN)}. Default: all but those with nd, and unknown."


@options.command
def harvest_(
    *,
    reviews: Annotated[tuple[str, ...], argument("[REVIEW]...", kind=click.Path(exists=True))],
    folder: Annotated[Path, options.output("FOLDER", "The work folder, for passages.jsonl.", options.FOLDER)] = Path(),
    papers_folder: Annotated[
        Path | None,
        option("--papers FOLDER", "The cited papers; passages on others are dropped.", options.EXISTING_FOLDER),
    ],
    licences: Annotated[tuple[str, ...], option("--license NAME", _LICENCES, click.Choice(KNOWN))],
    table: Annotated[
        Path | None,
        option("--table FILE", "Summaries that you have already, instead of REVIEWs.", options.EXISTING_FILE),
    ],
    ids_file: Annotated[Path | None, option("--ids FILE", "Write the ids of papers not at hand.", OutputFile())],
    overwrite: Annotated[bool, option("--overwrite", "Begin anew where FOLDER has passages or summaries.")],
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> int:
    """Find the passages of reviews that speak of one paper each.

    REVIEW is a review in JATS XML, as PubMed Central has it, or a folder of them.
    Citation marks and the list of references decide; no model is asked. Passages
    that cannot be used, as those on several papers, are written with the reason.
    Exit code 1: some files could not be read.

    Without --papers, every passage whose reference has a PMCID, DOI or PMID is
    kept; fetch the papers with --ids and 'papers fetch', then harvest again.

    FILE of --table is CSV, TSV or JSON Lines with the columns summary, paper (a
    file in --papers, or an id), review_id, and optionally id and context. Its rows
    become summaries.jsonl.

    \b
    Examples:
      evidencebench construct harvest reviews/ -o work --ids ids.txt
      evidencebench papers fetch --from-file ids.txt -o papers
      evidencebench construct harvest reviews/ -o work --papers papers --overwrite
    """
    if bool(reviews) == bool(table):
        raise click.UsageError("expected REVIEWs, or a table of summaries with --table")
    if ids_file is not None:
        # It is made anew by each call.
        refuse_existing(ids_file, overwrite=True, no_stream="has the counts", option="--ids")
    papers = None
    if papers_folder is not None:
        with progress("reading papers", progress_style) as on_paper:
            papers = papers_in(papers_folder, on_paper=on_paper)
    rules = HarvestRules(licences=frozenset(licences or ALLOWED), papers=papers)
    output = output_of("harvest" if table is None else "summaries", folder)
    if table is not None:
        report = harvest_table(table, folder, rules=rules, overwrite=overwrite)
    else:
        paths = [Path(name) for name in paper_names(reviews)]
        with progress("harvesting", progress_style) as on_review:
            report = harvest(paths, folder, rules=rules, overwrite=overwrite, on_review=on_review)
    unreadable = (*(papers.unreadable if papers else ()), *report.unreadable)
    for message in unreadable:
        click.echo(f"error: {printable(message)}", err=True)
    if ids_file is not None:
        write_whole(ids_file, "".join(f"{paper_id}\n" for paper_id in report.ids))
    if as_json:
        print_json({"output": str(output), **msgspec.to_builtins(report)})
    else:
        _print(report, output, nouns=("passage", "passages") if table is None else ("summary", "summaries"))
    if ids_file is not None and not as_json:
        click.echo(printable(f"{ids_file}: {counted(len(report.ids), 'id')}"))
    return 1 if unreadable else 0


def _print(report: HarvestReport, output: Path, *, nouns: tuple[str, str]) -> None:
    rows = [("kept", report.n_kept), *((f"dropped: {reason}", n) for reason, n in report.dropped.most_common())]
    n_all = report.n_kept + report.dropped.total()
    print_table(Table(columns=(nouns[1], "n"), rows=[*rows, ("all", n_all)]))
    kept, papers = counted(report.n_kept, *nouns), counted(report.n_papers, "paper")
    print_prose(printable(f"{output}: {kept} on {papers}, from {counted(report.n_reviews, 'review')}"))
    if report.n_marks_elsewhere:
        marks = counted(report.n_marks_elsewhere, "mark")
        print_prose(f"in no passage: {marks} in headings, tables, figures and notes")
    if report.n_without_marks:
        print_prose(f"without any citation mark: {counted(report.n_without_marks, 'review')}")
