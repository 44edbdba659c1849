"""Whether the runs use the hypothesis."""

from evidencebench.figures import Bar, difference_chart
from evidencebench.markup import Child, Node, node
from evidencebench.report.blocks import code, figure, foreign, note, paragraph, section, shown_list
from evidencebench.report.findings import Findings
from evidencebench.report.hypotheses import Hypotheses, Swap
from evidencebench.report.sections.opening import points
from evidencebench.reporting import percent
from evidencebench.runs import RunFile
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
        *_unmeasured(findings, found),
        _unpaired(found),
    )


def _measured(findings: Findings, found: Hypotheses) -> Node:
    task = findings.tasks[0].name
    bars = [_bar(swap, task) for swap in found.swaps]
    chart = difference_chart(
        bars, title=f"{task}: own hypothesis - wrong hypothesis", unit="difference in aspect recall, points"
    )
    rows: list[list[Cell]] = [row for swap in found.swaps for row in _rows(swap)]
    columns = ["system", "task", "own", "wrong", "own - wrong, points", "p (Holm)", "overlap, %", "n"]
    return figure(
        chart, Table(title="Own against wrong hypothesis: aspect recall in %", columns=columns, rows=rows), is_open=True
    )


def _bar(swap: Swap, task: str) -> Bar:
    difference = swap.comparisons[task].test.difference
    note_text = f"p = {swap.p_values[task]:.4f}"
    return Bar(name=swap.system, mean=difference.mean, low=difference.low, high=difference.high, note=note_text)


def _rows(swap: Swap) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for task, one in swap.comparisons.items():
        difference = one.test.difference
        shown = points(difference.mean, difference.low, difference.high)
        means: list[Cell] = [100 * one.first.mean, 100 * one.second.mean]
        p_value = f"{swap.p_values[task]:.4f}"
        rows.append([swap.system, task, *means, shown, p_value, percent(one.overlap), difference.n])
    return rows


def _unmeasured(findings: Findings, found: Hypotheses) -> list[Node]:
    if not found.unmeasured:
        return []
    items = []
    for label, command in found.unmeasured.items():
        told: Child = code(command) if command is not None else _why_not(findings.graded.runs[label])
        items.append(node("span", None, foreign(label), ": ", told))
    said = "Not measured" if found.swaps else "Not measured for any run"
    return [paragraph(f"{said}. To measure it, make these runs and add them to the report:"), shown_list(*items)]


def _why_not(run: RunFile) -> str:
    return "the run does not say what made it" if run.header is None else "no command asks it again"


def _unpaired(found: Hypotheses) -> Node | None:
    if not found.unpaired:
        return None
    labels = [foreign(label) for label in found.unpaired]
    return paragraph("Without the run of the same system and options with its own hypotheses: ", shown_list(*labels))
