"""Recall at every budget."""

from collections.abc import Sequence

from evidencebench.pages.figures import ChartLine, line_chart
from evidencebench.pages.markup import Node
from evidencebench.pages.report.blocks import code, figure, note, section, shortened
from evidencebench.pages.report.curves import Curve, Curves
from evidencebench.pages.report.findings import Findings
from evidencebench.scoring.resampling import Estimate
from evidencebench.scoring.score_texts import percent
from evidencebench.tables import Cell, Table
from evidencebench.wording import counted

_SCOPES = {"all": "All aspects", "results": "Results aspects"}


def curves_section(findings: Findings, found: Sequence[Curves], largest: int) -> Node:
    """Return a chart and a table for each scope that has aspects."""
    scopes = {curves.scope for curves in found}
    apart = list(dict.fromkeys(label for curves in found for label in curves.apart))
    return section(
        "curves",
        "Recall by budget",
        note(
            f"Mean aspect recall when 1 to {largest} sentences count. The ceiling is the most that so many sentences "
            "can cover, proven for each instance; no system can be above it. Where it could not be proven for all, it "
            "is the mean over those where it was, and the table says over how many."
        ),
        *(_figure(findings, curves) for curves in found if curves.curves),
        None if "results" in scopes else note("No instance has Results aspects, so there is no curve for them."),
        None if any(curves.curves for curves in found) else note("There is no curve to draw."),
        note(
            "Asked each task apart, with its budget in the question, and so without answers at other budgets than ",
            f"those of its tasks: {', '.join(map(shortened, apart))}. Other budgets can be asked, as in ",
            code("evidencebench run ... --task er_at_5 --task er_at_15"),
            ".",
        )
        if apart
        else None,
    )


def _figure(findings: Findings, curves: Curves) -> Node:
    lines = [
        _line(curve, findings.series_of(curve.system, is_control=curve.is_control))
        for curve in curves.curves
        if any(curve.points)
    ]
    if any(curves.ceiling.points):  # the oracle draws the same curve
        lines.append(_line(curves.ceiling, findings.series_of("oracle", is_control=True)))
    title = f"{_SCOPES[curves.scope]}, {counted(curves.n, 'instance')}"
    chart = line_chart(lines, title=title, x_name="sentences that count", y_name="aspect recall, %")
    return figure(chart, _table(title, curves))


def _line(curve: Curve, series: int) -> ChartLine:
    points = [(k, float("nan") if point is None else point.mean) for k, point in enumerate(curve.points, 1)]
    return ChartLine(name=curve.system, points=points, is_control=curve.is_control, series=series)


def _table(title: str, curves: Curves) -> Table:
    shown = (*curves.curves, curves.ceiling)
    rows: list[list[Cell]] = [
        [str(k), *(_cell(point, curves.n) for point in points)]
        for k, points in enumerate(zip(*(curve.points for curve in shown), strict=True), 1)
    ]
    columns = ["sentences", *(f"{curve.system}\u00a0*" if curve.is_control else curve.system for curve in shown)]
    return Table(title=f"{title}: aspect recall in %", columns=columns, rows=rows)


def _cell(point: Estimate | None, n: int) -> str:
    """Return a mean, with the instances behind it where those are not all: of a ceiling that is not always proven."""
    if point is None:
        return ""
    told = percent(point, alone="")
    return told if point.n == n else f"{told} ({point.n:,} of {counted(n, 'instance')})"
