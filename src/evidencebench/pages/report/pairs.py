"""Every pair of runs, and every run against every control that reads no labels, on every task."""

from itertools import combinations

from evidencebench.pages.figures import Bar, bar_of, difference_chart, reach_of, stacked
from evidencebench.pages.markup import Node
from evidencebench.pages.report.blocks import figure, note, points, section, shown_table
from evidencebench.pages.report.findings import Findings
from evidencebench.scoring.pairs import Pair, Pairs, compare_pairs
from evidencebench.scoring.ranks import can_be_significant
from evidencebench.scoring.score_texts import percent
from evidencebench.tables import Cell, Table
from evidencebench.wording import counted


def pairs_of_runs(findings: Findings) -> Pairs:
    """Compare every pair of runs, as ``evidencebench compare`` does."""
    pairs = list(combinations(findings.scored.runs, 2))
    return compare_pairs([(findings.columns(task), pairs) for task in findings.tasks], findings.resampling)


def pairs_with_controls(findings: Findings) -> Pairs:
    """Compare every run with every control that reads no labels."""
    asked = []
    for task in findings.tasks:
        controls = findings.label_free_controls(task)
        runs = [findings.name_of(row) for row in findings.board[task.name] if not row.is_control]
        asked.append((findings.columns(task), [(run, one) for run in runs if run not in controls for one in controls]))
    return compare_pairs(asked, findings.resampling, with_overlaps=False)


_MOST_DRAWN = 30


def pairs_section(findings: Findings, runs: Pairs, controls: Pairs) -> Node:
    """Return every pair of runs, and every run against the controls."""
    return section(
        "pairs",
        "Pair by pair",
        note(
            "Differences are first - second in points of aspect recall, on the same instances. p is from sign flips of "
            "each paper's difference, adjusted by Holm over all tests of its table, of all tasks; ranks "
            f"are by Holm over the pairs of one task, and so can find more. At least {runs.resampling.n_draws:,} "
            "flips are drawn where they are too many to try all. The detectable difference is "
            "what this data would find at the 5 % level with 80 % power."
        ),
        *(
            (_tested(findings, "Runs against runs", runs), _no_verdict(runs))
            if runs.members
            else (note("There is one run, so no pair of runs to compare."),)
        ),
        *((_against_controls(findings, controls), _no_verdict(controls)) if controls.members else ()),
    )


def _tested(findings: Findings, title: str, pairs: Pairs) -> Node:
    """Return a chart with a row a pair, and its table."""
    drawn, table = _drawn(findings, pairs), _table(title, pairs)
    if not drawn:
        return shown_table(table)
    sides = (drawn[0].second, drawn[0].first) if len(drawn) == 1 else ("second", "first")
    bars = [_bar(f"{pair.first} - {pair.second}", pair) for pair in drawn]
    return figure(difference_chart(bars, title=f"{title}: {findings.tasks[0].name}", sides=sides), table, is_open=True)


def _against_controls(findings: Findings, pairs: Pairs) -> Node:
    """Return a chart a run, so that its rows need the controls' names only, and the table of all."""
    title = "Runs against the controls that read no labels"
    drawn, table = _drawn(findings, pairs), _table(title, pairs)
    if not drawn:
        return shown_table(table)
    reach = reach_of([_bar("", pair) for pair in drawn])
    charts = [
        difference_chart(
            [_bar(pair.second, pair) for pair in drawn if pair.first == run],
            title=f"{findings.tasks[0].name}, against controls: {run}",
            sides=("the control", run),
            reach=reach,
        )
        for run in dict.fromkeys(pair.first for pair in drawn)
    ]
    return figure(stacked(charts, title=f"{title}: {findings.tasks[0].name}"), table)


def _drawn(findings: Findings, pairs: Pairs) -> list[Pair]:
    """Return the pairs on the first task, or none where they are too many for a chart."""
    drawn = [pair for pair in pairs.members if pair.comparison.task == findings.tasks[0]]
    return drawn if len(drawn) <= _MOST_DRAWN else []


def _bar(name: str, pair: Pair) -> Bar:
    return bar_of(name, pair.comparison.test.difference, note=f"p = {pair.p_value:.4f}")


def _no_verdict(pairs: Pairs) -> Node | None:
    """Return why nothing in a table can be significant; None where something can."""
    n_papers = max(pair.comparison.test.difference.n_clusters for pair in pairs.members)
    n_tests = len(pairs.members)
    if can_be_significant(n_papers, n_tests):
        return None
    of = f"{counted(n_papers, 'paper')} and {counted(n_tests, 'test')}"
    return note(f"With {of} no difference in this table can be significant.")


def _table(title: str, pairs: Pairs) -> Table:
    columns = ["first", "second", "task", "difference, points", "p (Holm)"]
    columns += ["better", "equal", "worse", "detectable, points", "n"]
    rows = [_row(pair) for pair in pairs.members]
    if any(pair.comparison.overlap is not None for pair in pairs.members):
        columns.append("overlap, %")
        rows = [
            [*row, percent(pair.comparison.overlap, alone="")] for row, pair in zip(rows, pairs.members, strict=True)
        ]
    return Table(title=title, columns=columns, rows=rows)


def _row(pair: Pair) -> list[Cell]:
    found = pair.comparison
    test, difference = found.test, found.test.difference
    detectable = None if test.minimum_detectable is None else 100 * test.minimum_detectable
    names: list[Cell] = [pair.first, pair.second, found.task.name]
    counts: list[Cell] = [test.n_better, test.n_equal, test.n_worse]
    return [*names, points(difference), f"{pair.p_value:.4f}", *counts, detectable, difference.n]
