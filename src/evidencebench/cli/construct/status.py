"""``evidencebench construct status``."""

from pathlib import Path
from typing import Annotated

import click
import msgspec

from evidencebench.cli import options
from evidencebench.cli.construct.steps import agreement_fields, agreement_in, print_agreement
from evidencebench.cli.options import argument
from evidencebench.cli.output import print_json, print_table
from evidencebench.construction.pipeline import construction_status
from evidencebench.tables import Cell, Table


@options.command
def command(*, work: Annotated[Path, argument(type=options.EXISTING_FOLDER)], as_json: options.AsJson) -> None:
    """Say where a construction stands.

    WORK is the work folder. It is only read, so that it can be asked about while
    a step runs.

    \b
    Example: evidencebench construct status work
    """
    status, agreement = construction_status(work), agreement_in(work)
    if as_json:
        print_json({**msgspec.to_builtins(status), "next_step": status.next_step, **agreement_fields(agreement)})
        print_agreement(agreement, as_json=True)
        return
    rows: list[list[Cell]] = []
    for step in status.steps:
        given = "?" if step.n_drafts is None else f"{step.n_drafts:,}"
        state = f"stale: {step.stale}" if step.stale else "done" if step.is_finished else "not finished"
        state += f"; {step.n_edited:,} edited by hand" if step.n_edited else ""
        rows.append([step.step, f"{step.n_done:,} of {given}", step.n_done - step.n_kept, step.n_kept, state])
    print_table(Table(columns=["step", "drafts", "dropped", "kept", ""], rows=rows))
    if status.next_step is None:
        click.echo(f"{work / 'dataset'}: made")
    else:
        is_stale = any(step.stale for step in status.steps if step.step == status.next_step)
        how = ", again: 'construct run CONFIG.toml --overwrite' makes what is stale, and keeps what was edited"
        click.echo(f"next: {status.next_step}{how if is_stale else ''}")
    print_agreement(agreement, as_json=False)
