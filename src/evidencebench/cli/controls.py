"""``evidencebench controls``."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Annotated, Any

import click

from evidencebench.cli import options
from evidencebench.cli.asking import Asking, opened_client, print_estimate, require_model, tell_asked
from evidencebench.cli.compare import comparison_columns
from evidencebench.cli.options import argument
from evidencebench.cli.output import ProgressReporter, print_json, print_prose, print_signatures, print_table
from evidencebench.data.dataset import Dataset, open_dataset
from evidencebench.execution.asking import Rehearsal, rehearse_all
from evidencebench.execution.making import asks_model, make_system
from evidencebench.models.llm.client import ChatClient
from evidencebench.runs.header import QueryControl, SystemHeader, code_text
from evidencebench.scoring.compare import ControlResult
from evidencebench.scoring.output import comparison_fields, signature
from evidencebench.scoring.query_controls import OWN, common_tasks_of, inquiries_of, measure_query_controls
from evidencebench.scoring.resampling import Resampling
from evidencebench.scoring.significance import mean_or_none, p_text
from evidencebench.system import NamedSystem
from evidencebench.tables import Column, share_column, table_for_csv, table_for_readers
from evidencebench.wording import counted


@options.command
def controls(
    *,
    systems: Annotated[tuple[str, ...], argument("SYSTEM...", required=True, shell_complete=options.complete_systems)],
    data: options.Data,
    controls: Annotated[tuple[QueryControl, ...], options.control_option("What is changed; repeatable.")],
    tasks: options.Tasks,
    limit: options.Limit,
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
    dataset = open_dataset(data)
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
    if asking.as_json:
        print_json(list(map(_fields, results)))
    else:
        print_controls(results, table_format)
        print_signatures(_signatures(results, named, dataset, resampling), table_format)
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


def _fields(result: ControlResult) -> dict[str, Any]:
    return {
        "system": result.system,
        "control": result.control,
        "task": result.comparison.task.name,
        **comparison_fields(result.comparison, (OWN, "changed")),
        "p_value_holm": result.p_value,
        "can_differ": result.comparison.can_differ,
        "reads_hypothesis": result.reads_hypothesis,
        "stranger": None if result.stranger is None else asdict(result.stranger),
    }


_COLUMNS: dict[str, Column[ControlResult]] = comparison_columns(
    lambda result: result.comparison,
    (OWN, "changed"),
    difference="own - changed",
    p_holm=lambda result: result.p_value,
    p_text=lambda result: "*" if result.adjusted is None else p_text(result.adjusted),
)
_SYSTEM: Column[ControlResult] = Column("system", "system", lambda result: result.system)
_READERS = [_SYSTEM, *(_COLUMNS[name] for name in ("mean_own", "mean_changed", "difference", "p_holm", "overlap"))]


def _stranger_column(share: str, heading: str = "") -> Column[ControlResult]:
    return share_column(
        f"stranger_{share}", heading, lambda result: result.stranger and mean_or_none(getattr(result.stranger, share))
    )


_CSV: list[Column[ControlResult]] = [
    _SYSTEM,
    Column("control", "", lambda result: result.control),
    *_COLUMNS.values(),
    Column("reads_hypothesis", "", lambda result: result.reads_hypothesis),
    *map(_stranger_column, ("sentences", "selection", "recall")),
]


def print_controls(results: Sequence[ControlResult], table_format: str) -> None:
    if table_format == "csv":
        print_table(table_for_csv(_CSV, results), "csv")
        return
    groups: dict[tuple[str, str], list[ControlResult]] = {}
    for result in results:
        groups.setdefault((result.control, result.comparison.task.name), []).append(result)
    for (control, task), members in groups.items():
        columns, title = _READERS, f"{control}, {task}: aspect recall in %"
        if stranger := members[0].stranger:
            columns = [*columns, _stranger_column("selection", "stranger, %")]
            title = f"{title}; of all sentences, {100 * stranger.sentences.mean:.1f} % are the stranger's"
        untested = "* recall differs on no paper, or on too few to be significant, so there is nothing to test"
        notes = [untested] if any(result.adjusted is None for result in members) else []
        print_table(table_for_readers(columns, members, title=title, notes=notes), table_format)
    if table_format == "text":
        print_prose("Recall that stays, on selections that overlap, is not the hypothesis's doing.")
        click.echo()


def _signatures(
    results: Sequence[ControlResult], systems: Mapping[str, NamedSystem], dataset: Dataset, resampling: Resampling
) -> Iterator[str]:
    """Yield one signature for each system and task, which names all controls."""
    controls = "+".join(dict.fromkeys(result.control for result in results))
    comparisons = {(result.system, result.comparison.task.name): result.comparison for result in results}
    for (name, _), comparison in comparisons.items():
        system = systems[name]
        asked = SystemHeader(name=system.name, options=dict(system.options)).signature
        label = f"{asked}{code_text(system.versions())}[own - {controls}]"
        yield signature(dataset, label, task=comparison.task, n=comparison.test.difference.n, resampling=resampling)
