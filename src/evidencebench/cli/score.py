"""``evidencebench score``."""

import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from evidencebench.cli.options import (
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
from evidencebench.cli.output import print_json, print_signatures, print_table, wrapped
from evidencebench.cli.plotting import (
    CONTROL_NAMES,
    bar_of,
    control_marks,
    curve_chart,
    plot_option,
    print_bars,
    score_chart,
    write_picture,
)
from evidencebench.cli.progress import progress
from evidencebench.evaluation import Rules
from evidencebench.grading import Graded, grade, signature_of
from evidencebench.query import AspectScope
from evidencebench.reporting import kind_breakdown, mean_percent, notes_line, percent, score_fields
from evidencebench.significance import Estimate, Resampling
from evidencebench.tables import WIDTH, Cell, Table, printable
from evidencebench.tasks import Task, task_named


@click.command
@click.argument("run", type=click.Path(path_type=Path))
@data_option
@task_options
@rule_options
@click.option(
    "--curve", type=click.IntRange(1, 500), metavar="K", help="Add recall at every budget up to K; as CSV, it alone."
)
@click.option("--kinds", is_flag=True, help="Add where it looks: abstract, headings, body.")
@limit_option
@controls_option
@resampling_options
@plot_option
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
    limit: int | None,
    controls: bool,
    resampling: Resampling,
    plot: Path | None,
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
      evidencebench score bm25.jsonl --data sample --plot bm25.svg
    """
    if kinds and table_format == "csv" and not as_json:
        raise click.UsageError("--kinds has no CSV form; use --json")
    dataset = open_data(data)
    with progress("scoring", progress_style) as on_progress:
        graded = grade(
            [run],
            dataset,
            tasks,
            rules=rules,
            with_controls=controls,
            with_selections=kinds,
            limit=limit,
            on_progress=on_progress,
        )
    (label,) = graded.runs
    fields = {task.name: _fields(graded, label, task, resampling) for task in graded.tasks}
    for task in graded.tasks:
        if kinds:
            fields[task.name]["kinds"] = kind_breakdown(graded.scores[label][task.name], dataset)
    curves: _Curves = {}
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
        print_json(fields)
    else:
        _print(fields, curves, graded, table_format)


def _scopes(graded: Graded) -> list[AspectScope]:
    return list(dict.fromkeys(task.scope for task in graded.tasks))


def _fields(graded: Graded, label: str, task: Task, resampling: Resampling) -> dict[str, Any]:
    return {
        **score_fields(graded.scores[label][task.name], resampling),
        "controls": {
            name: mean_percent(scores, task.name) / 100
            for name, scores in graded.controls.items()
            if task.name in scores
        },
        "signature": signature_of(graded, label, task, resampling),
    }


def _curve(
    run: Path,
    graded: Graded,
    scope: AspectScope,
    *,
    largest: int,
    limit: int | None,
    resampling: Resampling,
    on_progress: Callable[[int, int], None],
) -> list[dict[str, Any]]:
    """Return aspect recall at every budget up to the largest."""
    budgets = [task_named(f"{'result_' if scope == 'results' else ''}er_at_{k}") for k in range(1, largest + 1)]
    drawn = grade(
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


_Curves = dict[AspectScope, list[dict[str, Any]]]


def _print(fields: Mapping[str, Any], curves: _Curves, graded: Graded, table_format: str) -> None:
    (run,) = graded.runs.values()
    if table_format == "csv":
        print_table(_csv_curves(curves) if curves else _csv(fields), "csv")
        return
    title = f"{printable(run.name)} on {printable(graded.dataset.name)}: aspect recall in %"
    if table_format == "text":
        click.echo(f"{wrapped(title, '')}\n")
    recalls = _recalls(fields, "" if table_format == "text" else title)
    print_table(recalls, table_format)
    if table_format == "text":
        bars = [bar_of(name, Estimate(**found["aspect_recall"])) for name, found in fields.items()]
        print_bars(bars, control_marks([found["controls"] for found in fields.values()]))
    for table in (_measures(fields), _counts(fields), *_kinds(fields), *_drawn(curves)):
        print_table(table, table_format)
    if table_format == "text":
        click.echo(_LEGEND)
        for name, found in fields.items():
            if found["notes"]:
                line = f"{name}: {notes_line(found['notes'])}"
                click.echo(textwrap.fill(line, WIDTH, subsequent_indent="  ") + "\n")
    print_signatures((f"{found['signature']} = {_value(found)}" for found in fields.values()), table_format)


def _value(found: Mapping[str, Any]) -> str:
    recall = Estimate(**found["aspect_recall"])
    return f"{recall.mean:.3f} [{recall.low:.3f}, {recall.high:.3f}]"


_LEGEND = """\
relative: recall / ceiling; regret: ceiling - recall; repeats: sentences named
twice; long: sets over budget; range: no such sentence; n/a: instances left out
"""


_MEASURES = {
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
    "over_length": "long",
    "out_of_range": "range",
    "not_applicable": "n/a",
}


def _controls(fields: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(name for found in fields.values() for name in found["controls"]))


def _recalls(fields: Mapping[str, Any], title: str) -> Table:
    rows: list[list[Cell]] = []
    controls = _controls(fields)
    for name, found in fields.items():
        means: list[Cell] = [100 * found["controls"][one] if one in found["controls"] else None for one in controls]
        rows.append([name, percent(Estimate(**found["aspect_recall"])), found["n"], *means])
    columns = ["task", "aspect recall", "n", *(CONTROL_NAMES.get(name, name) for name in controls)]
    return Table(title=title, columns=columns, rows=rows)


def _measures(fields: Mapping[str, Any]) -> Table:
    rows: list[list[Cell]] = [
        [name, *(None if found[measure] is None else 100 * found[measure]["mean"] for measure in _MEASURES)]
        for name, found in fields.items()
    ]
    return Table(columns=["task", *_MEASURES.values()], rows=rows)


def _counts(fields: Mapping[str, Any]) -> Table:
    rows: list[list[Cell]] = [[name, *(found[count] for count in _COUNTS)] for name, found in fields.items()]
    return Table(columns=["task", *_COUNTS.values()], rows=rows)


def _kinds(fields: Mapping[str, Any]) -> Iterator[Table]:
    for name, found in fields.items():
        if "kinds" in found:
            rows: list[list[Cell]] = [
                [kind, *(100 * row[part] for part in ("selected", "recall", "available"))]
                for kind, row in found["kinds"].items()
            ]
            columns = ["kind", "% of selection", "recall from it", "recall available"]
            yield Table(title=name, columns=columns, rows=rows)


def _drawn(curves: _Curves) -> Iterator[Table]:
    for scope, points in curves.items():
        rows: list[list[Cell]] = [
            [point["k"], 100 * point["mean"], 100 * point["low"], 100 * point["high"]] for point in points
        ]
        title = f"aspect recall by budget, {'Results' if scope == 'results' else 'all'} aspects"
        yield Table(title=title, columns=["k", "%", "low", "high"], rows=rows)


def _csv(fields: Mapping[str, Any]) -> Table:
    rows: list[list[Cell]] = []
    controls = _controls(fields)
    for name, found in fields.items():
        recall = found["aspect_recall"]
        means: list[Cell] = [None if found[measure] is None else found[measure]["mean"] for measure in _MEASURES]
        numbers: list[Cell] = [recall["mean"], recall["low"], recall["high"], found["n"]]
        rows.append(
            [
                name,
                *numbers,
                *means,
                *(found[count] for count in _COUNTS),
                *map(found["controls"].get, controls),
                found["signature"],
            ]
        )
    columns = ["task", "aspect_recall", "low", "high", "n", *_MEASURES, *_COUNTS, *controls, "signature"]
    return Table(columns=columns, rows=rows)


def _csv_curves(curves: _Curves) -> Table:
    rows: list[list[Cell]] = [
        [scope, point["k"], point["mean"], point["low"], point["high"], point["n"]]
        for scope, points in curves.items()
        for point in points
    ]
    return Table(columns=["aspects", "k", "aspect_recall", "low", "high", "n"], rows=rows)
