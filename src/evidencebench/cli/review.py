"""``evidencebench review``."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated

import click
from msgspec.structs import asdict

from evidencebench.cli import options
from evidencebench.cli.options import PageServing, argument, option
from evidencebench.cli.output import OutputFile, print_json, print_prose, print_table, refuse_existing
from evidencebench.cli.papers import paper_files
from evidencebench.construction.people.marks import LABELS
from evidencebench.engine.processes import Processes
from evidencebench.execution.finding import DEFAULT_FINDER
from evidencebench.execution.making import asks_model, make_system
from evidencebench.files.atomic import write_whole
from evidencebench.papers.fetching import DESK_NAME
from evidencebench.review.assignments import assign
from evidencebench.review.decisions import decision_folder
from evidencebench.review.desk import DeskPaper, exported_names, note_export, open_desk
from evidencebench.review.exports import SUFFIXES, export
from evidencebench.review.found import system_key
from evidencebench.review.report import MEASURES, ReviewReport, report_review
from evidencebench.review.table import ReviewTable
from evidencebench.tables import Table, printable
from evidencebench.web.http import sendable
from evidencebench.wording import counted

_MOST_WORKERS = 4
_MOST_SHOWN = 10


@options.command
def review(
    *,
    folder: Annotated[Path, argument("FOLDER", options.EXISTING_FOLDER)],
    questions: Annotated[
        Path | None,
        option("--questions FILE", "Questions, one per line, or a CSV; stored in FOLDER.", options.EXISTING_FILE),
    ],
    spec: Annotated[
        str, option("--system SYSTEM", "System that finds the evidence.", shell_complete=options.complete_systems)
    ] = DEFAULT_FINDER,
    is_blind: Annotated[bool, option("--blind", "Hide from reviewers what the others decide.")],
    reviewers: Annotated[
        str, option("--assign NAMES", "Assign each paper to two of these reviewers in turn, such as Ada,Bo,Cy.")
    ] = "",
    adjudicator: Annotated[
        str, option("--adjudicator NAME", "Only this person resolves disputes, and sees them even with --blind.")
    ] = "",
    is_report: Annotated[bool, option("--report", "Report the progress, and how people agree.")],
    exports: Annotated[
        tuple[Path, ...],
        option("--export FILE", "Write the decisions in the format of its suffix; repeatable.", OutputFile()),
    ],
    overwrite: Annotated[bool, option("--overwrite", "Replace existing output files.")],
    resampling: options.ResamplingChoice,
    as_json: options.AsJson,
    table_format: Annotated[str, options.output_format("text", "markdown", "latex")],
    serving: PageServing,
) -> None:
    """Review a folder of papers: ask questions, decide, export.

    Serves a table with the papers in FOLDER (files, or a list such as Zotero's RIS
    with its files) and your questions; it fills as evidence is found. In each cell,
    people accept, reject and add sentences, answer the question and write notes. An
    answer is an effect, a number, a text, yes or no, or an item of a list, as in
    'How many were randomised? [number]'; docs/review.md has the forms. Everything
    is saved at once in FOLDER/evidencebench-review: you can stop, add papers and
    questions, and start again. Another --system fills the table anew, and the table
    shows what changed.

    Reviewers see each other's answer to a cell after giving their own; with
    --blind, never. --report shows how they agree and where they differ. They settle
    these disputes on the page Disputes, or the --adjudicator does. --assign writes
    who answers what to FOLDER/evidencebench-review/assigned.csv.

    \b
    .csv .xlsx  one row per cell; .xlsx also one per paper and accepted sentence
    .ris        one note per question, for a reference manager
    .docx       by question, with quotations and their pages
    .zip        the PDFs, with accepted sentences highlighted
    .json       a data set, to score and train systems

    \b
    Examples:
      evidencebench review papers --questions questions.txt --open
      evidencebench review papers --blind --assign Ada,Bo --adjudicator Cy
      evidencebench review papers --report
      evidencebench review papers --export review.xlsx --export review.json
    """
    if asks_model(spec):
        raise click.UsageError(
            f"--system: {spec} asks a language model, and the desk's table would ask it about every paper and question "
            "without a limit; ask it with 'find', which has --max-cost-usd and --estimate"
        )
    system = make_system(spec, seed=resampling.seed)
    for file in exports:
        if file.suffix.lower() not in SUFFIXES:
            raise click.UsageError(f"--export: {file}: expected a name that ends in {', '.join(SUFFIXES)}")
        refuse_existing(file, overwrite=overwrite, option="--export", no_stream="has what was decided")
    papers = papers_of(folder, questions)
    desk = open_desk(folder, papers, questions, system_key(system))
    if reviewers:
        assign(desk.folder, (paper.file for paper in papers), reviewers.split(","))
    if is_report or exports:
        table = ReviewTable(desk, decision_folder(desk.folder))
        for file in exports:
            note_export(desk.folder, file)
            made = export(table, SUFFIXES[file.suffix.lower()])
            write_whole(file, made.content)
            for words in made.told:
                print_prose(printable(words), err=True)
            click.echo(f"{file}: {counted(sum(cell.decided is not None for cell in table.cells()), 'cell')}", err=True)
        if is_report:
            _print_report(report_review(table, resampling), table_format, as_json=as_json, level=resampling.level)
        return
    with serving.listening("review") as (address, serve):
        from evidencebench.pages.people.review import review_tasks  # noqa: PLC0415 - an extra

        n_workers = max(1, min(_MOST_WORKERS, (os.cpu_count() or 2) - 1))  # one is for the pages
        with closing(review_tasks(desk, is_blind=is_blind, adjudicator=adjudicator)) as tasks:
            desk.fill(Processes(n_workers), spec, seed=resampling.seed)
            what = f"{counted(len(papers), 'paper')} x {counted(len(desk.questions), 'question')}"
            serve(tasks.make_app(address), f"reviewing {printable(folder.name)}, {what},")


def papers_of(folder: Path, questions: Path | None) -> list[DeskPaper]:
    found = []
    exported = exported_names(folder / DESK_NAME)
    for file in paper_files([str(folder)]):
        path = Path(file.name)
        if questions is not None and path.exists() and path.samefile(questions):
            continue
        inside = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name
        if inside in exported:
            continue
        inside = sendable(inside)  # a name need not be UTF-8
        problem = "" if file.error is None else str(file.error)
        paper = DeskPaper(path=path, file=inside, title=file.title, ids=file.ids, about=file.about, problem=problem)
        found.append(paper)
    return found


def _print_report(report: ReviewReport, table_format: str, *, as_json: bool, level: float) -> None:
    if as_json:
        print_json({**asdict(report), "level": level})
        return
    for table in _tables(report, level):
        print_table(table, table_format)
    if report.pairs:
        print_prose(
            "undefined: both gave one answer everywhere. no interval: too few papers, or no spread between them."
        )
    for file, reason in report.unread.items():
        print_prose(printable(f"{file}: not read: {reason}"), err=True)
    if report.n_elsewhere:
        n = counted(report.n_elsewhere, "answer")
        print_prose(f"{n} left out: the paper, its text or the question is gone", err=True)
    n_open = sum(not one.agreed for one in report.disputes)
    click.echo(f"\n{counted(len(report.disputes), 'dispute')}, {n_open:,} not resolved")
    for one in report.disputes[:_MOST_SHOWN]:
        sides = ", ".join(f"{person}: {words}" for person, words in one.sides.items())
        what = " (in which sentences)" if one.is_of_sentences else ""
        agreed = f"; agreed by {one.agreed_by}: {one.agreed}" if one.agreed else ""
        print_prose(printable(f"{one.paper}: {one.question} {sides}{what}{agreed}"), "  ")
    if n_more := max(0, len(report.disputes) - _MOST_SHOWN):
        print_prose(f"and {n_more:,} more; --json has all, and the page 'Disputes' of 'review'", "  ")


def _tables(report: ReviewReport, level: float) -> Iterator[Table]:
    size = f"{counted(report.n_papers, 'paper')} x {counted(report.n_questions, 'question')}"
    yield Table(
        title=f"{size}: {counted(report.n_found, 'cell')} asked, {report.n_decided:,} decided",
        columns=["reviewer", "decided", "blind", "sentences", "minutes"],
        rows=[(one.person, one.n_decided, one.n_blind, one.n_accepted, one.minutes) for one in report.reviewers],
    )
    of_pairs = [(f"{one.first} - {one.second}", one) for one in report.pairs if one.n_cells]
    if not of_pairs:
        return
    intervals = f"in %, with {100 * level:g} % intervals over papers"
    of_kinds = [(name, kind) for name, one in of_pairs for kind in one.kinds]
    yield Table(
        title=f"Agreement on answers {intervals}",
        columns=["pair", "answer", "cells", "differing", *MEASURES.values()],
        rows=[
            (name, kind.kind, kind.n_cells, kind.n_differing, *(str(kind.measures.get(key, "")) for key in MEASURES))
            for name, kind in of_kinds
        ],
    )
    numbers = [(name, kind.n_numbers, kind.n_exact, kind.n_close) for name, kind in of_kinds if kind.n_numbers]
    if numbers:
        columns = ["pair", "cells", "equal", "within 5 %"]
        yield Table(title="Numbers that both gave", columns=columns, rows=numbers)
    yield Table(
        title=f"Agreement on sentences {intervals}",
        columns=["pair", *LABELS.values()],
        rows=[(name, *(str(one.sentences[key]) for key in LABELS)) for name, one in of_pairs],
    )
