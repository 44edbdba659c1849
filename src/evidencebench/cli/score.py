"""``evidencebench score``."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from evidencebench.cli.grading import Graded, grade, signature_of
from evidencebench.cli.options import (
    controls_option,
    data_option,
    format_option,
    json_option,
    open_data,
    progress_option,
    resampling_options,
    rule_options,
    task_options,
)
from evidencebench.cli.output import print_json, print_table, progress, wrapped
from evidencebench.evaluation import Rules
from evidencebench.reporting import kind_breakdown, mean_percent, percent, score_fields
from evidencebench.significance import Estimate, Resampling
from evidencebench.tables import Cell, Table, printable
from evidencebench.tasks import Task, task_named


@click.command
@click.argument("run", type=click.Path(path_type=Path))
@data_option
@task_options
@rule_options
@click.option("--curve", type=click.IntRange(1), metavar="K", help="Add aspect recall at every budget from 1 to K.")
@click.option("--kinds", is_flag=True, help="Add where it looks: abstract, headings, body.")
@controls_option
@resampling_options
@json_option
@format_option
@progress_option
def command(
    *,
    run: Path,
    data: str,
    tasks: tuple[Task, ...],
    rules: Rules,
    curve: int | None,
    kinds: bool,
    controls: bool,
    resampling: Resampling,
    as_json: bool,
    table_format: str,
    progress_style: str,
) -> None:
    """Score RUN: a run, {id: [indices]} JSON, or a TREC run.

    Aspect recall is covered aspects / all aspects that count, averaged over
    instances, with an interval that resamples papers. Failed, empty and missing
    answers score 0 and are counted.

    \b
    Examples:
      evidencebench score bm25.jsonl --data sample
      evidencebench score answers.json --data test --task er_at_10 --json
      evidencebench score bm25.jsonl --data train --curve 20 --format csv
    """
    dataset = open_data(data)
    with progress("scoring", progress_style) as on_progress:
        graded = grade([run], dataset, tasks, rules=rules, with_controls=controls, on_progress=on_progress)
    (label,) = graded.runs
    fields = {task.name: _fields(graded, label, task, resampling) for task in graded.tasks}
    for task in graded.tasks:
        if kinds:
            fields[task.name]["kinds"] = kind_breakdown(graded.scores[label][task.name], dataset)
        if curve and task.budget is not None:
            fields[task.name]["curve"] = _curve(run, graded, task, curve, resampling)
    if as_json:
        print_json(fields)
    else:
        _print(fields, graded, table_format)


def _fields(graded: Graded, label: str, task: Task, resampling: Resampling) -> dict[str, Any]:
    return {
        **score_fields(graded.scores[label][task.name], resampling),
        "controls": {name: mean_percent(scores, task.name) / 100 for name, scores in graded.controls.items()},
        "signature": signature_of(graded, label, task, resampling),
    }


def _curve(run: Path, graded: Graded, task: Task, largest: int, resampling: Resampling) -> list[dict[str, Any]]:
    """Return aspect recall at every budget up to the largest, over the aspects that count for the task."""
    prefix = "result_" if task.scope == "results" else ""
    budgets = [task_named(f"{prefix}er_at_{k}") for k in range(1, largest + 1)]
    (scores,) = grade([run], graded.dataset, budgets, rules=graded.rules, with_controls=False).scores.values()
    estimates = (scores[at_k.name].estimate("aspect_recall", resampling) for at_k in budgets)
    return [{"k": k, **asdict(estimate)} for k, estimate in enumerate(estimates, 1)]


def _print(fields: Mapping[str, Any], graded: Graded, table_format: str) -> None:
    (run,) = graded.runs.values()
    if table_format == "text":
        click.echo(f"{printable(run.name)} on {printable(graded.dataset.name)}: aspect recall in %\n")
    rows: list[list[Cell]] = []
    for name, found in fields.items():
        means: list[Cell] = [100 * mean for mean in found["controls"].values()]
        rows.append([name, percent(Estimate(**found["aspect_recall"])), found["n"], *means])
    columns = ["task", "aspect recall", "n", *(_SHORT.get(name, name) for name in graded.controls)]
    print_table(Table(columns=columns, rows=rows), table_format)
    if table_format == "text":
        _print_measures(fields)
        _print_kinds_and_curves(fields)
        for found in fields.values():
            value = Estimate(**found["aspect_recall"])
            click.echo(
                wrapped(f"{printable(found['signature'])} = {value.mean:.3f} [{value.low:.3f}, {value.high:.3f}]")
            )


def _print_measures(fields: Mapping[str, Any]) -> None:
    means: list[list[Cell]] = [
        [name, *(None if found[measure] is None else 100 * found[measure]["mean"] for measure in _MORE)]
        for name, found in fields.items()
    ]
    print_table(Table(columns=["task", *_MORE.values()], rows=means))
    counts: list[list[Cell]] = [[name, *(found[count] for count in _COUNTS)] for name, found in fields.items()]
    print_table(Table(columns=["task", *_COUNTS.values()], rows=counts))


_SHORT = {"abstract_backwards": "abstract", "oracle": "ceiling"}
_MORE = {
    "coverable_aspect_recall": "coverable",
    "precision": "precision",
    "relative_recall": "relative",
    "regret": "regret",
}
_COUNTS = {
    "failed": "failed",
    "empty": "empty",
    "missing": "missing",
    "duplicates": "repeats",
    "over_length": "too long",
    "out_of_range": "no such",
    "not_applicable": "left out",
}


def _print_kinds_and_curves(fields: Mapping[str, Any]) -> None:
    for name, found in fields.items():
        if "kinds" in found:
            rows: list[list[Cell]] = [
                [kind, *(100 * row[part] for part in ("selected", "recall", "available"))]
                for kind, row in found["kinds"].items()
            ]
            columns = ["kind", "% of selection", "recall from it", "recall available"]
            print_table(Table(title=name, columns=columns, rows=rows))
        if "curve" in found:
            points: list[list[Cell]] = [
                [point["k"], 100 * point["mean"], 100 * point["low"], 100 * point["high"]] for point in found["curve"]
            ]
            print_table(Table(title=f"{name}: aspect recall by budget", columns=["k", "%", "low", "high"], rows=points))
