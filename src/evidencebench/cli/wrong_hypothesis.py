"""``evidencebench wrong-hypothesis``."""

from typing import Any

import click

from evidencebench.cli import options
from evidencebench.cli.asking import Asking, asking_options, opened_client, print_estimate, require_model, tell_asked
from evidencebench.cli.comparison_tables import print_comparisons
from evidencebench.cli.output import print_json, print_prose, print_signatures
from evidencebench.cli.progress import ProgressReporter
from evidencebench.data.dataset import open_dataset
from evidencebench.data.tasks import Task
from evidencebench.execution.answering import default_tasks
from evidencebench.execution.asking import Rehearsal, rehearse_all
from evidencebench.execution.making import asks_model, make_system
from evidencebench.models.llm.client import ChatClient
from evidencebench.runs.header import SystemHeader, code_text
from evidencebench.scoring.compare import adjust_p_values
from evidencebench.scoring.resampling import Resampling
from evidencebench.scoring.score_fields import comparison_fields
from evidencebench.scoring.signature import signature
from evidencebench.scoring.wrong_hypothesis import wrong_hypothesis_control, wrong_hypothesis_inquiries
from evidencebench.wording import counted


@click.command
@options.system
@options.data
@options.tasks
@options.limit
@options.resampling
@asking_options(options.table_format)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    system: str,
    data: str,
    tasks: tuple[Task, ...],
    limit: int | None,
    resampling: Resampling,
    asking: Asking,
    table_format: str,
) -> None:
    """Measure whether SYSTEM uses the hypothesis.

    Each paper is asked its own hypothesis, then another paper's.

    A high score does not show that a system used the hypothesis. If recall stays
    and the selections overlap, it did not. 'first' is its own hypothesis, 'second'
    the wrong one.

    A SYSTEM that asks a language model is asked as by 'run': under a cost limit,
    many papers at once, and nothing that is stored is paid again.

    \b
    Examples:
      evidencebench wrong-hypothesis bm25 --data sample
      evidencebench wrong-hypothesis llm_base:model=openai/gpt-4o-mini \\
        --data train --task er_at_10 --max-cost-usd 1
    """
    dataset = open_dataset(data)
    what: dict[str, Any] = {"limit": limit, "resampling": resampling}
    asks = asks_model(system)
    require_model(asking, asks=asks)
    if asking.estimate:

        def rehearse(client: ChatClient, shown: ProgressReporter) -> Rehearsal:
            named = make_system(system, seed=resampling.seed, client=client)
            asked = tasks or default_tasks(named)
            inquiries = wrong_hypothesis_inquiries(named, dataset, asked, **what)
            return rehearse_all(list(inquiries.values()), dataset, asked, limit=limit, on_progress=shown)

        how = " with the own and with a wrong hypothesis"
        n_failed = print_estimate(asking, rehearse, how=how)
        ctx.exit(1 if n_failed else 0)
    with opened_client(asking, "asking", asks=asks) as (client, waiting, shown):
        named = make_system(system, seed=resampling.seed, client=client)
        found = wrong_hypothesis_control(
            named, dataset, tasks or default_tasks(named), waiting=waiting, on_progress=shown, **what
        )
    tell_asked(client)
    n_failed = sum(one.first_counts.failed + one.second_counts.failed for one in found.values())
    if n_failed:
        told = f"{counted(n_failed, 'answer')} failed, which scores 0"
        click.echo(f"{told}; 'evidencebench run {system}' says why", err=True)
    if asking.as_json:
        print_json({name: comparison_fields(one, ("own", "wrong")) for name, one in found.items()})
        ctx.exit(1 if n_failed else 0)
    compared = ((f"{system}, own hypothesis", f"{system}, wrong hypothesis", one) for one in found.values())
    print_comparisons(adjust_p_values(compared), table_format)
    if table_format == "text":
        print_prose("Recall that stays, on selections that overlap, is not the hypothesis's doing.")
        click.echo()
    asked = SystemHeader(name=named.name, options=dict(named.options)).signature
    label = f"{asked}{code_text(named.versions())}[own - wrong hypothesis]"
    signatures = (
        signature(dataset, label, task=one.task, n=one.test.difference.n, resampling=resampling)
        for one in found.values()
    )
    print_signatures(signatures, table_format)
    ctx.exit(1 if n_failed else 0)
