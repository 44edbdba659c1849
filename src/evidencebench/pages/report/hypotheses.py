"""Whether systems use the hypothesis: each run beside runs of the same system that were asked changed queries."""

from collections.abc import Iterator, Mapping, Sequence
from shlex import join

import msgspec

from evidencebench.data.tasks import Task
from evidencebench.errors import SystemSpecError
from evidencebench.execution.system_table import SYSTEMS
from evidencebench.pages.figures.charts import RowAxis, difference_axis
from evidencebench.pages.figures.data import bar_of
from evidencebench.pages.html import Child, Node, node
from evidencebench.pages.report.blocks import (
    by_task,
    code,
    folding_part,
    interval_cell,
    interval_table,
    isolated_name,
    isolated_names,
    list_node,
    note,
    paragraph,
    points_text,
    section,
    system_cell,
    table_node,
    terms_node,
)
from evidencebench.pages.report.data import Findings
from evidencebench.pages.viewer import task_title
from evidencebench.runs.answers import PERSON
from evidencebench.runs.header import QueryControl
from evidencebench.runs.run import RunFile
from evidencebench.scoring.compare import MOST_CHANGED, USES, ControlResult, use_of_hypothesis
from evidencebench.scoring.score_runs import NOT_MEASURED, changed_partners, reads_hypothesis
from evidencebench.scoring.significance import ALPHA, p_text, percent
from evidencebench.specification import write_specification
from evidencebench.tables import Cell

WRONG = "wrong hypothesis"


def hypotheses_section(findings: Findings, results: Sequence[ControlResult], data: str) -> Node:
    partners = changed_partners(findings.scored)
    used = [partner for by_control in partners.values() for partner in by_control.values()]
    unused = [label for label in findings.scored.changed if label not in used]
    unmeasured = _unmeasured(findings)
    return section(
        "hypotheses",
        "Does it use the hypothesis?",
        note(
            "Each run is compared with a run of the same system on changed queries, such as another paper's "
            "hypothesis. A high score alone does not show that a system uses the hypothesis. With two papers, one is "
            "a distractor, whose sentences cover nothing. Runs with changed queries are not on the leaderboard."
        ),
        *by_task(findings.tasks, lambda task: _use_blocks(findings, task, results)),
        _results_table(results) if results else None,
        _runs_without_partner(findings, unmeasured, data),
        note(
            "Runs with changed queries that are not shown, because there is no run of the same system and options with "
            "the original queries, or another seed is preferred: ",
            *isolated_names(unused),
            ".",
        )
        if unused
        else None,
    )


def _unmeasured(findings: Findings) -> dict[str, RunFile]:
    partners, wrong = changed_partners(findings.scored), QueryControl(name="wrong_hypothesis")
    return {label: run for label, run in findings.scored.runs.items() if wrong not in partners[label]}


def uses_of(findings: Findings, task: Task, results: Sequence[ControlResult]) -> dict[str, str]:
    """Return run -> what is known of whether it uses the hypothesis on a task, in words."""
    unmeasured = _unmeasured(findings).items()
    uses: dict[str, str] = {
        label: NOT_MEASURED if reads_hypothesis(run) else "does not use it" for label, run in unmeasured
    }
    wrong = (result for result in results if result.comparison.task == task and result.control == WRONG)
    return uses | {result.system: use_of_hypothesis(result) for result in wrong}


# The verdict on each task in words, how choices change, and the recall with own and changed queries.


def _use_blocks(findings: Findings, task: Task, results: Sequence[ControlResult]) -> list[Child]:
    rows = [row for row in findings.boards[task.name].standings if not row.is_control]
    labels = [label for row in rows for label in row.systems]
    here = sorted(
        (result for result in results if result.comparison.task == task), key=lambda result: labels.index(result.system)
    )
    controls = dict.fromkeys(result.control for result in results)
    by_control = {name: [result for result in here if result.control == name] for name in controls}
    wrong = by_control.get(WRONG, [])
    uses = uses_of(findings, task, results)
    facts: list[tuple[Child, Sequence[Child]]] = [
        (node("strong", None, use), isolated_names(systems))
        for use in (*USES, NOT_MEASURED)
        if (systems := [label for label in labels if uses.get(label) == use])
    ]
    blocks: list[Child] = [node("div", {"class": "finding"}, terms_node(facts))]
    blocks += [_table(findings, control, rows) for control, rows in by_control.items() if rows]
    meaning = note(
        "Overlap: of the sentences selected with the original or the wrong hypothesis, the share selected with both. "
        "Uses it: recall is significantly higher with the original hypothesis. Selection changes little: no such gain "
        f"is shown, and the whole interval of the overlap is above {100 * MOST_CHANGED:g} %. Does not use it: the "
        "selection is always the same. No gain shown is no proof of no gain: the interval says how large it may be. "
        "For a system that answers differently each time, only recall counts, since its selection always changes."
    )
    return [*blocks, meaning] if wrong else blocks


