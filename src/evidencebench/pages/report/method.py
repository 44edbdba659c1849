"""The sections on method: the signatures of the scores, how they were computed, and the command that repeats it."""

from collections.abc import Mapping

from evidencebench.pages.markup import Child, Node, node
from evidencebench.pages.report.blocks import (
    code,
    folding_part,
    isolated_name,
    list_node,
    note,
    paragraph,
    section,
    table_node,
)
from evidencebench.pages.report.findings import Findings
from evidencebench.runs.run_file import RunFile
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.score_texts import score_text
from evidencebench.scoring.selection import RULE_TEXTS
from evidencebench.tables import Table
from evidencebench.version import __version__
from evidencebench.wording import counted

_FILE_NAMES = "Files that were given by their full paths are shown by their names."


def _facts(findings: Findings) -> Node:
    dataset, n = findings.dataset, findings.n_instances
    part = "" if n == len(dataset) else f"the first {n:,} of "
    papers = counted(findings.n_papers, "paper or review", "papers or reviews")
    changed = {label: run for label, (run, _) in findings.changed.items()}
    facts: dict[str, tuple[Child, ...]] = {
        "Data": (isolated_name(dataset.name), ", sha256 ", node("code", None, dataset.sha256)),
        "Instances": (f"{part}{counted(len(dataset), 'instance')} from {papers}",),
        "Runs": (_runs(findings.scored.runs, findings.unfinished),),
        **({"Runs asked changed queries": (_runs(changed, {}),)} if changed else {}),
        "Made by": (f"evidencebench {__version__}",),
    }
    terms = (part for name, fact in facts.items() for part in (node("dt", None, name), node("dd", None, *fact)))
    return node("dl", {"class": "facts"}, *terms)


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
                f" (unfinished: {unfinished[label]} answered)" if label in unfinished else "",
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
        "Signatures",
        _facts(findings),
        note(
            "A signature names the measure, the task, the data, the system with its options and the digest of own code "
            "(or the file of answers), how many instances count, how answers were read and intervals drawn, and the "
            "version. Two scores with the same one are the same number where the system answers alike each time: what "
            "stands behind the name of a language model, a model's folder or a library may have changed."
        ),
        folding_part(counted(len(rows), "score"), table_node(table, most=100_000)),
    )


def method_section(findings: Findings, command: str) -> Node:
    """Return the section that explains measures, intervals, tests and ranks; ``command`` makes the report again."""
    resampling, rules = findings.resampling, findings.scored.rules
    over_length, ties, out_of_range = (text.choices[getattr(rules, name)] for name, text in RULE_TEXTS.items())
    said = {
        "Measure": (
            "aspect recall = aspects that the selected sentences state / aspects that count. Aspects "
            "that no sentence states stay in the denominator, so 100 % can be out of reach; the ceiling says "
            "what is in reach."
        ),
        "Instances": (
            "a score is the mean over the instances to which the task applies, those with a failed, "
            "empty or missing answer included, as 0."
        ),
        "Answers over budget": (
            f"a ranking is cut at the budget; an unordered set over the budget counts {over_length}; equal scores at "
            f"the cut count {ties}; a sentence that does not exist {out_of_range}."
        ),
        "Intervals": (
            f"{100 * resampling.level:g} % percentile intervals of {resampling.n_draws:,} bootstrap "
            "draws that resample whole papers (or reviews, where the data names them), since instances that "
            f"share one are not independent; seed {resampling.seed}."
        ),
        "Tests": (
            "two-sided sign flips of each paper's difference, every pattern where papers are few; "
            "p-values are adjusted by Holm over the tests that are shown together."
        ),
        "Ranks": (
            "best rank = 1 + how many systems are significantly better; worst rank = number of systems "
            "- how many are significantly worse; at the 5 % level, by Holm over all pairs of a task."
        ),
        "Controls": f"{'; '.join(f'{name}: {control.meaning}' for name, control in CONTROLS.items())}.",
        "Wrong hypothesis": "every paper asked with another paper's hypothesis; see the section of its name.",
    }
    return section(
        "method",
        "How this was computed",
        list_node(*(node("span", None, node("strong", None, f"{name}: "), text) for name, text in said.items())),
        note(
            "In the documentation of evidencebench: docs/tasks-and-measures.md says this at length, with sources; "
            "docs/report.md says how to read this page."
        ),
        paragraph("This command makes the report again, the same to the byte with evidencebench ", __version__, ":"),
        _command(command),
        note(_FILE_NAMES),
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
                f"In this page: {counted(findings.n_instances, 'instance')}, with what every system selected: ",
                node("a", {"href": "#/papers"}, "read the papers"),
                ".",
            ),
        )
    return section(
        "papers-here",
        "The papers",
        paragraph(
            f"Not in this page: {counted(findings.n_instances, 'instance')}. To read them, with what every system "
            "selected, start the local app:"
        ),
        _command(view_command),
        note(_FILE_NAMES, " Data: ", isolated_name(findings.dataset.name)),
    )
