"""``evidencebench controls``."""

from collections.abc import Sequence
from itertools import groupby
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.asking import Asking, opened_client, print_estimate, require_model, tell_asked
from evidencebench.cli.options import argument
from evidencebench.cli.output import ProgressReporter, print_result
from evidencebench.execution.asking import Rehearsal, rehearse_all
from evidencebench.execution.making import asks_model, make_system
from evidencebench.experiment.pairs import control_result
from evidencebench.models.llm.client import ChatClient
from evidencebench.runs.header import QueryControl, SystemHeader, code_text
from evidencebench.scoring.compare import ControlResult
from evidencebench.scoring.query_controls import common_tasks_of, inquiries_of, measure_query_controls
from evidencebench.system import NamedSystem
from evidencebench.wording import counted


@options.command
def controls(
    *,
    systems: Annotated[tuple[str, ...], argument("SYSTEM...", required=True, shell_complete=options.complete_systems)],
    data: options.Data,
    controls: Annotated[tuple[QueryControl, ...], options.control_option("What is changed; repeatable.")],
    tasks: options.Tasks,
    limit: options.Limit,
    ids: options.Ids,
    resampling: options.ResamplingChoice,
    asking: Asking,
    table_format: options.TableFormat,
) -> int:
    """Measure whether SYSTEMs use the hypothesis.

    Each paper is asked its own query, then a changed one. What --control changes:

    \b
      wrong_hypothesis  another paper's hypothesis (the default)
      two_papers        another paper's sentences before or behind the own
      shuffled_words    the order of the hypothesis's words
      negated=FILE      the hypothesis negated      } from a file that
      paraphrased=FILE  the hypothesis in other words } 'llm rewrite' makes
      changed=FILE      another hypothesis of yours   } or you

    If recall and selections stay the same with the wrong hypothesis, a system does
    not use it, however high its score. Of two papers, 'stranger' is the share of
    selected sentences from the other paper, none of which is evidence. p is
    adjusted (Holm) over the systems of a table that differ on any paper. Systems
    that ask a language model are asked as by 'run'.

    \b
    Examples:
      evidencebench controls bm25 cues --data sample
      evidencebench controls llm_base:model=openai/gpt-4o-mini \\
        --data train --control negated=negated.jsonl --max-cost-usd 1
    """
    systems = tuple(dict.fromkeys(systems))
    dataset = options.open_part(data, ids)
    controls = tuple(dict.fromkeys(controls)) or (QueryControl(name="wrong_hypothesis"),)
    asks = any(map(asks_model, systems))
    require_model(asking, asks=asks)

    def made(client: ChatClient | None) -> dict[str, NamedSystem]:
        return {system: make_system(system, seed=resampling.seed, client=client) for system in systems}

    if asking.estimate:

        def rehearse(client: ChatClient, shown: ProgressReporter) -> Rehearsal:
            named = {spec: system for spec, system in made(client).items() if system.waits}
            asked = tasks or common_tasks_of(named)
            inquiries = inquiries_of(named, dataset, asked, controls, limit=limit, seed=resampling.seed)
            return rehearse_all(list(inquiries.values()), dataset, asked, limit=limit, on_progress=shown)

        how = f" with the own query and {counted(len(controls), 'changed one')}"
        return print_estimate(asking, rehearse, how=how)
    with opened_client(asking, "asking", asks=asks) as (client, waiting, shown):
        named = made(client)
        results = measure_query_controls(
            named, dataset, tasks, controls, limit=limit, resampling=resampling, waiting=waiting, on_progress=shown
        )
    tell_asked(client)
    n_failed = _tell_failed(results)
    signatures = {
        name: SystemHeader(name=system.name, options=dict(system.options)).signature + code_text(system.versions())
        for name, system in named.items()
    }
    form = "json" if asking.as_json else table_format
    print_result(control_result(results, signatures, dataset, resampling), form)
    return 1 if n_failed else 0


def _tell_failed(results: Sequence[ControlResult]) -> int:
    """Print how many answers of each system failed, and return how many in all; own ones stand in several results."""
    n_all = 0
    for system, results_of_system in groupby(results, key=lambda result: result.system):
        comparisons = [result.comparison for result in results_of_system]
        own = {comparison.task.name: comparison.first_counts.failed for comparison in comparisons}
        n_failed = sum(own.values()) + sum(comparison.second_counts.failed for comparison in comparisons)
        n_all += n_failed
        if n_failed:
            answers = counted(n_failed, "answer")
            click.echo(f"{answers} failed, which scores 0; 'evidencebench run {system}' says why", err=True)
    return n_all
