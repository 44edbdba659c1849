"""``evidencebench run``."""

import os
import shlex
import textwrap
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import click

from evidencebench.cli.asking import Asking, asking_options, estimating, opened_desk
from evidencebench.cli.exits import EXIT_STOPPED
from evidencebench.cli.options import (
    data_option,
    jobs_option,
    json_option,
    limit_option,
    open_data,
    progress_option,
    seed_option,
    task_options,
)
from evidencebench.cli.output import print_json, print_table, progress
from evidencebench.dataset import Dataset
from evidencebench.errors import StopError
from evidencebench.execution import RunReport, execute, rehearse
from evidencebench.llm.ledger import Ledger, shown_usd
from evidencebench.llm.prices import PriceTable
from evidencebench.reporting import notes_line
from evidencebench.systems import make_system
from evidencebench.tables import WIDTH, Cell, Table, printable
from evidencebench.tasks import Task


@click.command
@click.argument("system")
@data_option
@task_options
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="RUN", help="The run file.")
@limit_option
@jobs_option
@click.option(
    "--hypothesis",
    type=click.Choice(["own", "wrong"]),
    default="own",
    show_default=True,
    help="Ask each paper its own hypothesis, or another paper's.",
)
@seed_option
@click.option("--overwrite", is_flag=True, help="Start over where RUN exists; default: go on.")
@click.option("--retry-failed", is_flag=True, help="Ask again for answers that failed.")
@asking_options
@json_option
@progress_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    system: str,
    data: str,
    tasks: tuple[Task, ...],
    output: Path | None,
    limit: int | None,
    jobs: int,
    hypothesis: Literal["own", "wrong"],
    seed: int,
    overwrite: bool,
    retry_failed: bool,
    asking: Asking,
    as_json: bool,
    progress_style: str,
) -> None:
    """Run SYSTEM over a data set into a run file.

    Each answer is appended as it comes. SYSTEM is a name of 'evidencebench systems', with options as in
    bm25:k1=1.2,b=0.75, or own code as file.py:Class or package.module:factory.
    After an interruption, the same command goes on where it stopped.

    \b
    Examples:
      evidencebench run bm25 --data sample -o bm25.jsonl
      evidencebench run bm25 --data sample -o swapped.jsonl --hypothesis wrong
      evidencebench run my_systems.py:MySystem --data train -o mine.jsonl -j 2
      evidencebench run llm_base:model=openai/gpt-4o-mini --data train --estimate
      evidencebench run llm_base:model=openai/gpt-4o --data train -o llm.jsonl
    """
    dataset = open_data(data)
    what: dict[str, Any] = {"tasks": tasks, "limit": limit, "seed": seed, "hypothesis": hypothesis}
    asks = make_system(system, seed=seed).waits
    _require_model(asking, asks=asks)
    if asking.estimate:
        n_failed = _estimate(system, dataset, what, asking, as_json=as_json, progress_style=progress_style)
        ctx.exit(1 if n_failed else 0)
    if output is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    with opened_desk(asking) if asks else nullcontext() as desk:
        client = desk.client if desk is not None else None
        with progress(system, progress_style, client.ledger.summary if client is not None else None) as on_progress:
            try:
                report = execute(
                    system,
                    dataset,
                    output,
                    **what,
                    jobs=jobs,
                    overwrite=overwrite,
                    retry_failed=retry_failed,
                    client=client,
                    max_waiting=asking.max_connections,
                    settle=desk.settle if desk is not None else None,
                    on_interrupt=_tell_interrupt,
                    on_progress=on_progress,
                )
            except (StopError, KeyboardInterrupt):
                if client is not None:
                    click.echo(f"asked: {client.ledger.summary()}", err=True)
                raise
    ledger = client.ledger if client is not None else None
    if as_json:
        asked = {"asked": ledger.fields()} if ledger is not None else {}
        print_json({"run": str(output), **asdict(report), **asked})
    else:
        _print(output, data, report, ledger)
    ctx.exit(EXIT_STOPPED if report.n_unanswered else 1 if report.n_failed else 0)


