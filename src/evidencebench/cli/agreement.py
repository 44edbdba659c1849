"""``evidencebench agreement``: check the labels of a data set with people."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.main import LazyGroup
from evidencebench.cli.options import PageServing, argument, option
from evidencebench.cli.output import (
    OutputFile,
    print_cautions,
    print_json,
    print_prose,
    print_table,
    progress,
    refuse_existing,
)
from evidencebench.construction.people import agreement
from evidencebench.construction.people.agreement import Agreement, Contrast, MarkReport
from evidencebench.construction.people.exchange import TOOLS, collect_annotations
from evidencebench.construction.people.marks import LABELS, collect_marks
from evidencebench.construction.people.sampling import draw_tasks, summaries_in
from evidencebench.construction.people.tasks import Criterion, TaskSort, read_tasks, write_tasks
from evidencebench.data.dataset import open_dataset
from evidencebench.files.atomic import write_whole
from evidencebench.pages.disagreements import disagreements_page
from evidencebench.scoring.resampling import Resampling
from evidencebench.tables import Cell, Table, as_csv, printable
from evidencebench.wording import counted


@options.command
def sample(
    *,
    data: options.Data,
    n_papers: Annotated[int, options.number("--papers N", "How many papers; one task each.")] = 50,
    sort: Annotated[TaskSort, option("--sort", "Mark the sentences of an aspect, or rate.")],
    drafts: Annotated[Path | None, option("--drafts FILE", "The drafts of D, so that people see the summaries.")],
    tools: Annotated[
        tuple[str, ...], option("--for", "Also write files for a tool; repeatable.", click.Choice(list(TOOLS)))
    ],
    seed: options.Seed,
    output: Annotated[Path, options.output("FILE", "The tasks, as .jsonl.")],
    overwrite: Annotated[bool, option("--overwrite", "Replace files that exist.")],
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> None:
    """Draw what people are asked, blind, also for other tools.

    Of each paper one aspect is drawn, all equally likely, and all sentences are to
    be judged. With --sort hypotheses or aspects, people say yes or no to criteria
    instead. The files hold no labels. The same data, seed and number give the same
    tasks. Files for other tools lie beside FILE, as tasks.csv or
    tasks.label-studio.json and .xml.

    \b
    Example:
      evidencebench agreement sample --data sample --papers 5 -o tasks.jsonl \\
        --for csv --for label-studio
    """
    others = {output.with_name(f"{output.stem}.{end}"): make for tool in tools for end, make in TOOLS[tool].items()}
    for path in (output, *others):
        refuse_existing(path, overwrite=overwrite, no_stream="cannot be read again by 'agreement report'")
    with progress("drawing", progress_style):
        summaries = summaries_in(drafts) if drafts else None
        drawn = draw_tasks(open_dataset(data), sort=sort, n_papers=n_papers, seed=seed, summaries=summaries)
    write_tasks(output, drawn.header, drawn.tasks)
    tasks = read_tasks(output)
    for path, make in others.items():
        write_whole(path, make(tasks))
    written = [str(path) for path in (output, *others)]
    if as_json:
        n_sentences = {"n_sentences": drawn.n_pairs, "n_positives": drawn.n_positives}
        counts = {"n_tasks": len(drawn.tasks), "n_papers_to_draw_from": drawn.n_papers, **n_sentences}
        print_json({"files": written, "seed": seed, "sort": sort, **counts})
        return
    click.echo("\n".join(written))
    click.echo(f"{counted(len(drawn.tasks), 'task')}, a paper each, from {counted(drawn.n_papers, 'paper')}")
    if drawn.n_positives is not None:
        click.echo(f"{counted(drawn.n_pairs, 'sentence')} to judge; the labels mark {drawn.n_positives:,} of them")
        click.echo("(not in the files: do not tell the annotators)")
    for criterion in drawn.header.criteria:
        click.echo(f"{criterion.name}: {criterion.question}")


@options.command
def annotate(
    *,
    tasks_file: Annotated[Path, argument("TASKS")],
    folder: Annotated[Path, option("--folder", "Where annotations are kept; made if missing.", options.FOLDER)],
    serving: PageServing,
) -> None:
    """Let people annotate TASKS in a browser, and adjudicate.

    TASKS is what 'agreement sample' wrote. People sign in with a name and mark the
    sentences that hold the shown aspect, with mouse or keyboard. Every mark is
    saved at once. Where people differ on a task, the page shows them side by side,
    and one decides.

    \b
    Example:
      evidencebench agreement annotate tasks.jsonl --folder annotations --open
    """
    tasks = read_tasks(tasks_file)
    with serving.listening("agreement annotate") as (address, serve):
        from evidencebench.pages.people.annotations import annotation_tasks  # noqa: PLC0415 - an extra

        what = f"people annotate {counted(len(tasks.records), 'task')} of {printable(tasks_file.name)}"
        serve(annotation_tasks(tasks, folder).make_app(address), what)


_DEFAULT_MARGIN = 0.05
_MOST_SHOWN = 5
_VERDICTS = (
    "Not shown does not mean different. Not worse: the model agrees with people as they do with each other, or better. "
    "Accuracy is not tested: marks are rare, so that all agree on most."
)


_Team = tuple[str, tuple[str, ...]]


def _team(text: str) -> _Team:
    team, _, members = text.partition("=")
    names = tuple(name.strip() for name in members.split(",") if name.strip())
    if not team.strip() or not names:
        raise ValueError(f"expected NAME=MEMBER,MEMBER, got {text!r}")
    return team.strip(), names


@options.command
def report(
    *,
    sources: Annotated[tuple[Path, ...], argument("SOURCE...", required=True)],
    tasks_file: Annotated[Path, option("--tasks FILE", "The tasks.")],
    data: Annotated[str | None, options.data_option("Data with the model's labels; without, people are compared.")],
    model_name: Annotated[str, option("--model-name NAME", "What to call the labels.")] = "model",
    teams: Annotated[
        tuple[_Team, ...],
        option("--team T=A,B", "Annotators who stand as one; repeatable.", options.Parsed("team", _team)),
    ],
    margin: Annotated[
        float, option("--margin SHARE", "Differences up to it count as equivalent.", options.OPEN_SHARE)
    ] = _DEFAULT_MARGIN,
    disagreements: Annotated[
        Path | None,
        option("--disagreements FILE", "Write all: as CSV, or as a page if FILE ends in .html.", OutputFile()),
    ],
    overwrite: Annotated[bool, option("--overwrite", "Replace the file of disagreements.")],
    resampling: options.ResamplingChoice,
    as_json: options.AsJson,
    table_format: Annotated[str, options.output_format("text", "markdown", "latex")],
    progress_style: options.ProgressStyle,
) -> None:
    """Report how people agree with each other and with the model.

    SOURCE is a folder of 'agreement annotate', a JSON export of Label Studio, or a
    CSV (named after its annotator, unless the column annotator is filled).

    Intervals are studentised bootstraps over papers. Equivalence is shown where
    both one-sided tests reject a difference beyond the margin at the 5 % level;
    choose it before you look. A team marks what at least half of its members mark.

    \b
    Examples:
      evidencebench agreement report people/ --tasks tasks.jsonl --data D
      evidencebench agreement report ada.csv bo.csv --tasks tasks.jsonl \\
        --data D --margin 0.1 --disagreements differ.csv
    """
    tasks = read_tasks(tasks_file)
    if len(dict(teams)) < len(teams):
        raise click.UsageError("--team: expected each team once")
    if disagreements:
        refuse_existing(disagreements, overwrite=overwrite, no_stream="has the report", option="--disagreements")
    annotations, problems = collect_annotations(sources, tasks)
    print_cautions(problems)
    if tasks.header.sort != "sentences":
        if disagreements or teams or data:
            raise click.UsageError("--data, --team, --disagreements: expected tasks of the sort 'sentences'")
        rated = agreement.report_ratings(tasks, annotations, resampling.level)
        if as_json:
            print_json({**asdict(rated), "warnings": problems})
        else:
            _print_ratings(rated, tasks.header.criteria, table_format)
        return
    with progress("comparing", progress_style):
        dataset = None if data is None else open_dataset(data)
        marks = collect_marks(tasks, annotations, dataset=dataset, model_name=model_name, teams=dict(teams))
        report = agreement.report_marks(marks, resampling=resampling, margin=margin)
    if disagreements:
        page = disagreements_page(report.disagreements, title=f"Disagreements in {tasks_file.name}")
        sheet = f"{as_csv(agreement.disagreement_table(report.disagreements, marks.raters))}\n"
        write_whole(disagreements, page if disagreements.suffix == ".html" else sheet)
    if as_json:
        print_json({**asdict(report), "warnings": problems})
        return
    for table in _tables(report, resampling):
        print_table(table, table_format)
    if report.everything.contrasts:
        chosen = "the default; choose your own before you look" if margin == _DEFAULT_MARGIN else "as given"
        print_prose(f"The margin of equivalence is {100 * margin:g} points ({chosen}).")
    print_prose(
        "undefined: the formula divides by 0, as where nobody marked anything. no interval: too few papers with marks, "
        "or no spread between papers."
    )
    _print_disagreements(report.disagreements)


def _print_ratings(report: agreement.RatingsReport, criteria: Sequence[Criterion], table_format: str) -> None:
    rows: list[list[Cell]] = [
        [
            share.criterion,
            share.rater,
            f"{share.n_yes} of {share.n}",
            f"{100 * share.n_yes / share.n:.1f} {_interval(share.low, share.high)}",
        ]
        for share in report.shares
    ]
    notes = [f"{criterion.name}: {criterion.question}" for criterion in criteria]
    if report.n_shared:
        notes += [
            f"{name}: all say the same of {n} of the {report.n_shared} tasks that several people rated"
            for name, n in report.n_unanimous.items()
        ]
    title = f"{counted(report.n_tasks, 'task')}; exact intervals; a tie of the majority is a no"
    columns = ["criterion", "rater", "yes", "% [interval]"]
    print_table(Table(title=title, columns=columns, rows=rows, notes=notes), table_format)


def _tables(report: MarkReport, resampling: Resampling) -> Iterator[Table]:
    raters: list[list[Cell]] = [
        [one.rater, one.n_tasks, one.n_sentences, one.n_marked, 100 * one.n_marked / max(1, one.n_sentences)]
        for one in report.raters
    ]
    title = f"{counted(report.n_tasks, 'task')} of {counted(report.n_papers, 'paper')}"
    yield Table(title=title, columns=["rater", "done", "sentences", "marked", "% marked"], rows=raters)
    everything, contrasts = report.everything, report.everything.contrasts
    pairs: list[list[Cell]] = [
        [f"{pair.first} - {pair.second}", pair.n_tasks, *(_cell(pair.measures[name]) for name in LABELS)]
        for pair in everything.pairs
    ]
    notes = [f"Krippendorff's alpha of all people: {_cell(everything.alpha_people)}"]
    notes += [f"... and the model: {_cell(everything.alpha_all)}"] if contrasts else []
    title = f"Agreement in %, with {100 * resampling.level:g} % intervals over papers"
    yield Table(title=title, columns=["pair", "tasks", *LABELS.values()], rows=pairs, notes=notes)
    if not contrasts:
        return
    sides = ["human-human", "human-model", "difference"]
    rows: list[list[Cell]] = [
        [LABELS[one.measure], *_means(one), "undefined" if one.p_value is None else f"{one.p_value:.4f}"]
        for one in contrasts
    ]
    title = "People with each other, people with the model, and the difference in points"
    yield Table(title=title, columns=["measure", *sides, "p"], rows=rows)
    points = f"{100 * report.margin:g} points"
    yield Table(
        title=f"Equivalence within {points}: two one-sided tests at the 5 % level",
        columns=["measure", "90 % interval", "equivalent", "model not worse"],
        rows=list(filter(None, map(_equivalence_row, contrasts))),
        notes=[_VERDICTS],
    )
    yield Table(
        title=f"Power: papers for a chance of {100 * agreement.WANTED_POWER:g} % to show equivalence ({points})",
        columns=["measure", "papers now", "chance now", "needed"],
        rows=list(map(_power_row, report.power)),
        notes=["Both suppose no true difference."],
    )
    by_kind: list[list[Cell]] = [
        [f"{kind}, {LABELS[contrast.measure]}", *_means(contrast)]
        for kind, comparison in report.by_kind.items()
        for contrast in comparison.contrasts
        if contrast.measure in {"f1", "kappa"}
    ]
    yield Table(title="By kind of sentence", columns=["kind of sentence", *sides], rows=by_kind)


def _equivalence_row(contrast: Contrast) -> list[Cell]:
    if (test := contrast.equivalence) is None:
        return []
    tests = ((test.is_shown, test.p_value), (test.is_not_worse, test.p_not_worse))
    verdicts = (
        "undefined" if p_value is None else f"{'shown' if is_shown else 'not shown'}, p {p_value:.4f}"
        for is_shown, p_value in tests
    )
    return [LABELS[contrast.measure], _interval(test.low, test.high) or "none", *verdicts]


def _power_row(power: agreement.Power) -> list[Cell]:
    if power.now is None:
        return [LABELS[power.measure], power.n_papers, "undefined", "undefined"]
    n = power.needed
    most, fewest = agreement.MOST_PAPERS, agreement.FEWEST_PAPERS
    needed = f"over {most:,}" if n is None else f"{n:,}" if n > fewest else f"at most {n}"
    return [LABELS[power.measure], power.n_papers, f"{100 * power.now:.0f} %", needed]


def _print_disagreements(rows: Sequence[agreement.Disagreement]) -> None:
    click.echo(f"\n{counted(len(rows), 'sentence')} on which raters differ")
    for row in rows[:_MOST_SHOWN]:
        click.echo()
        print_prose(f"{row.task}, sentence {row.number} ({row.kind}): {printable(row.sentence)}")
        print_prose(f"  aspect: {printable(row.aspect)}")
        print_prose(printable(f"  marked by {', '.join(row.marked_by)}; not by {', '.join(row.not_marked_by)}"))
    if len(rows) > _MOST_SHOWN:
        click.echo(f"\n... {len(rows) - _MOST_SHOWN:,} more; --disagreements FILE writes all")


def _cell(one: Agreement) -> str:
    if one.value is None:
        return "undefined"
    return f"{100 * one.value:.1f} {_interval(one.low, one.high) or '(no interval)'}"


def _means(contrast: Contrast) -> list[str]:
    return [_cell(contrast.human_human), _cell(contrast.human_model), _cell(contrast.difference)]


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{100 * low:.1f}, {100 * high:.1f}]"


command = LazyGroup("agreement", commands=[sample, annotate, report])
