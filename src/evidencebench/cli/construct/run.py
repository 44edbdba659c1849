"""``evidencebench construct run``."""

from datetime import date
from pathlib import Path
from typing import Annotated, Any

import click

from evidencebench.cli import options
from evidencebench.cli.asking import Asking, opened_client, tell_asked
from evidencebench.cli.construct.status import agreement_fields, agreement_in, print_agreement
from evidencebench.cli.construct.steps import make_room, print_failures
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import print_cautions, print_json, print_table
from evidencebench.construction.config import read_config
from evidencebench.construction.draft import STEP_FILES, output_of
from evidencebench.construction.losses import loss_table
from evidencebench.construction.pipeline import MODEL_STEPS, Constructed, run_all
from evidencebench.tables import printable
from evidencebench.wording import counted


@options.command
def command(
    *,
    path: Annotated[Path, argument("CONFIG.toml", kind=options.EXISTING_FILE)],
    limit: Annotated[int | None, options.number("--limit N", "Only N drafts in each step that asks a model: a pilot.")],
    until: Annotated[str | None, option("--until STEP", "Stop after this step.", click.Choice(MODEL_STEPS))],
    overwrite: Annotated[bool, option("--overwrite", "Redo what is stale; stored replies cost nothing.")],
    first: Annotated[
        str | None,
        option(
            "--from STEP",
            "Redo this step and all later ones; files edited by hand are kept under another name.",
            click.Choice(list(STEP_FILES)),
        ),
    ],
    drop_failed: Annotated[bool, option("--drop-failed", "Drop drafts whose request failed in all attempts.")],
    place: options.WorkPlaceChoice,
    asking: Asking,
) -> int:
    """Run all steps, and make the data set.

    CONFIG.toml names reviews, papers and models; see docs/construction.md. After
    Ctrl-C, a cost limit or a failed server, run it again to resume. Exit code 1: a
    review could not be read, or drafts failed and are asked again by the next run.
    --jobs and --engine are for the last step.

    \b
    Example: evidencebench construct run construction.toml --max-cost-usd 20
    """
    if asking.estimate:
        raise click.UsageError("--estimate: use 'evidencebench construct estimate'")
    config = read_config(path)
    with opened_client(asking, "constructing", asks=True) as (client, waiting, shown):
        if client is None:  # never: it asks
            raise click.UsageError("no client")
        if first is not None:
            make_room(output_of(step, config.work) for step in list(STEP_FILES)[list(STEP_FILES).index(first) :])
        made = run_all(
            config,
            client=client,
            waiting=waiting,
            today=date.today(),  # noqa: DTZ011 - the user's day
            limit=limit,
            until=until,
            overwrite=overwrite or first is not None,
            drops_failed=drop_failed,
            jobs=place.jobs,
            engine=place.engine,
            on_progress=shown,
        )
    tell_asked(client)
    agreement = agreement_in(config.work)
    _tell(made, asking, {"asked": client.totals.fields()} | agreement_fields(agreement))
    print_agreement(agreement, as_json=asking.as_json)
    is_proven = made.dataset is None or not made.dataset.unproven
    return 1 if made.n_failures or made.unreadable or not is_proven else 0


def _tell(made: Constructed, asking: Asking, more: dict[str, Any]) -> None:
    for why in made.unreadable:
        click.echo(f"error: {printable(why)}", err=True)
    print_failures({draft_id: why for step in made.steps for draft_id, why in step.failures.items()})
    if made.n_failures:
        click.echo(f"{counted(made.n_failures, 'draft')} failed; run again to ask for them again", err=True)
    dataset = made.dataset
    if asking.as_json:
        steps = [step.fields() for step in made.steps]
        print_json({"unreadable": made.unreadable, "steps": steps, "dataset": dataset, **more})
    elif dataset is not None:
        print_cautions(dataset.warnings)
        print_table(loss_table(dataset.steps))
        splits = ", ".join(f"{name} {split.n_instances:,}" for name, split in dataset.splits.items())
        click.echo(f"{dataset.folder}: {counted(dataset.n_instances, 'instance')} ({splits})")
    else:
        for step in made.steps:
            click.echo(f"{step.step}: {step.n_kept:,} kept of {counted(step.n_drafts, 'draft')}")
