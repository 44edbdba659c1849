"""Whether the runs use the hypothesis."""

from collections.abc import Mapping

from evidencebench.pages.figures import Bar, difference_chart
from evidencebench.pages.markup import Child, Node, node
from evidencebench.pages.report.blocks import (
    bar_of,
    code,
    figure,
    foreign,
    note,
    overlap_text,
    paragraph,
    points,
    section,
    shown_list,
)
from evidencebench.pages.report.findings import Findings
from evidencebench.pages.report.hypotheses import Hypotheses, Swap
from evidencebench.tables import Cell, Table


def hypotheses_section(findings: Findings, found: Hypotheses) -> Node:
    """Return each run against itself asked with other papers' hypotheses, and what is not measured."""
    return section(
        "hypotheses",
        "Wrong-hypothesis control",
        note(
            "The same system, asked about each paper with the hypothesis of another. A high score alone does not show "
            "that a system used the hypothesis: where recall stays and the selections overlap, it did not. Runs with "
            "wrong hypotheses are shown here only; they are on no leaderboard."
        ),
        _measured(findings, found) if found.swaps else None,
        *_unmeasured(found),
        _unpaired(found),
        _unused(found),
    )


def _measured(findings: Findings, found: Hypotheses) -> Node:
    task = findings.tasks[0].name
    bars = [_bar(findings, swap, task) for swap in found.swaps]
    chart = difference_chart(
        bars, title=f"{task}: own hypothesis - wrong hypothesis", sides=("wrong hypothesis", "own hypothesis")
    )
    rows: list[list[Cell]] = [row for swap in found.swaps for row in _rows(swap)]
    columns = ["system", "task", "own", "wrong", "own - wrong, points", "p (Holm)", "overlap, %", "n"]
    return figure(
        chart, Table(title="Own against wrong hypothesis: aspect recall in %", columns=columns, rows=rows), is_open=True
    )


def _bar(findings: Findings, swap: Swap, task: str) -> Bar:
    series = findings.series_of(swap.system, is_control=False)
    note_text = f"p = {swap.p_values[task]:.4f}"
    return bar_of(swap.system, swap.comparisons[task].test.difference, note=note_text, series=series)


def _rows(swap: Swap) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for task, one in swap.comparisons.items():
        difference = one.test.difference
        means: list[Cell] = [100 * one.first.mean, 100 * one.second.mean]
        p_value = f"{swap.p_values[task]:.4f}"
        rows.append([swap.system, task, *means, points(difference), p_value, overlap_text(one.overlap), difference.n])
    return rows


def _unmeasured(found: Hypotheses) -> list[Node]:
    said = "Not measured" if found.swaps else "Not measured for any run"
    makes = {label: code(one.command) for label, one in found.unmeasured.items() if one.command}
    reasons = {label: one.reason for label, one in found.unmeasured.items() if not one.command}
    parts = []
    if makes:
        parts += [paragraph(f"{said}. To measure it, make these runs and add them to the report:"), _by_run(makes)]
    if reasons:
        parts += [paragraph("Not to be measured:" if makes else f"{said}:"), _by_run(reasons)]
    return parts


def _by_run(told: Mapping[str, Child]) -> Node:
    return shown_list(*(node("span", None, foreign(label), ": ", one) for label, one in told.items()))


def _unused(found: Hypotheses) -> Node | None:
    if not found.unused:
        return None
    told = {label: node("span", None, foreign(other), " stands in its place") for label, other in found.unused.items()}
    return node("div", None, paragraph("Not used, since another seed of the same system is preferred:"), _by_run(told))


def _unpaired(found: Hypotheses) -> Node | None:
    if not found.unpaired:
        return None
    labels = [foreign(label) for label in found.unpaired]
    said = paragraph("Without the run of the same system and options with its own hypotheses: ")
    return node("div", None, said, shown_list(*labels))
