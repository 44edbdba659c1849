"""What the commands of the steps that ask a model share: their options, and how they run and tell what they did."""

import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from evidencebench.cli import options
from evidencebench.cli.asking import Asking, asking_options, opened_client, print_estimate, tell_asked
from evidencebench.cli.output import print_cautions, print_json, print_prose, print_table
from evidencebench.construction.draft_file import open_drafts, set_aside
from evidencebench.construction.running import StepReport, run_step
from evidencebench.construction.steps.model_step import ModelStep
from evidencebench.construction.steps.votes import WindowAgreement, windows_agree
from evidencebench.construction.work_folder import input_of, output_of
from evidencebench.execution.asking import Rehearsal, rehearsal_of
from evidencebench.execution.rewriting import asker_from
from evidencebench.models.llm.client import ChatClient
from evidencebench.tables import Cell, Table, printable
from evidencebench.wording import counted

_MOST_FAILURES = 5

MakeStep = Callable[[ChatClient | None], ModelStep]
"""Returns the step; where it asks a second model, through the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepping:
    """The values of the options that the commands of steps share."""

    folder: Path
    model: str
    limit: int | None
    overwrite: bool
    drop_failed: bool


def step_options(command: options.Command) -> options.Command:
    """Add the argument and the options of a command that runs a step; it gets ``stepping`` and ``asking``."""
    bundled = options.bundled_as(
        "stepping",
        Stepping,
        click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="WORK"),
        click.option(
            "--model", required=True, metavar="MODEL", help="Such as openai/NAME; behind commas, options of llm_base."
        ),
        options.number("--limit", help="Only so many drafts, of all reviews: a pilot."),
        click.option("--overwrite", is_flag=True, help="Make the file anew where it exists."),
        click.option("--drop-failed", is_flag=True, help="Drop a draft whose request failed for good."),
    )
    return bundled(asking_options()(command))


def run_model_step(name: str, make_step: MakeStep, stepping: Stepping, asking: Asking) -> int:
    """Run a step in its work folder, print what it did, and return the exit code: 1 where drafts failed."""
    source = open_drafts(input_of(name, stepping.folder))
    if asking.estimate:
        return int(
            print_estimate(asking, lambda client, shown: _rehearse(client, shown, make_step, source, stepping)) > 0
        )
    with opened_client(asking, name, asks=True) as (client, waiting, shown):
        make_room([output_of(name, stepping.folder)] if stepping.overwrite else [])
        report = run_step(
            make_step(client),
            source,
            output_of(name, stepping.folder),
            asker=asker_from(stepping.model, client=client),
            waiting=waiting,
            limit=stepping.limit,
            drops_failed=stepping.drop_failed,
            on_progress=shown,
        )
    tell_asked(client)
    more: dict[str, Any] = {} if client is None else {"asked": client.totals.fields()}
    agreement = agreement_in(stepping.folder) if name == "judge" else {}
    more |= agreement_fields(agreement) if agreement else {}
    tell_step(report, output_of(name, stepping.folder), as_json=asking.as_json, more=more)
    tell_agreement(agreement, as_json=asking.as_json)
    return int(bool(report.failures))


def make_room(paths: Iterable[Path]) -> None:
    """Take away files of drafts, so that they are made anew, and say which are kept since they were edited by hand."""
    for path in paths:
        if (kept := set_aside(path)) is not None:
            print_cautions([f"{path}: was edited by hand; what was there is kept as {kept}"])


def _rehearse(
    client: ChatClient, shown: Callable[[int, int], None], make_step: MakeStep, source: Any, stepping: Stepping
) -> Rehearsal:
    with tempfile.TemporaryDirectory() as scratch:
        report = run_step(
            make_step(client),
            source,
            Path(scratch) / "drafts.jsonl",
            asker=asker_from(stepping.model, client=client),
            limit=stepping.limit,
            on_progress=shown,
        )
    return rehearsal_of(report.n_drafts, report.failures)


def tell_step(report: StepReport, output: Path, *, as_json: bool, more: dict[str, Any]) -> None:
    """Print what a step did."""
    tell_failures(report.failures)
    if as_json:
        print_json({"output": str(output), **report.fields(), **more})
        return
    rows: list[list[Cell]] = [["kept", report.n_kept]]
    rows += [[f"dropped: {reason}", count] for reason, count in report.dropped.most_common()]
    if report.failures:
        rows.append(["failed, to be asked again", len(report.failures)])
    print_table(Table(columns=[report.step, counted(report.n_drafts, "draft")], rows=rows))
    click.echo(f"{output}{'' if report.is_finished else ': not finished; run again'}")


def agreement_in(work: Path) -> dict[str, WindowAgreement]:
    """Return how often two windows agree on a sentence, by model; empty where nothing is judged yet."""
    path = output_of("judge", work)
    if not path.is_file():
        return {}
    file = open_drafts(path, must_be_finished=False)
    return windows_agree(file[one] for one in file.offsets)


def agreement_fields(found: Mapping[str, WindowAgreement]) -> dict[str, Any]:
    """Return the agreement as a program reads it."""
    fields = {
        model: {"n": one.pairs.total(), "agree": one.share, "kappa": one.kappa, "n_unread": one.n_unread}
        for model, one in found.items()
    }
    return {"windows_agree": fields}


def tell_agreement(found: Mapping[str, WindowAgreement], *, as_json: bool) -> None:
    """Print the agreement, unless what is printed is JSON, and warn of models whose windows do not agree."""
    for model, one in found.items():
        if not as_json:
            print_prose(printable(f"{model}: {one.told}."))
    print_cautions(f"{model}: {one.warning}" for model, one in found.items() if one.warning)


def tell_failures(failures: Mapping[str, str]) -> None:
    """Print the first of the drafts that failed, with the reason, on standard error."""
    for draft_id, why in list(failures.items())[:_MOST_FAILURES]:
        click.echo(f"{printable(draft_id)}: {printable(why)}", err=True)
