"""The query controls: compares a run with runs of the same system that were asked changed queries."""

from collections.abc import Mapping, Sequence
from shlex import join
from typing import Any, get_args

from msgspec.structs import replace

from evidencebench.errors import SystemSpecError
from evidencebench.execution.system_table import PACKAGED, SYSTEMS
from evidencebench.pages.markup import Child, Node, node
from evidencebench.pages.report.blocks import (
    by_task,
    code,
    folding_part,
    isolated_name,
    list_node,
    note,
    paragraph,
    points_text,
    section,
    table_node,
)
from evidencebench.pages.report.findings import Findings
from evidencebench.pages.report.hypothesis_use import NEVER_READS, use_blocks
from evidencebench.runs.header import ControlHeader, ControlName, RunHeader, SystemHeader
from evidencebench.runs.people.people_folder import SYSTEM_NAME
from evidencebench.runs.run_file import RunFile
from evidencebench.scoring.control_results import ControlResult, control_results
from evidencebench.scoring.score_texts import p_text, percent
from evidencebench.specification import write_specification
from evidencebench.tables import Cell, Table
from evidencebench.traits import traits_of


def hypotheses_section(findings: Findings, data: str) -> Node:
    """Return the section that compares each run with its partners: the same system, asked changed queries."""
    partners = {label: _partners(run, findings) for label, run in findings.scored.runs.items()}
    results = _results(findings, partners)
    used = {partner: label for label, by_control in partners.items() for partner in by_control.values()}
    asked = {label: _asked(run.header) for label, (run, _) in findings.changed.items()}
    idle = [label for label in findings.changed if label not in used]
    # Idle run -> the partner that is shown instead, with another seed; None: there is no such run.
    shown = {label: next((one for one in used if asked[one] == asked[label]), None) for label in idle}
    unpaired = [isolated_name(label) for label in idle if shown[label] is None]
    unused = {
        label: node("span", None, isolated_name(one), " stands in its place") for label, one in shown.items() if one
    }
    wrong = {label: by_control.get(_WRONG) for label, by_control in partners.items()}
    unmeasured = {
        label: "the file does not say what made it" if run.header is None else _why_no_partner(run.header.system)
        for label, run in findings.scored.runs.items()
        if wrong[label] is None
    }
    return section(
        "hypotheses",
        "Does it use the hypothesis?",
        note(
            "Each run beside one of the same system that was asked changed queries, such as another paper's "
            "hypothesis. A high score alone does not show that a system used the hypothesis. Of two papers, one is a "
            "stranger, whose sentences cover nothing. Runs with changed queries are on no leaderboard."
        ),
        *by_task(findings.tasks, lambda task: use_blocks(findings, task, results, unmeasured)),
        _results_table(results) if results else None,
        _runs_without_partner(findings, unmeasured, data),
        _titled_list("Without the run of the same system and options with the own queries: ", unpaired),
        _titled_list("Not used, since another seed of the same system is preferred:", _items_by_run(unused)),
    )


_WRONG = ControlHeader(name="wrong_hypothesis")


def _asked(header: RunHeader | None) -> tuple[SystemHeader, ControlHeader] | None:
    """Return the system and the control of a run with changed queries, whatever its seed; None: it is not known."""
    if header is None or header.control is None:
        return None
    return header.system, replace(header.control, path=None)  # the checksum says which file it was, wherever it lay


def _partners(run: RunFile, findings: Findings) -> dict[ControlHeader, str]:
    """Return control -> the run of the same system with queries so changed, if possible of the same seed."""
    alike: dict[ControlHeader, list[tuple[bool, str]]] = {}
    for label, (changed, _) in findings.changed.items():
        asked = _asked(changed.header)
        if run.header is not None and changed.header is not None and asked and asked[0] == run.header.system:
            alike.setdefault(asked[1], []).append((changed.header.seed != run.header.seed, label))
    return {control: min(labels)[1] for control, labels in alike.items()}


def _results(findings: Findings, partners: Mapping[str, Mapping[ControlHeader, str]]) -> tuple[ControlResult, ...]:
    """Compare each run with its partners on every task; p-values are adjusted over all that can differ."""
    names = [name for name in get_args(ControlName) if any(name == one.name for by in partners.values() for one in by)]
    compared = [
        (
            label,
            control.words,
            findings.scored.scores[label][task.name],
            findings.changed[partner][1][task.name],
        )
        for name in names
        for label, by_control in partners.items()
        for control, partner in by_control.items()
        if control.name == name
        for task in findings.tasks
    ]
    reads = {
        label: run.header is None or not _is_blind(run.header.system.name)
        for label, run in findings.scored.runs.items()
    }
    return control_results(compared, reads, findings.resampling)