def _tell_interrupt() -> None:
    """Say what an interrupt does; written past Python's buffers, which a signal may have met half-way."""
    os.write(2, b"finishing what was begun; Ctrl-C again ends at once\n")


def _require_model(asking: Asking, *, asks: bool) -> None:
    if not asks and (asking.estimate or asking.batch or asking.max_cost_usd is not None):
        raise click.UsageError("--estimate, --batch and --max-cost-usd are for systems that ask a language model")


def _estimate(
    system: str, dataset: Dataset, what: Mapping[str, Any], asking: Asking, *, as_json: bool, progress_style: str
) -> int:
    """Print what a run would send and cost, and return how many answers would fail."""
    prices = PriceTable.load(asking.prices)
    with estimating(asking, prices) as (client, sender), progress("estimating", progress_style) as on_progress:
        found = rehearse(system, dataset, client=client, on_progress=on_progress, **what)
    if found.first_error:
        click.echo(f"{found.n_failed} answers would fail; the first: {printable(found.first_error)}", err=True)
    n_stored = client.ledger.totals.stored
    estimates = sender.estimates()
    if as_json:
        models = [asdict(estimate) for estimate in estimates]
        assumed = {"assumed_completion_tokens": asking.assumed_tokens, "batch": asking.batch}
        print_json({**asdict(found), "stored": n_stored, **assumed, "prices_as_of": prices.as_of, "models": models})
        return found.n_failed
    rows: list[list[Cell]] = [
        [one.model, one.requests, one.prompt_tokens, one.completion_tokens, _price(one.cost_usd)] for one in estimates
    ]
    columns = ["model", "requests", "prompt tokens", "reply tokens", "cost"]
    print_table(Table(columns=columns, rows=rows))
    said = (
        f"{found.n_instances} instances; {n_stored:,} requests are stored and cost nothing. Tokens are estimated; "
        f"replies are taken to be well-formed and {asking.assumed_tokens} tokens long (--assume-tokens). Prices as of "
        f"{prices.as_of}: check them (--prices). Nothing was sent."
    )
    click.echo(textwrap.fill(said, WIDTH))
    return found.n_failed


def _price(cost_usd: float | None) -> str:
    return "unknown" if cost_usd is None else shown_usd(cost_usd)


_SPENT = {"requests", "prompt_tokens", "completion_tokens", "reasoning_tokens", "cost_microusd", "unpriced_replies"}


def _print(output: Path, data: str, report: RunReport, ledger: Ledger | None) -> None:
    resumed = f", {report.n_resumed} of them already there" if report.n_resumed else ""
    click.echo(f"{output}: {report.n_instances} instances{resumed}; {report.n_failed} answers failed")
    if ledger is not None:
        click.echo(f"  asked: {ledger.summary()}", err=True)
    if report.first_error:
        click.echo(f"  first failure: {printable(report.first_error)}", err=True)
        advice = "asks again" if ledger is None else "asks again what got no reply, another --seed all"
        click.echo(f"  they score 0 and are counted; --retry-failed {advice}", err=True)
    if report.n_unanswered:
        click.echo(f"  {report.n_unanswered} instances are unanswered; the same command goes on from there", err=True)
    if report.trained_on_it:
        click.echo("  trained on this data: its score says nothing of other papers (see crossval)", err=True)
    # What was spent stands above: here a reply that serves several tasks would count for each.
    if notes := {name: count for name, count in report.notes.items() if name not in _SPENT}:
        line = textwrap.fill(notes_line(notes), WIDTH, initial_indent="  ", subsequent_indent="  ")
        click.echo(line, err=True)
    click.echo(f"next: {shlex.join(['evidencebench', 'score', str(output), '--data', data])}")
