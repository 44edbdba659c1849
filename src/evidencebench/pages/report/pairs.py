"""Every pair of runs, and every run against every control that reads no labels, on every task."""

from itertools import combinations

from evidencebench.pages.figures import Bar, bar_of, difference_chart, reach_of, stacked
from evidencebench.pages.markup import Node
from evidencebench.pages.report.blocks import figure, note, points_text, section, table_node
from evidencebench.pages.report.findings import Findings
from evidencebench.scoring.compare import Pair, Pairs, compare_pairs
from evidencebench.scoring.score_texts import percent
from evidencebench.scoring.significance import can_be_significant
from evidencebench.tables import Cell, Table
from evidencebench.wording import counted

_MOST_DRAWN = 30


def pairs_section(findings: Findings) -> Node:
    """Return the section with every pair of runs, as ``evidencebench compare`` has them, and runs against controls."""
    asked = list(combinations(findings.scored.runs, 2))
    runs = compare_pairs([(findings.columns(task), asked) for task in findings.tasks], findings.resampling)
    controls = _pairs_with_controls(findings)
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
        *(_show_pairs(findings, runs) if asked else [note("There is one run, so no pair of runs to compare.")]),
        *(_show_pairs(findings, controls, against_controls=True) if controls.members else []),
    )


def _pairs_with_controls(findings: Findings) -> Pairs:
    """Compare every run with every control that reads no labels."""
    asked = []
    for task in findings.tasks:
        controls = findings.label_free_controls(task)
        runs = [findings.name_of(row) for row in findings.standings[task.name] if not row.is_control]
        asked.append((findings.columns(task), [(run, one) for run in runs if run not in controls for one in controls]))
    return compare_pairs(asked, findings.resampling, with_overlaps=False)


def _show_pairs(findings: Findings, pairs: Pairs, *, against_controls: bool = False) -> list[Node]:
    """Return a chart of the first task's pairs (up to `_MOST_DRAWN`), a table of all, and a note on significance."""
    title = "Runs against the controls that read no labels" if against_controls else "Runs against runs"
    table = _table(title, pairs)
    task = findings.tasks[0]
    drawn = [pair for pair in pairs.members if pair.comparison.task == task]
    if not 0 < len(drawn) <= _MOST_DRAWN:
        shown = table_node(table)
    elif against_controls:
        shown = figure(stacked(_charts_by_run(drawn), title=f"{title}: {task.name}"), table)
    else:
        sides = (drawn[0].second, drawn[0].first) if len(drawn) == 1 else ("second", "first")
        bars = [_bar(f"{pair.first} - {pair.second}", pair) for pair in drawn]
        shown = figure(difference_chart(bars, title=f"{title}: {task.name}", sides=sides), table, is_open=True)
    n_papers = max(pair.comparison.test.difference.n_clusters for pair in pairs.members)
    n_tests = max(1, sum(pair.comparison.can_differ for pair in pairs.members))
    if can_be_significant(n_papers, n_tests):
        return [shown]
    of = f"{counted(n_papers, 'paper')} and {counted(n_tests, 'test')}"
    return [shown, note(f"With {of} no difference in this table can be significant.")]


def _charts_by_run(drawn: list[Pair]) -> list[Node]:
    """Return a chart for each run, with a row for each control."""
    reach = reach_of([_bar("", pair) for pair in drawn])
    return [
        difference_chart(
            [_bar(pair.second, pair) for pair in drawn if pair.first == run],
            title=f"{drawn[0].comparison.task.name}, against controls: {run}",
            sides=("the control", run),
            reach=reach,
        )
        for run in dict.fromkeys(pair.first for pair in drawn)
    ]


def _bar(name: str, pair: Pair) -> Bar:
    return bar_of(name, pair.comparison.test.difference, note=f"p = {pair.p_value:.4f}")


def _table(title: str, pairs: Pairs) -> Table:
    columns = ["first", "second", "task", "difference, points", "p (Holm)"]
    columns += ["better", "equal", "worse", "detectable, points", "n"]
    with_overlaps = any(pair.comparison.overlap is not None for pair in pairs.members)
    return Table(
        title=title,
        columns=[*columns, *(["overlap, %"] if with_overlaps else [])],
        rows=[_row(pair, with_overlap=with_overlaps) for pair in pairs.members],
    )


def _row(pair: Pair, *, with_overlap: bool) -> list[Cell]:
    found, test = pair.comparison, pair.comparison.test
    return [
        pair.first,
        pair.second,
        found.task.name,
        points_text(test.difference),
        f"{pair.p_value:.4f}",
        test.n_better,
        test.n_equal,
        test.n_worse,
        None if test.minimum_detectable is None else 100 * test.minimum_detectable,
        test.difference.n,
        *([percent(found.overlap, alone="")] if with_overlap else []),
    ]
