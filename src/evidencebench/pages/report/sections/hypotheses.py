"""Whether the runs use the hypothesis."""

from collections.abc import Mapping

from evidencebench.pages.figures import Bar, bar_of, difference_chart
from evidencebench.pages.markup import Child, Node, node
from evidencebench.pages.report.blocks import (
    code,
    figure,
    foreign,
    note,
    paragraph,
    points,
    section,
    shown_list,
)
from evidencebench.pages.report.findings import Findings
from evidencebench.pages.report.hypotheses import Hypotheses
from evidencebench.scoring.pairs import Pair
from evidencebench.scoring.score_texts import percent
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
        _measured(findings, found) if found.pairs else None,
        *_unmeasured(found),
        _unpaired(found),
        _unused(found),
    )


def _measured(findings: Findings, found: Hypotheses) -> Node:
    task = findings.tasks[0].name
    bars = [_bar(findings, pair) for pair in found.pairs if pair.comparison.task.name == task]
    chart = difference_chart(
        bars, title=f"{task}: own hypothesis - wrong hypothesis", sides=("wrong hypothesis", "own hypothesis")
    )
    columns = ["system", "task", "own", "wrong", "own - wrong, points", "p (Holm)", "overlap, %", "n"]
    title = "Own against wrong hypothesis: aspect recall in %"
    return figure(chart, Table(title=title, columns=columns, rows=list(map(_row, found.pairs))), is_open=True)


def _bar(findings: Findings, pair: Pair) -> Bar:
    series = findings.series_of(pair.first, is_control=False)
    return bar_of(pair.first, pair.comparison.test.difference, note=f"p = {pair.p_value:.4f}", series=series)


def _row(pair: Pair) -> list[Cell]:
    found, difference = pair.comparison, pair.comparison.test.difference
    means: list[Cell] = [100 * found.first.mean, 100 * found.second.mean]
    overlap = percent(found.overlap, alone="")
    return [pair.first, found.task.name, *means, points(difference), f"{pair.p_value:.4f}", overlap, difference.n]


def _unmeasured(found: Hypotheses) -> list[Node]:
    said = "Not measured" if found.pairs else "Not measured for any run"
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
