"""``evidencebench construct status``."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import msgspec

from evidencebench.cli import options
from evidencebench.cli.options import argument
from evidencebench.cli.output import print_cautions, print_json, print_prose, print_table
from evidencebench.construction.draft import open_drafts, output_of
from evidencebench.tables import Cell, Table, printable

if TYPE_CHECKING:
    from evidencebench.construction.judge import WindowAgreement


@options.command
def status(*, work: Annotated[Path, argument(type=options.EXISTING_FOLDER)], as_json: options.AsJson) -> None:
    """Say where a construction stands.

    WORK, the work folder, is only read, also while a step runs.

    \b
    Example: evidencebench construct status work
    """
    from evidencebench.construction.pipeline import construction_status  # noqa: PLC0415 - slow, and help needs it not

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


def agreement_in(work: Path) -> dict[str, "WindowAgreement"]:
    """Return how often two windows agree on a sentence, by model; empty where nothing is judged yet."""
    path = output_of("judge", work)
    if not path.is_file():
        return {}
    from evidencebench.construction.judge import windows_agree  # noqa: PLC0415 - slow, and help needs it not

    file = open_drafts(path, must_be_finished=False)
    return windows_agree(file[draft_id] for draft_id in file.offsets)


def agreement_fields(by_model: Mapping[str, "WindowAgreement"]) -> dict[str, Any]:
    fields = {
        model: {"n": pair.pairs.total(), "agree": pair.share, "kappa": pair.kappa, "n_unread": pair.n_unread}
        for model, pair in by_model.items()
    }
    return {"windows_agree": fields}


def print_agreement(by_model: Mapping[str, "WindowAgreement"], *, as_json: bool) -> None:
    """Print the agreement, unless what is printed is JSON, and warn of models whose windows do not agree."""
    for model, windows in by_model.items():
        if not as_json:
            print_prose(printable(f"{model}: {windows.text}."))
    print_cautions(f"{model}: {windows.warning}" for model, windows in by_model.items() if windows.warning)