def _is_blind(system: str) -> bool:
    return system in PACKAGED and not traits_of(SYSTEMS[system]).reads_hypothesis


def _results_table(results: Sequence[ControlResult]) -> Node:
    columns = ["system", "control", "task", "own", "changed", "own − changed, points", "p (Holm)", "overlap, %"]
    title, rows = "Own against changed queries: aspect recall in %", list(map(_row, results))
    table = Table(title=title, columns=[*columns, "stranger, %", "n"], rows=rows)
    return folding_part("All changed queries on all tasks, as a table", table_node(table))


def _p_text(result: ControlResult) -> str:
    test = result.comparison.test
    if result.adjusted is not None:
        return p_text(result.adjusted)
    n_differ = test.n_better + test.n_worse
    return "none, no paper differs" if not n_differ else "none, too few papers differ"


def _row(result: ControlResult) -> list[Cell]:
    found, difference = result.comparison, result.comparison.test.difference
    means = (100 * found.first.mean, 100 * found.second.mean)
    stranger = "" if result.stranger is None else percent(result.stranger.selection, alone="")
    tested = [points_text(difference), _p_text(result), percent(found.overlap, alone=""), stranger]
    return [result.system, result.control, found.task.name, *means, *tested, difference.n]


def _runs_without_partner(findings: Findings, unmeasured: Mapping[str, str], data: str) -> Node | None:
    """Return the commands that make missing partners, and the runs that can have none; None where none is missing."""
    runs = findings.scored.runs
    said = f"With another paper's hypothesis not measured{'' if len(unmeasured) < len(runs) else ' for any run'}"
    commands: dict[str, Child] = {}
    reasons: dict[str, Child] = {}
    for number, (label, run) in enumerate(runs.items(), 1):
        if reason := unmeasured.get(label):
            reasons[label] = reason
        elif label in unmeasured and run.header is not None:
            commands[label] = code(_command(run.header, data, number))
    parts: list[Node] = []
    if commands:
        parts += [paragraph(f"{said}. To measure it, make these runs and add them to the report:")]
        parts += [list_node(*_items_by_run(commands))]
    if reasons:
        parts += [paragraph("Not to be measured:" if commands else f"{said}:"), list_node(*_items_by_run(reasons))]
    return folding_part(f"Runs that were not asked a wrong hypothesis: {len(unmeasured)}", *parts) if parts else None


def _why_no_partner(system: SystemHeader) -> str:
    if system.name == SYSTEM_NAME:
        return "people are asked each paper's own hypothesis only"
    if "stored" in _names_in({"name": system.name, "options": system.options}):
        return "it builds on stored answers, which are for each paper's own hypothesis"
    if _is_blind(system.name):
        return NEVER_READS
    if system.name not in SYSTEMS and ":" not in system.name:
        return "this version of evidencebench has no system of that name"
    try:
        write_specification(system.name, system.options)
    except SystemSpecError:
        return "its options cannot be written in a command"
    return ""


def _names_in(value: Any) -> set[str]:
    """Return the names of a system and of all systems nested in its options; ``value`` is a header's JSON."""
    names, waiting = set(), [value]  # no recursion: a header made by hand may be nested deeper than Python's stack
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


def _command(header: RunHeader, data: str, number: int) -> str:
    system = write_specification(header.system.name, header.system.options)
    words = ["evidencebench", "run", system, "--data", data, "--control", "wrong_hypothesis"]
    if header.per_task:
        words += [word for task in header.tasks for word in ("--task", task)]
    if header.limit is not None:
        words += ["--limit", str(header.limit)]
    if header.seed:
        words += ["--seed", str(header.seed)]
    return join([*words, "-o", f"wrong_{number}.jsonl"])


def _items_by_run(texts: Mapping[str, Child]) -> list[Node]:
    return [node("span", None, isolated_name(label), ": ", text) for label, text in texts.items()]


def _titled_list(title: str, items: Sequence[Node]) -> Node | None:
    return node("div", None, paragraph(title), list_node(*items)) if items else None
