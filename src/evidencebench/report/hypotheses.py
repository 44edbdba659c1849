"""The wrong-hypothesis control: what a run scores when each paper is asked another paper's hypothesis."""

from collections.abc import Mapping
from dataclasses import dataclass
from shlex import join

from evidencebench.comparison import Comparison, compare_all
from evidencebench.errors import SystemSpecError
from evidencebench.report.findings import Findings
from evidencebench.runs import RunFile
from evidencebench.significance import holm
from evidencebench.specification import write_specification
from evidencebench.systems import SYSTEMS


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """A run beside the run of the same system that was asked other papers' hypotheses.

    Attributes
    ----------
    system
        The run's label.
    comparisons
        Task -> own hypotheses against wrong ones.
    p_values
        Task -> p, adjusted by Holm over all swaps and tasks.
    """

    system: str
    comparisons: Mapping[str, Comparison]
    p_values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypotheses:
    """Every run under the control.

    Attributes
    ----------
    swaps
        The runs that have a partner.
    unmeasured
        Label of a run without one -> the command that would make it; None where none can be written.
    unpaired
        Labels of the runs with wrong hypotheses whose partner is not here.
    """

    swaps: tuple[Swap, ...]
    unmeasured: Mapping[str, str | None]
    unpaired: tuple[str, ...]


def hypotheses_of(findings: Findings, data: str) -> Hypotheses:
    """Return every run under the control.

    Parameters
    ----------
    findings
        The runs.
    data
        What a command line calls the data.
    """
    partners = {label: _partner(run, findings) for label, run in findings.graded.runs.items()}
    compared: list[tuple[str, str, Comparison]] = []
    for label, partner in partners.items():
        if partner is None:
            continue
        for task in findings.tasks:
            both = {"own": findings.graded.scores[label][task.name], "wrong": findings.swapped[partner][1][task.name]}
            (one,) = compare_all(both, [("own", "wrong")], resampling=findings.resampling)
            compared.append((label, task.name, one))
    adjusted = holm([found.test.p_value for *_, found in compared])
    swaps: dict[str, tuple[dict[str, Comparison], dict[str, float]]] = {}
    for (label, task_name, found), p_value in zip(compared, adjusted, strict=True):
        comparisons, p_values = swaps.setdefault(label, ({}, {}))
        comparisons[task_name], p_values[task_name] = found, p_value
    return Hypotheses(
        swaps=tuple(Swap(system=label, comparisons=both[0], p_values=both[1]) for label, both in swaps.items()),
        unmeasured={
            label: _command(findings.graded.runs[label], data, number)
            for number, (label, partner) in enumerate(partners.items(), 1)
            if partner is None
        },
        unpaired=tuple(label for label in findings.swapped if label not in partners.values()),
    )


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


def _command(run: RunFile, data: str, number: int) -> str | None:
    """Return the command that makes the partner of a run, or None where the run does not say what made it."""
    header = run.header
    if header is None:
        return None
    if header.system.name not in SYSTEMS and ":" not in header.system.name:  # a person, or what this version lacks
        return None
    try:
        system = write_specification(header.system.name, header.system.options)
    except SystemSpecError:
        return None
    words = ["evidencebench", "run", system, "--data", data, "--hypothesis", "wrong"]
    if header.per_task:
        words += [word for task in header.tasks for word in ("--task", task)]
    if header.limit is not None:
        words += ["--limit", str(header.limit)]
    if header.seed:
        words += ["--seed", str(header.seed)]
    return join([*words, "-o", f"wrong_{number}.jsonl"])
