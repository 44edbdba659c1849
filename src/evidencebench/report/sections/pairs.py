"""The runs compared, pair by pair."""

from evidencebench.figures import Bar, difference_chart
from evidencebench.markup import Node
from evidencebench.report.blocks import figure, note, section, shown_table
from evidencebench.report.findings import Findings
from evidencebench.report.pairs import Pair, Pairs
from evidencebench.report.sections.opening import points
from evidencebench.reporting import percent
from evidencebench.tables import Cell, Table

_MOST_DRAWN = 30


def pairs_section(findings: Findings, runs: Pairs, controls: Pairs) -> Node:
    """Return every pair of runs, and every run against the controls."""
    return section(
        "pairs",
        "Pair by pair",
        note(
            "Differences are first - second in points of aspect recall, on the same instances. p is from sign flips of "
            "each paper's difference, adjusted by Holm over all tests of its table; at least "
            f"{runs.resampling.n_draws:,} are drawn where they are too many to try all. The detectable difference is "
            "what this data would find at the 5 % level with 80 % power."
        ),
        _tested(findings, "Runs against runs", runs, is_open=True)
        if runs.members
        else note("There is one run, so no pair of runs to compare."),
        _tested(findings, "Runs against the controls that read no labels", controls, is_open=False)
        if controls.members
        else None,
    )


def _tested(findings: Findings, title: str, pairs: Pairs, *, is_open: bool) -> Node:
    task = findings.tasks[0]
    drawn = [_bar(pair) for pair in pairs.members if pair.comparison.task == task]
    table = _table(title, pairs)
    if not drawn or len(drawn) > _MOST_DRAWN:
        return shown_table(table)
    return figure(difference_chart(drawn, title=f"{title}: {task.name}"), table, is_open=is_open)


def _bar(pair: Pair) -> Bar:
    difference = pair.comparison.test.difference
    return Bar(
        name=f"{pair.first} - {pair.second}",
        mean=difference.mean,
        low=difference.low,
        high=difference.high,
        note=f"p = {pair.p_value:.4f}",
    )


def _table(title: str, pairs: Pairs) -> Table:
    columns = ["first", "second", "task", "difference, points", "p (Holm)"]
    columns += ["better", "equal", "worse", "detectable, points", "n"]
    rows = [_row(pair) for pair in pairs.members]
    if any(pair.comparison.overlap is not None for pair in pairs.members):
        columns.append("overlap, %")
        rows = [[*row, percent(pair.comparison.overlap)] for row, pair in zip(rows, pairs.members, strict=True)]
    return Table(title=title, columns=columns, rows=rows)


def _row(pair: Pair) -> list[Cell]:
    found = pair.comparison
    test, difference = found.test, found.test.difference
    detectable = None if test.minimum_detectable is None else 100 * test.minimum_detectable
    names: list[Cell] = [pair.first, pair.second, found.task.name]
    counts: list[Cell] = [test.n_better, test.n_equal, test.n_worse]
    shown = points(difference.mean, difference.low, difference.high)
    return [*names, shown, f"{pair.p_value:.4f}", *counts, detectable, difference.n]
