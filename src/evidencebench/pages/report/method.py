"""The sections on method: the signatures of the scores, how they were computed, and the command that repeats it."""

from collections.abc import Mapping

from evidencebench.pages.html import Child, Node, node
from evidencebench.pages.report.blocks import (
    code,
    folding_part,
    isolated_name,
    list_node,
    note,
    paragraph,
    section,
    table_node,
    terms_node,
)
from evidencebench.pages.report.data import Findings
from evidencebench.runs.run import RunFile
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.selection import RULE_TEXTS
from evidencebench.scoring.significance import score_text
from evidencebench.tables import Table
from evidencebench.version import __version__
from evidencebench.wording import counted

_FILE_NAMES = "Files that were given by their full paths are shown by their names."


def _facts(findings: Findings) -> Node:
    dataset, n = findings.dataset, findings.n_instances
    part = "" if n == len(dataset) else f"the first {n:,} of "
    texts = (
        "" if n == findings.n_papers else f" from {counted(findings.n_papers, 'text or review', 'texts or reviews')}"
    )
    runs, changed = findings.scored.runs, {label: run for label, (run, _) in findings.changed.items()}
    facts: dict[str, tuple[Child, ...]] = {
        "Data": (isolated_name(dataset.name), ", sha256 ", node("code", None, dataset.sha256)),
        "Papers": (f"{part}{counted(len(dataset), 'paper')}{texts}",),
        "Runs": (folding_part(counted(len(runs), "run"), _runs(runs, findings.unfinished)),),
        **(
            {"Asked changed queries": (folding_part(counted(len(changed), "run"), _runs(changed, {})),)}
            if changed
            else {}
        ),
        "Made by": (f"evidencebench {__version__}",),
    }
    return terms_node(facts.items(), look="facts")


def _runs(runs: Mapping[str, RunFile], unfinished: Mapping[str, str]) -> Node:
    no_header = " (the file does not say what made it)"
    return list_node(
        *(
            node(
                "span",
                None,
                isolated_name(label),
                ": ",
                code(run.signature),
                "" if run.header else no_header,
                f" (unfinished: {unfinished[label]} done)" if label in unfinished else "",
            )
            for label, run in runs.items()
        )
    )


def signatures_section(findings: Findings) -> Node:
    """Return the section with the data, the runs, and the signature of every score of a run."""
    rows = [
        [row.system, task.name, score_text(row.recall), row.signature]
        for task in findings.tasks
        for row in findings.standings[task.name]
        if row.signature is not None
    ]
    table = Table(title="Signatures", columns=["run", "task", "score", "signature"], rows=rows)
    return section(
        "signatures",
        "Data, runs and signatures",
        _facts(findings),
        note(
            "A signature names all that decides a score: two scores with the same one are the same number, where the "
            "system answers alike each time. What stands behind the name of a model or a library may have changed."
        ),
        folding_part(f"Signatures of {counted(len(rows), 'score')}", table_node(table, most=100_000)),
    )


def method_section(findings: Findings, command: str) -> Node:
    """Return the section that explains measures, intervals, tests and ranks; ``command`` makes the report again."""
    resampling, rules = findings.resampling, findings.scored.rules
    over_length, ties, out_of_range = (text.choices[getattr(rules, name)] for name, text in RULE_TEXTS.items())
    said = {
        "Measure": (
            "aspect recall = aspects that the selected sentences state / aspects that count, also those that no "
            "sentence states; the ceiling is the most that can be reached. A score is the mean over the papers to "
            "which the task applies; a failed, empty or missing answer is 0. Fewest sentences: as few as cover all "
            "that can be covered."
        ),
        "Answers": (
            f"a ranking is cut at the budget; a set over the budget counts {over_length}; equal scores at "
            f"the cut count {ties}; a sentence that does not exist {out_of_range}."
        ),
        "Intervals": (
            f"{100 * resampling.level:g} % percentile intervals of {resampling.n_draws:,} draws that resample texts "
            f"(or reviews, where the data names them), seed {resampling.seed}."
        ),
        "Tests and ranks": (
            "two-sided sign flips of each text's difference, adjusted by Holm over the pairs of a task's runs that "
            "differ in an answer and can be significant, and apart from these over the pairs with a control; "
            "≤ before a p that no drawn flip reached. Best rank = "
            "1 + how many systems are significantly better; worst rank = systems − how many are significantly worse; "
            "at the 5 % level."
        ),
        "Controls": f"{'; '.join(f'{name}: {control.meaning}' for name, control in CONTROLS.items())}.",
    }
    return section(
        "method",
        "How this was computed",
        list_node(*(node("span", None, node("strong", None, f"{name}: "), text) for name, text in said.items())),
        paragraph("This command makes the report again, the same to the byte with evidencebench ", __version__, ":"),
        _command(command),
        note(
            _FILE_NAMES,
            " At length, with sources: docs/tasks-and-measures.md and docs/report.md of evidencebench.",
        ),
    )


def _command(command: str) -> Node:
    attributes = {"class": "command", "tabindex": 0, "role": "group", "aria-label": "Command"}
    return node("pre", attributes, code(command))


def papers_section(findings: Findings, *, has_papers: bool, view_command: str) -> Node:
    """Return the section that leads to the papers: in this page, or by ``view_command`` in the app."""
    if has_papers:
        return section(
            "papers-here",
            "The papers",
            paragraph(
                f"In this page: {counted(findings.n_instances, 'paper')}, with what every system selected: ",
                node("a", {"href": "#/papers"}, "read the papers"),
                ".",
            ),
        )
    return section(
        "papers-here",
        "The papers",
        paragraph(
            f"Not in this page: {counted(findings.n_instances, 'paper')}. To read them, with what every system "
            "selected, start the local app:"
        ),
        _command(view_command),
        note(_FILE_NAMES, " Data: ", isolated_name(findings.dataset.name)),
    )
