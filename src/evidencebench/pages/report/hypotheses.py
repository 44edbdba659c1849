"""The wrong-hypothesis control: what a run scores when each paper is asked another paper's hypothesis."""

from collections.abc import Mapping
from dataclasses import dataclass
from shlex import join
from typing import Any

from evidencebench.errors import SystemSpecError
from evidencebench.execution.system_table import SYSTEMS
from evidencebench.pages.figures import Bar, bar_of, difference_chart
from evidencebench.pages.markup import Child, Node, node
from evidencebench.pages.report.blocks import (
    code,
    figure,
    isolated_name,
    note,
    paragraph,
    points,
    section,
    shown_list,
)
from evidencebench.pages.report.findings import Findings
from evidencebench.runs.header import SystemHeader
from evidencebench.runs.people.people_folder import SYSTEM_NAME
from evidencebench.runs.run_file import RunFile
from evidencebench.scoring.compare import Comparison, compare
from evidencebench.scoring.pairs import Pair, adjusted
from evidencebench.scoring.score_texts import percent
from evidencebench.specification import write_specification
from evidencebench.system import traits_of
from evidencebench.tables import Cell, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypotheses:
    """Every run under the control."""

    pairs: tuple[Pair, ...]  # each run that has a partner against it, task by task
    unmeasured: Mapping[str, "Remedy"]  # label of a run without a partner -> what would make one
    unpaired: tuple[str, ...]  # labels of the runs with wrong hypotheses whose partner is not here
    unused: Mapping[str, str]  # label of a run with wrong hypotheses -> the one that is shown in its place


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """The command that makes the partner of a run, or else why there is none."""

    command: str = ""
    reason: str = ""


def hypotheses_of(findings: Findings, data: str) -> Hypotheses:
    """Return every run under the control; ``data`` is what a command line calls the data."""
    partners = {label: _partner(run, findings) for label, run in findings.scored.runs.items()}
    unused = _unused(findings, partners)
    compared: list[tuple[str, str, Comparison]] = []
    for label, partner in partners.items():
        if partner is not None:
            own, (_, wrong) = findings.scored.scores[label], findings.swapped[partner]
            both = ((own[task.name], wrong[task.name]) for task in findings.tasks)
            compared += [(label, partner, compare(*one, resampling=findings.resampling)) for one in both]
    return Hypotheses(
        pairs=adjusted(compared),
        unmeasured={
            label: _remedy(findings.scored.runs[label], data, number)
            for number, (label, partner) in enumerate(partners.items(), 1)
            if partner is None
        },
        unpaired=tuple(label for label in findings.swapped if label not in partners.values() and label not in unused),
        unused=unused,
    )


def _unused(findings: Findings, partners: Mapping[str, str | None]) -> dict[str, str]:
    """Return the runs with wrong hypotheses of which each system has another that is shown."""
    used = {partner: findings.swapped[partner][0].header for partner in partners.values() if partner is not None}
    found = {}
    for label, (run, _) in findings.swapped.items():
        instead = (one for one, header in used.items() if header and run.header and header.system == run.header.system)
        if label not in used and (other := next(instead, None)) is not None:
            found[label] = other
    return found


def _partner(run: RunFile, findings: Findings) -> str | None:
    """Return the label of the run of the same system with wrong hypotheses, one of the same seed if there is one."""
    if run.header is None:
        return None
    alike = [
        (wrong.header.seed != run.header.seed, label)
        for label, (wrong, _) in findings.swapped.items()
        if wrong.header is not None and wrong.header.system == run.header.system
    ]
    return min(alike)[1] if alike else None


def _remedy(run: RunFile, data: str, number: int) -> Remedy:
    """Return the command that makes the partner of a run, or why there is none."""
    header = run.header
    if header is None:
        return Remedy(reason="the file does not say what made it")
    reason = _hindrance(header.system)
    if reason:
        return Remedy(reason=reason)
    try:
        system = write_specification(header.system.name, header.system.options)
    except SystemSpecError:
        return Remedy(reason="its options cannot be written in a command")
    words = ["evidencebench", "run", system, "--data", data, "--hypothesis", "wrong"]
    if header.per_task:
        words += [word for task in header.tasks for word in ("--task", task)]
    if header.limit is not None:
        words += ["--limit", str(header.limit)]
    if header.seed:
        words += ["--seed", str(header.seed)]
    return Remedy(command=join([*words, "-o", f"wrong_{number}.jsonl"]))


def _hindrance(system: SystemHeader) -> str:
    """Return why a system cannot be asked wrong hypotheses, or need not be; empty: it can."""
    if system.name == SYSTEM_NAME:
        return "people are asked each paper's own hypothesis only"
    if "stored" in _names_in({"name": system.name, "options": system.options}):
        return "it builds on stored answers, which are for each paper's own hypothesis"
    if system.name in SYSTEMS and not traits_of(SYSTEMS[system.name]).reads_hypothesis:
        return "it never reads the hypothesis, so its answers would be the same"
    if system.name not in SYSTEMS and ":" not in system.name:
        return "this version of evidencebench has no system of that name"
    return ""


def _names_in(value: Any) -> set[str]:
    """Return the names of a system and of all that are nested in it, as a header holds them."""
    names, waiting = set(), [value]  # a header made by hand may nest without end
    while waiting:
        match waiting.pop():
            case {"name": str(name), "options": dict() as options}:
                names.add(name)
                waiting += options.values()
            case list() as members:
                waiting += members
            case dict() as members:
                waiting += members.values()
    return names


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
        _unused_text(found),
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
    return shown_list(*(node("span", None, isolated_name(label), ": ", one) for label, one in told.items()))


def _unused_text(found: Hypotheses) -> Node | None:
    if not found.unused:
        return None
    told = {
        label: node("span", None, isolated_name(other), " stands in its place") for label, other in found.unused.items()
    }
    return node("div", None, paragraph("Not used, since another seed of the same system is preferred:"), _by_run(told))


def _unpaired(found: Hypotheses) -> Node | None:
    if not found.unpaired:
        return None
    labels = [isolated_name(label) for label in found.unpaired]
    said = paragraph("Without the run of the same system and options with its own hypotheses: ")
    return node("div", None, said, shown_list(*labels))
