"""What asking language models would cost, printed by every command that asks them."""

from collections.abc import Callable
from dataclasses import asdict

import click

from evidencebench.cli.asking import Asking, estimating
from evidencebench.cli.output import print_json, print_prose, print_table
from evidencebench.cli.progress import ProgressReporter, progress
from evidencebench.execution.asking import Rehearsal
from evidencebench.models.llm.client import ChatClient
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.totals import shown_usd
from evidencebench.tables import Cell, Table, printable
from evidencebench.wording import counted


def print_estimate(
    asking: Asking,
    rehearse: Callable[[ChatClient, ProgressReporter], Rehearsal],
    *,
    how: str = "",
) -> int:
    """Print what a command would send and cost, and return how many answers would fail.

    ``rehearse`` asks everything with a client that sends nothing, and reports progress. ``how`` is printed behind the
    number of instances, such as how often each is asked.
    """
    prices = PriceTable.load(asking.prices)
    with estimating(asking, prices) as (client, sender), progress("estimating", asking.progress_style) as shown:
        found = rehearse(client, shown)
    if found.first_error:
        click.echo(
            f"{counted(found.n_failed, 'answer')} would fail; the first: {printable(found.first_error)}", err=True
        )
    n_stored = client.totals.now.stored
    estimates = sender.estimates()
    if asking.as_json:
        models = [asdict(estimate) for estimate in estimates]
        assumed = {"assumed_completion_tokens": asking.assumed_tokens, "batch": asking.batch}
        print_json({**asdict(found), "stored": n_stored, **assumed, "prices_as_of": prices.as_of, "models": models})
        return found.n_failed
    rows: list[list[Cell]] = [
        [one.model, one.requests, one.prompt_tokens, one.completion_tokens, _price(one.cost_usd)] for one in estimates
    ]
    print_table(Table(columns=["model", "requests", "prompt tokens", "reply tokens", "cost"], rows=rows))
    said = (
        f"{counted(found.n_instances, 'instance')}{how}{_tasks(found)}. {counted(n_stored, 'request')} "
        f"{'is' if n_stored == 1 else 'are'} stored and cost nothing. Tokens are estimated; replies are taken to be "
        f"well-formed and {asking.assumed_tokens} tokens long (--assume-tokens). Prices as of {prices.as_of}: check "
        "them (--prices). Nothing was sent."
    )
    print_prose(said)
    return found.n_failed


def _tasks(found: Rehearsal) -> str:
    match found.tasks:
        case ():
            return ""
        case (task,):
            return f", asked for {task}"
        case tasks:
            return f", each asked for {len(tasks)} tasks ({', '.join(tasks)}); -t TASK asks for one"


def _price(cost_usd: float | None) -> str:
    return "unknown" if cost_usd is None else shown_usd(cost_usd)
