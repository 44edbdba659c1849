"""``evidencebench controls``."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.asking import Asking, opened_client, print_estimate, require_model, tell_asked
from evidencebench.cli.options import argument
from evidencebench.cli.output import ProgressReporter, print_result
from evidencebench.data.dataset import Dataset
from evidencebench.data.tasks import Task
from evidencebench.execution.answers import ask_once_an_instance, default_tasks, require_answerable
from evidencebench.execution.asking import Inquiry, Rehearsal, Waiting, gather, rehearse_all
from evidencebench.execution.changes import changed_instance, changes_of
from evidencebench.execution.making import asks_model, make_system
from evidencebench.experiment.pairs import control_result
from evidencebench.models.llm.client import ChatClient
from evidencebench.runs.header import QueryControl, SystemHeader, code_text
from evidencebench.runs.oddities import warn
from evidencebench.scoring.compare import OWN, ControlResult, control_results
from evidencebench.scoring.evaluate import AnswerSource, evaluate_sources
from evidencebench.scoring.oddities import oddities
from evidencebench.scoring.resampling import Resampling
from evidencebench.system import NamedSystem
from evidencebench.wording import counted

WRONG_HYPOTHESIS = QueryControl(name="wrong_hypothesis")


@options.command
def controls(
    *,
    systems: Annotated[tuple[str, ...], argument("SYSTEM...", required=True, shell_complete=options.complete_systems)],
    data: options.Data,
    controls: Annotated[tuple[QueryControl, ...], options.control_option("What to change; repeatable.")],
    tasks: options.Tasks,
    limit: options.Limit,
    ids: options.Ids,
    resampling: options.ResamplingChoice,
    asking: Asking,
    table_format: options.TableFormat,
) -> int:
    """Measure whether SYSTEMs use the hypothesis.

    Asks each query as it is, then changed. --control says what changes:

    \b
      wrong_hypothesis  another paper's hypothesis (the default)
      two_papers        a distractor paper's sentences before or after its own
      shuffled_words    the order of the hypothesis's words
      negated=FILE      the hypothesis negated      } from a file that
      paraphrased=FILE  the hypothesis in other words } 'llm rewrite' makes
      changed=FILE      another hypothesis of yours   } or you

    A system whose recall and selections stay the same with the wrong hypothesis
    does not use the hypothesis, however high its score. With two_papers,
    'distractor' is the share of selected sentences that are from the other paper;
    none of these is evidence. p is adjusted (Holm) over the systems of a table that
    differ on any instance. Language models are asked as by 'run'.

    \b
    Examples:
      evidencebench controls bm25 cues --data sample
      evidencebench controls llm_base:model=openai/gpt-4o-mini \\
        --data train --control negated=negated.jsonl --max-cost-usd 1
    """
    systems = tuple(dict.fromkeys(systems))
    dataset = options.open_part(data, ids)
    controls = tuple(dict.fromkeys(controls)) or (WRONG_HYPOTHESIS,)
    asks = any(map(asks_model, systems))
    require_model(asking, asks=asks)

    def made(client: ChatClient | None) -> dict[str, NamedSystem]:
        return {system: make_system(system, seed=resampling.seed, client=client) for system in systems}

    if asking.estimate:

        def rehearse(client: ChatClient, shown: ProgressReporter) -> Rehearsal:
            every = made(client)
            asked = tasks or _common_tasks(every)
            named = {spec: system for spec, system in every.items() if system.waits}
            inquiries = _inquiries(named, dataset, asked, controls, limit=limit, seed=resampling.seed)
            return rehearse_all(list(inquiries.values()), dataset, asked, limit=limit, on_progress=shown)

        how = f" with the own query and {counted(len(controls), 'changed one')}"
        return print_estimate(asking, rehearse, how=how)
    with opened_client(asking, "asking", asks=asks) as (client, waiting, shown):
        named = made(client)
        results = measured(
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


def measured(
    systems: Mapping[str, NamedSystem],
    dataset: Dataset,
    tasks: Sequence[Task],
    controls: Sequence[QueryControl],
    *,
    limit: int | None = None,
    resampling: Resampling,
    waiting: Waiting = Waiting(),  # noqa: B008 - frozen
    on_progress: Callable[[int, int], None] | None = None,
) -> tuple[ControlResult, ...]:
    """Return the results as `Experiment.controls` does, of answers that are not kept; all questions share batches."""
    asked = tasks or _common_tasks(systems)
    inquiries = _inquiries(systems, dataset, asked, controls, limit=limit, seed=resampling.seed)
    waits = {key: inquiry for key, inquiry in inquiries.items() if inquiry.system.waits}
    sources: dict[tuple[str, str], AnswerSource] = {
        key: ask_once_an_instance(inquiry.system, partial(changed_instance, changes=inquiry.changes, dataset=dataset))
        for key, inquiry in inquiries.items()
    }
    if waits:
        gathered = gather(list(waits.values()), dataset, asked, limit=limit, waiting=waiting, on_progress=on_progress)
        sources |= {key: inquiry.answer for key, inquiry in zip(waits, gathered, strict=True)}
    by_name = evaluate_sources(
        {", ".join(key): source for key, source in sources.items()},
        dataset,
        asked,
        {", ".join(key): (inquiry.changes and inquiry.changes.distractors) or {} for key, inquiry in inquiries.items()},
        limit=limit,
        on_progress=None if waits else on_progress,
    )
    scores = dict(zip(sources, by_name.values(), strict=True))
    warn(oddities(systems, {name: scores[name, OWN] for name in systems}, dataset))
    compared = [
        (name, control, scores[name, OWN][task.name], scores[name, control][task.name])
        for name, control in inquiries
        if control != OWN
        for task in asked
        if scores[name, control][task.name].ids
    ]
    return control_results(compared, {name: one.traits.reads_hypothesis for name, one in systems.items()}, resampling)


def _inquiries(
    systems: Mapping[str, NamedSystem],
    dataset: Dataset,
    tasks: Sequence[Task],
    controls: Sequence[QueryControl],
    *,
    limit: int | None,
    seed: int,
) -> dict[tuple[str, str], Inquiry]:
    """Return (system, control; `OWN` first) -> what is asked."""
    changes = {str(control): changes_of(control, dataset, seed, limit) for control in controls}
    for system in systems.values():
        require_answerable(system, dataset, tasks, limit=limit, own_queries=False)
    return {
        (name, control): Inquiry(system=system, changes=change)
        for name, system in systems.items()
        for control, change in {OWN: None, **changes}.items()
    }


def _common_tasks(systems: Mapping[str, NamedSystem]) -> tuple[Task, ...]:
    first, *others = map(default_tasks, systems.values())
    return tuple(task for task in first if all(task in tasks for tasks in others))


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
