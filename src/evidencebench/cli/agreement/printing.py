"""The tables that ``evidencebench agreement report`` prints."""

from collections.abc import Iterator, Sequence

import click

from evidencebench.cli.output import print_prose, print_table
from evidencebench.construction.people.agreement import (
    FEWEST_PAPERS,
    MOST_PAPERS,
    WANTED_POWER,
    Agreement,
    Contrast,
    MarkReport,
    Power,
    RaterComparison,
    RatingsReport,
)
from evidencebench.construction.people.marks import LABELS
from evidencebench.construction.people.tasks import Criterion
from evidencebench.scoring.resampling import Resampling
from evidencebench.tables import Cell, Table, printable
from evidencebench.wording import counted

_MOST_SHOWN = 5
_NONE = "none"
_VERDICTS = (
    "Not shown does not mean different. Not worse: the model agrees with people as they do with each other, or better. "
    "Accuracy is not tested: marks are rare, so that all agree on most."
)


def print_mark_report(
    report: MarkReport, resampling: Resampling, table_format: str, *, is_default_margin: bool
) -> None:
    """Print the report where sentences were marked."""
    for table in _tables(report, resampling):
        print_table(table, table_format)
    if report.everything.contrasts:
        chosen = "the default; choose your own before you look" if is_default_margin else "as given"
        print_prose(f"The margin of equivalence is {100 * report.margin:g} points ({chosen}).")
    print_prose(
        "undefined: the formula divides by 0, as where nobody marked anything. no interval: too few papers with marks, "
        "or no spread between papers."
    )
    _print_disagreements(report)


def print_ratings(report: RatingsReport, criteria: Sequence[Criterion], table_format: str) -> None:
    """Print the report where criteria were rated."""
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
    counts: list[list[Cell]] = [
        [
            rater.rater,
            rater.n_tasks,
            rater.n_sentences,
            rater.n_marked,
            100 * rater.n_marked / max(1, rater.n_sentences),
        ]
        for rater in report.raters
    ]
    yield Table(
        title=f"{counted(report.n_tasks, 'task')} of {counted(report.n_papers, 'paper')}",
        columns=["rater", "done", "sentences", "marked", "% marked"],
        rows=counts,
    )
    level = f"{100 * resampling.level:g} %"
    yield _pairs_table(report.everything, f"Agreement in %, with {level} intervals over papers")
    contrasts = report.everything.contrasts
    if not contrasts:
        return
    rows: list[list[Cell]] = [
        [
            LABELS[contrast.measure],
            *_means(contrast),
            "undefined" if contrast.p_value is None else f"{contrast.p_value:.4f}",
        ]
        for contrast in contrasts
    ]
    yield Table(
        title="People with each other, people with the model, and the difference in points",
        columns=["measure", "human-human", "human-model", "difference", "p"],
        rows=rows,
    )
    yield _equivalence_table(contrasts)
    yield _power_table(report.power, report.margin)
    yield _kinds_table(report)


def _pairs_table(comparison: RaterComparison, title: str) -> Table:
    rows: list[list[Cell]] = [
        [f"{pair.first} - {pair.second}", pair.n_tasks, *(_cell(pair.measures[name]) for name in LABELS)]
        for pair in comparison.pairs
    ]
    notes = [f"Krippendorff's alpha of all people: {_cell(comparison.alpha_people)}"]
    if comparison.contrasts:
        notes.append(f"... and the model: {_cell(comparison.alpha_all)}")
    return Table(title=title, columns=["pair", "tasks", *LABELS.values()], rows=rows, notes=notes)


def _equivalence_table(contrasts: Sequence[Contrast]) -> Table:
    rows: list[list[Cell]] = []
    for contrast in contrasts:
        test = contrast.equivalence
        if test is None:
            continue
        interval = _NONE if test.low is None or test.high is None else _interval(test.low, test.high)
        verdicts: list[Cell] = [
            f"{'shown' if is_shown else 'not shown'}, p {p_value:.4f}" if p_value is not None else "undefined"
            for is_shown, p_value in ((test.is_shown, test.p_value), (test.is_not_worse, test.p_not_worse))
        ]
        rows.append([LABELS[contrast.measure], interval, *verdicts])
    margin = next(contrast.equivalence.margin for contrast in contrasts if contrast.equivalence)
    return Table(
        title=f"Equivalence within {100 * margin:g} points: two one-sided tests at the 5 % level",
        columns=["measure", "90 % interval", "equivalent", "model not worse"],
        rows=rows,
        notes=[_VERDICTS],
    )


def _power_table(powers: Sequence[Power], margin: float) -> Table:
    def papers(n: int | None) -> str:
        return f"over {MOST_PAPERS:,}" if n is None else f"{n:,}" if n > FEWEST_PAPERS else f"at most {n}"

    rows: list[list[Cell]] = []
    for power in powers:
        if not power.is_defined or power.now is None:
            rows.append([LABELS[power.measure], power.n_papers, "undefined", "undefined", "undefined"])
            continue
        as_observed = "never" if power.is_observed_beyond else papers(power.needed_as_observed)
        rows.append(
            [LABELS[power.measure], power.n_papers, f"{100 * power.now:.0f} %", papers(power.needed), as_observed]
        )
    return Table(
        title=f"Power: papers for a chance of {100 * WANTED_POWER:g} % to show equivalence ({100 * margin:g} points)",
        columns=["measure", "papers now", "chance now", "needed", "needed if as observed"],
        rows=rows,
        notes=["Chance now and needed suppose no true difference; the last column, the observed one."],
    )


def _kinds_table(report: MarkReport) -> Table:
    rows: list[list[Cell]] = [
        [f"{kind}, {LABELS[contrast.measure]}", *_means(contrast)]
        for kind, comparison in report.by_kind.items()
        for contrast in comparison.contrasts
        if contrast.measure in {"f1", "kappa"}
    ]
    columns = ["kind of sentence", "human-human", "human-model", "difference"]
    return Table(title="By kind of sentence", columns=columns, rows=rows)


def _print_disagreements(report: MarkReport) -> None:
    rows = report.disagreements
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
    value = f"{100 * agreement.value:.1f}"
    if agreement.low is None or agreement.high is None:
        return f"{value} (no interval)"
    return f"{value} {_interval(agreement.low, agreement.high)}"


def _means(contrast: Contrast) -> list[str]:
    return [_cell(contrast.human_human), _cell(contrast.human_model), _cell(contrast.difference)]


def _interval(low: float, high: float) -> str:
    return f"[{100 * low:.1f}, {100 * high:.1f}]"
