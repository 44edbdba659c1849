"""``evidencebench agreement report``."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.options import Finite, argument, option
from evidencebench.cli.output import (
    OutputFile,
    print_cautions,
    print_json,
    print_prose,
    print_table,
    progress,
    refuse_existing,
    require_file,
)
from evidencebench.construction.people.agreement import (
    FEWEST_PAPERS,
    MOST_PAPERS,
    WANTED_POWER,
    Agreement,
    Contrast,
    Disagreement,
    MarkReport,
    Power,
    RatingsReport,
    disagreement_table,
    report_marks,
    report_ratings,
)
from evidencebench.construction.people.exchange import collect_annotations
from evidencebench.construction.people.marks import LABELS, collect_marks
from evidencebench.construction.people.tasks import Criterion, read_tasks
from evidencebench.data.dataset import open_dataset
from evidencebench.files.atomic import write_whole
from evidencebench.pages.disagreements import disagreements_page
from evidencebench.scoring.resampling import Resampling
from evidencebench.tables import Cell, Table, as_csv, printable
from evidencebench.wording import counted

_DEFAULT_MARGIN = 0.05
_MOST_SHOWN = 5
_VERDICTS = (
    "Not shown does not mean different. Not worse: the model agrees with people as they do with each other, or better. "
    "Accuracy is not tested: marks are rare, so that all agree on most."
)


def _team(text: str) -> tuple[str, tuple[str, ...]]:
    team, _, members = text.partition("=")
    names = tuple(name.strip() for name in members.split(",") if name.strip())
    if not team.strip() or not names:
        raise ValueError(f"expected NAME=MEMBER,MEMBER, got {text!r}")
    return team.strip(), names


@options.command
def command(
    *,
    sources: Annotated[tuple[Path, ...], argument("SOURCE...", required=True)],
    tasks_file: Annotated[Path, option("--tasks FILE", "The tasks.")],
    data: Annotated[
        str | None, options.data_option("The data set with the model's labels; without it, only people are compared.")
    ],
    model_name: Annotated[str, option("--model-name NAME", "What to call the labels.")] = "model",
    teams: Annotated[
        tuple[tuple[str, tuple[str, ...]], ...],
        option("--team T=A,B", "Annotators who stand as one; repeatable.", options.Parsed("team", _team)),
    ],
    margin: Annotated[
        float,
        option(
            "--margin SHARE",
            "Differences up to it count as equivalent: 0.05 is 5 points.",
            Finite(0, 1, min_open=True, max_open=True),
        ),
    ] = _DEFAULT_MARGIN,
    disagreements: Annotated[
        Path | None,
        option(
            "--disagreements FILE", "Write all disagreements: as CSV, or as a page if FILE ends in .html.", OutputFile()
        ),
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
        require_file(disagreements, "has the report", "--disagreements")
        refuse_existing(disagreements, overwrite=overwrite)
    annotations, problems = collect_annotations(sources, tasks)
    print_cautions(problems)
    if tasks.header.sort != "sentences":
        if disagreements or teams or data:
            raise click.UsageError("--data, --team, --disagreements: expected tasks of the sort 'sentences'")
        rated = report_ratings(tasks, annotations, resampling.level)
        if as_json:
            print_json({**asdict(rated), "warnings": problems})
        else:
            _print_ratings(rated, tasks.header.criteria, table_format)
        return
    with progress("comparing", progress_style):
        dataset = None if data is None else open_dataset(data)
        marks = collect_marks(tasks, annotations, dataset=dataset, model_name=model_name, teams=dict(teams))
        report = report_marks(marks, resampling=resampling, margin=margin)
    if disagreements:
        page = disagreements_page(report.disagreements, title=f"Disagreements in {tasks_file.name}")
        sheet = f"{as_csv(disagreement_table(report.disagreements, marks.raters))}\n"
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


def _print_ratings(report: RatingsReport, criteria: Sequence[Criterion], table_format: str) -> None:
    rows: list[list[Cell]] = [
        [
            share.criterion,
            share.rater,
            f"{share.n_yes} of {share.n}",
            f"{100 * share.n_yes / share.n:.1f} [{100 * share.low:.1f}, {100 * share.high:.1f}]",
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
        [
            *(rater.rater, rater.n_tasks, rater.n_sentences, rater.n_marked),
            100 * rater.n_marked / max(1, rater.n_sentences),
        ]
        for rater in report.raters
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
        [
            LABELS[contrast.measure],
            *_means(contrast),
            "undefined" if contrast.p_value is None else f"{contrast.p_value:.4f}",
        ]
        for contrast in contrasts
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
        title=f"Power: papers for a chance of {100 * WANTED_POWER:g} % to show equivalence ({points})",
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
    interval = "none" if test.low is None or test.high is None else _interval(test.low, test.high)
    tests = ((test.is_shown, test.p_value), (test.is_not_worse, test.p_not_worse))
    verdicts = (
        "undefined" if p_value is None else f"{'shown' if is_shown else 'not shown'}, p {p_value:.4f}"
        for is_shown, p_value in tests
    )
    return [LABELS[contrast.measure], interval, *verdicts]


def _power_row(power: Power) -> list[Cell]:
    if power.now is None:
        return [LABELS[power.measure], power.n_papers, "undefined", "undefined"]
    n = power.needed
    needed = f"over {MOST_PAPERS:,}" if n is None else f"{n:,}" if n > FEWEST_PAPERS else f"at most {n}"
    return [LABELS[power.measure], power.n_papers, f"{100 * power.now:.0f} %", needed]


def _print_disagreements(rows: Sequence[Disagreement]) -> None:
    click.echo(f"\n{counted(len(rows), 'sentence')} on which raters differ")
    for row in rows[:_MOST_SHOWN]:
        click.echo()
        print_prose(f"{row.task}, sentence {row.number} ({row.kind}): {printable(row.sentence)}")
        print_prose(f"  aspect: {printable(row.aspect)}")
        print_prose(
            f"  marked by {printable(', '.join(row.marked_by))}; not by {printable(', '.join(row.not_marked_by))}"
        )
    if len(rows) > _MOST_SHOWN:
        click.echo(f"\n... {len(rows) - _MOST_SHOWN:,} more; --disagreements FILE writes all")


def _cell(agreement: Agreement) -> str:
    if agreement.value is None:
        return "undefined"
    ends = "(no interval)"
    if agreement.low is not None and agreement.high is not None:
        ends = _interval(agreement.low, agreement.high)
    return f"{100 * agreement.value:.1f} {ends}"


def _means(contrast: Contrast) -> list[str]:
    return [_cell(contrast.human_human), _cell(contrast.human_model), _cell(contrast.difference)]


def _interval(low: float, high: float) -> str:
    return f"[{100 * low:.1f}, {100 * high:.1f}]"
