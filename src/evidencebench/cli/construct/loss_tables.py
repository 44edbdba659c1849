"""How the losses of steps are printed: a table, or fields of JSON."""

from collections.abc import Iterable
from typing import Any

from evidencebench.construction.assembly.losses import StepLosses
from evidencebench.tables import Cell, Table


def loss_table(steps: Iterable[StepLosses]) -> Table:
    """Return a table with a row a step, and below it a row a reason for which it dropped drafts."""
    rows: list[list[Cell]] = []
    for step in steps:
        rows.append([step.step, step.n_drafts, step.n_drafts - step.n_kept, step.n_kept])
        rows += [[f"  {reason}", None, n, None] for reason, n in sorted(step.dropped.items())]
    return Table(columns=["step", "drafts", "dropped", "kept"], rows=rows)


def loss_fields(step: StepLosses) -> dict[str, Any]:
    """Return the losses of a step as plain values."""
    return {"step": step.step, "n_drafts": step.n_drafts, "n_kept": step.n_kept, "dropped": dict(step.dropped)}