def _table(findings: Findings, control: str, results: Sequence[ControlResult]) -> Node:
    shares, points = RowAxis(), difference_axis(result.comparison.test.difference for result in results)

    def rows(result: ControlResult) -> Iterator[Node]:
        number = findings.number_of(result.system, is_control=False)
        names = result.system, findings.short_name(result.system)
        overlap, difference = result.comparison.overlap, result.comparison.test.difference
        chosen = bar_of(result.system, overlap, number=number) if overlap else None
        gain = bar_of(result.system, difference, number=number)
        yield node(
            "tr",
            None,
            system_cell(*names, use_of_hypothesis(result) if control == WRONG else ""),
            interval_cell(shares, chosen, percent(overlap, alone="")) if chosen else node("td"),
            interval_cell(points, gain, points_text(difference), signed=True),
            node("td", {"class": "forest-value"}, p_text(result.adjusted)),
        )
        if words := _interval_alone(result):
            yield node("tr", {"class": "told"}, node("td", {"colspan": 4}, words))

    first = results[0].comparison
    told = (
        f": overlap of the selections with original and with changed queries, and the difference in recall, original "
        f"- changed ({task_title(first.task)}, {first.test.difference.extent}). Lines are "
        f"{100 * findings.resampling.level:g} % intervals that resample papers, each for one system; p is adjusted for "
        "all systems in the table."
    )
    columns = {"overlap, %": shares, "difference, points": points, "p": None}
    body = (row for result in results for row in rows(result))
    return interval_table(f"Original and changed queries ({control})", " uses", columns, body, told=told)


def _interval_alone(result: ControlResult) -> str:
    """Return why an interval that leaves out 0 shows nothing; empty where it does not, or the test agrees."""
    ends, adjusted = result.comparison.test.difference.interval, result.adjusted
    if ends is None or ends[0] <= 0 <= ends[1] or (adjusted and adjusted.is_significant):
        return ""
    why = "too few papers differ for a test" if adjusted is None else f"the test, which is stricter, has p ≥ {ALPHA}"
    if adjusted and adjusted.n_tests > 1:
        why = (
            f"{adjusted.n_tests} systems are tested together, and one of several such intervals may occur by chance: p "
            "is adjusted for that, the interval is not"
        )
    return f"↑ The interval excludes 0, but no {'gain' if ends[0] > 0 else 'loss'} is shown: {why}."


def _results_table(results: Sequence[ControlResult]) -> Node:
    def row(result: ControlResult) -> list[Cell]:
        pair, test = result.comparison, result.comparison.test
        means = (100 * pair.first.mean, 100 * pair.second.mean)
        few = "too few papers differ" if test.n_better + test.n_worse else "no instance differs"
        p = f"none, {few}" if result.adjusted is None else p_text(result.adjusted)
        distractor = "" if result.distractor is None else percent(result.distractor.selection, alone="")
        tested = [points_text(test.difference), p, percent(pair.overlap, alone=""), distractor]
        return [result.system, result.control, pair.task.name, *means, *tested, test.difference.n]

    columns = ["system", "control", "task", "original", "changed", "difference, points", "p (Holm)", "overlap, %"]
    title = "Original and changed queries: aspect recall in %"
    table = table_node(title, [*columns, "distractor, %", "n"], list(map(row, results)))
    return folding_part("All changed queries on all tasks, as a table", table)


def _runs_without_partner(findings: Findings, unmeasured: Mapping[str, RunFile], data: str) -> Node | None:
    if not unmeasured:
        return None
    runs = findings.scored.runs
    whose = "" if len(unmeasured) < len(runs) else " for any run"
    commands = {label: control_command(run, data, list(runs).index(label) + 1) for label, run in unmeasured.items()}
    items = [node("span", None, isolated_name(label), ": ", code(text)) for label, text in commands.items() if text]
    others = [label for label, text in commands.items() if not text]
    return folding_part(
        f"Runs without a wrong-hypothesis control: {len(unmeasured)}",
        paragraph(f"The wrong-hypothesis control was not measured{whose}."),
        paragraph("To measure it, make these runs and add them to the report:") if items else None,
        list_node(*items) if items else None,
        paragraph(
            "Cannot be measured: ",
            *isolated_names(others),
            ". Such a system never reads the hypothesis, is a person, uses stored answers, or cannot be made by this "
            "version from what the file says.",
        )
        if others
        else None,
    )


def control_command(run: RunFile, data: str, number: int) -> str:
    """Return the command that asks a run's system wrong hypotheses; empty where there is none."""
    header = run.header
    if header is None or header.system.name == PERSON or not reads_hypothesis(run):
        return ""
    builds_on_answers = b'"name":"stored"' in msgspec.json.encode(header.system)  # it, or a system in its options
    if builds_on_answers or (header.system.name not in SYSTEMS and ":" not in header.system.name):
        return ""
    try:
        system = write_specification(header.system.name, header.system.options)
    except SystemSpecError:
        return ""
    words = ["evidencebench", "run", system, "--data", data, "--control", "wrong_hypothesis"]
    if header.per_task:
        words += [word for task in header.tasks for word in ("--task", task)]
    words += ["--ids", "ids.txt"] if header.data.ids else []
    if header.limit is not None:
        words += ["--limit", str(header.limit)]
    if header.seed:
        words += ["--seed", str(header.seed)]
    return join([*words, "-o", f"wrong_{number}.jsonl"])
