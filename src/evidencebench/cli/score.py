"""``evidencebench score``."""

import textwrap
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from evidencebench.cli.numbers import Whole
from evidencebench.cli.options import (
    complete_option,
    controls_option,
    data_option,
    format_option,
    json_option,
    limit_option,
    open_data,
    progress_option,
    resampling_options,
    rule_options,
    task_options,
)
from evidencebench.cli.output import (
    print_cautions,
    print_json,
    print_prose,
    print_signatures,
    print_table,
    prose_width,
    wrapped,
)
from evidencebench.cli.plotting import (
    bar_of,
    control_marks,
    curve_chart,
    plot_option,
    print_bars,
    score_chart,
    write_picture,
)
from evidencebench.cli.progress import progress
from evidencebench.cli.score_tables import (
    LEGEND,
    Curves,
    Fields,
    counts_table,
    curve_tables,
    flat_curves,
    flat_table,
    kinds_tables,
    measures_table,
    recalls_table,
)
from evidencebench.data.tasks import Task, task_named
from evidencebench.query import AspectScope
from evidencebench.scoring.cautions import TRAINED_ON_IT, cautions_of, is_complete
from evidencebench.scoring.kind_breakdown import kind_breakdown
from evidencebench.scoring.resampling import Estimate, Resampling
from evidencebench.scoring.score_fields import score_fields
from evidencebench.scoring.score_runs import ScoredRuns, score_runs
from evidencebench.scoring.score_texts import notes_line, score_text
from evidencebench.scoring.selection import Rules
from evidencebench.scoring.signature import signature_of
from evidencebench.tables import printable


@click.command
@click.argument("run", type=click.Path(path_type=Path))
@data_option
@task_options
@rule_options
@click.option("--curve", type=Whole(1, 500), metavar="K", help="Add recall at every budget up to K; as CSV, it alone.")
@click.option("--kinds", is_flag=True, help="Add where it looks: abstract, headings, body.")
@limit_option
@controls_option
@complete_option
@resampling_options
@plot_option
@json_option
@format_option
@progress_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    run: Path,
    data: str,
    tasks: tuple[Task, ...],
    rules: Rules,
    curve: int | None,
    kinds: bool,
    limit: int | None,
    controls: bool,
    require_complete: bool,
    resampling: Resampling,
    plot: Path | None,
    as_json: bool,
    table_format: str,
    progress_style: str,
) -> None:
    """Score RUN: a run, {id: [indices]} JSON, or a TREC run.

    Aspect recall is covered aspects / all aspects that count, averaged over
    instances, with an interval that resamples papers. Failed, empty and missing
    answers score 0 and are counted. A list in JSON is a set; write
    {id: {"ranking": [indices]}} where the best stands first.

    \b
    Examples:
      evidencebench score bm25.jsonl --data sample
      evidencebench score answers.json --data test --task er_at_10 --json
      evidencebench score bm25.jsonl --data train --curve 20 --format csv
      evidencebench score bm25.jsonl --data sample --plot bm25.svg
    """
    if kinds and table_format == "csv" and not as_json:
        raise click.UsageError("--kinds has no CSV form; use --json")
    dataset = open_data(data)
    with progress("scoring", progress_style) as on_progress:
        graded = score_runs(
            [run],
            dataset,
            tasks,
            rules=rules,
            with_controls=controls,
            with_selections=kinds,
            limit=limit,
            on_progress=on_progress,
        )
    cautions = cautions_of(graded)
    print_cautions(cautions)
    (label,) = graded.runs
    fields = {task.name: _fields(graded, label, task, resampling) for task in graded.tasks}
    for task in graded.tasks:
        if kinds:
            fields[task.name]["kinds"] = kind_breakdown(graded.scores[label][task.name], dataset)
    curves: Curves = {}
    if curve:
        with progress("drawing the curve", progress_style) as on_progress:
            for scope in _scopes(graded):
                curves[scope] = _curve(
                    run, graded, scope, largest=curve, limit=limit, resampling=resampling, on_progress=on_progress
                )
    if plot:
        chart = curve_chart(curves, graded, label, resampling) if curves else score_chart(graded, label, resampling)
        write_picture(plot, chart)
    if as_json:
        for task in graded.tasks:
            fields[task.name] |= {"curve": curves[task.scope]} if curves else {}
            fields[task.name]["warnings"] = [str(caution) for caution in cautions]
        print_json(fields)
    else:
        _print(fields, curves, graded, table_format)
    ctx.exit(1 if require_complete and not is_complete(graded) else 0)


def _scopes(graded: ScoredRuns) -> list[AspectScope]:
    return list(dict.fromkeys(task.scope for task in graded.tasks))


def _fields(graded: ScoredRuns, label: str, task: Task, resampling: Resampling) -> dict[str, Any]:
    return {
        **score_fields(graded.scores[label][task.name], resampling),
        "controls": {
            name: 100 * scores[task.name].mean_recall / 100
            for name, scores in graded.controls.items()
            if task.name in scores
        },
        "trained_on_it": graded.trained_on_it(label),
        "signature": signature_of(graded, label, task, resampling),
    }


def _curve(
    run: Path,
    graded: ScoredRuns,
    scope: AspectScope,
    *,
    largest: int,
    limit: int | None,
    resampling: Resampling,
    on_progress: Callable[[int, int], None],
) -> list[dict[str, Any]]:
    """Return aspect recall at every budget up to the largest."""
    budgets = [task_named(f"{'result_' if scope == 'results' else ''}er_at_{k}") for k in range(1, largest + 1)]
    drawn = score_runs(
        [run],
        graded.dataset,
        budgets,
        rules=graded.rules,
        with_controls=False,
        limit=limit,
        on_progress=on_progress,
    )
    (scores,) = drawn.scores.values()
    estimates = (scores[at_k.name].estimate("aspect_recall", resampling) for at_k in budgets)
    return [{"k": k, **asdict(estimate)} for k, estimate in enumerate(estimates, 1)]


def _print(fields: Fields, curves: Curves, graded: ScoredRuns, table_format: str) -> None:
    (run,) = graded.runs.values()
    if table_format == "csv":
        print_table(flat_curves(curves) if curves else flat_table(fields), "csv")
        return
    (label,) = graded.runs
    seen = f" ({TRAINED_ON_IT})" if graded.trained_on_it(label) else ""
    title = f"{printable(run.name)} on {printable(graded.dataset.name)}{seen}: aspect recall in %"
    if table_format == "text":
        click.echo(f"{wrapped(title, '')}\n")
    recalls = recalls_table(fields, "" if table_format == "text" else title)
    print_table(recalls, table_format)
    if table_format == "text":
        bars = [bar_of(name, Estimate(**found["aspect_recall"])) for name, found in fields.items()]
        print_bars(bars, control_marks([found["controls"] for found in fields.values()]))
    for table in (measures_table(fields), counts_table(fields), *kinds_tables(fields), *curve_tables(curves)):
        print_table(table, table_format)
    if table_format == "text":
        print_prose(LEGEND)
        click.echo()
        for name, found in fields.items():
            if found["notes"]:
                line = f"{name}: {notes_line(found['notes'])}"
                click.echo(textwrap.fill(line, prose_width(), subsequent_indent="  ") + "\n")
    scored = (f"{found['signature']} = {score_text(Estimate(**found['aspect_recall']))}" for found in fields.values())
    print_signatures(scored, table_format)
