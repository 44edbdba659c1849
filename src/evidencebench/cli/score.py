"""``evidencebench score``."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from evidencebench.cli import options
from evidencebench.cli.output import print_json, print_prose, print_signatures, print_table, prose_width, wrapped
from evidencebench.cli.plotting import control_marks, curve_chart, print_bars, score_chart, write_picture
from evidencebench.cli.progress import progress
from evidencebench.cli.scoring_options import ScoringOptions, scoring_options
from evidencebench.data.tasks import Task, task_named
from evidencebench.pages.figures import bar_of
from evidencebench.query import AspectScope
from evidencebench.scoring.cautions import TRAINED_ON_IT
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.instance_scores import require_scores_name, write_instance_scores
from evidencebench.scoring.kind_breakdown import kind_breakdown
from evidencebench.scoring.measures import ASPECT_RECALL, COVERABLE_RECALL, MEASURES
from evidencebench.scoring.place_breakdown import N_AT_AN_END, place_breakdown
from evidencebench.scoring.resampling import Estimate, Resampling
from evidencebench.scoring.score_fields import score_fields
from evidencebench.scoring.score_runs import ScoredRuns, score_runs
from evidencebench.scoring.score_texts import notes_line, percent, score_text
from evidencebench.scoring.signature import signature_of
from evidencebench.tables import Cell, Table, printable

Fields = Mapping[str, Any]
"""Task name -> the scores and counts on it, by name."""

Curves = dict[AspectScope, list[dict[str, Any]]]
"""Scope of aspects -> one point for each budget."""

_SHOWN = [measure for measure in MEASURES.values() if measure.in_tables]
_ENDS = ("mean", "low", "high")
_COUNTS = {
    "failed": "failed",
    "empty": "empty",
    "missing": "missing",
    "duplicates": "repeats",
    "over_length": "long",
    "out_of_range": "range",
    "not_applicable": "n/a",
}
_LEGEND = "; ".join(
    [
        *(f"{measure.label}: {measure.formula}" for measure in _SHOWN if measure.formula),
        "repeats: sentences named twice",
        "long: sets over budget",
        "range: no such sentence",
        "n/a: instances left out",
    ]
)


@click.command
@click.argument("run", type=click.Path(path_type=Path))
@scoring_options(
    options.number("--curve", most=500, metavar="K", help="Add recall at every budget up to K; as CSV, it alone."),
    click.option("--kinds", is_flag=True, help="Add where it looks: abstract, headings, body."),
    click.option("--places", is_flag=True, help="Add recall by where the evidence lies ('lost in the middle')."),
    options.controls,
    click.option(
        "--per-instance",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Write every measure of each instance too, as .parquet or .csv; a file that is there is replaced.",
    ),
)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    run: Path,
    curve: int | None,
    kinds: bool,
    places: bool,
    controls: bool,
    per_instance: Path | None,
    scoring: ScoringOptions,
) -> None:
    """Score RUN: a run, {id: [indices]} JSON, or a TREC run.

    Aspect recall is covered aspects / all aspects that count, averaged over
    instances, with an interval that resamples papers, or reviews where the data
    names them. Failed, empty and missing answers score 0 and are counted. A list in JSON is a set; write
    {id: {"ranking": [indices]}} where the best stands first.

    \b
    Examples:
      evidencebench score bm25.jsonl --data sample
      evidencebench score answers.json --data test --task er_at_10 --json
      evidencebench score bm25.jsonl --data train --curve 20 --format csv
      evidencebench score bm25.jsonl --data sample --plot bm25.svg
      evidencebench score bm25.jsonl --data sample --per-instance scores.parquet
    """
    if (kinds or places) and scoring.table_format == "csv" and not scoring.as_json:
        raise click.UsageError("--kinds and --places have no CSV form; use --json")
    if per_instance is not None:
        require_scores_name(per_instance)
    scored, cautions = scoring.score([run], with_controls=controls, with_selections=kinds)
    (label,) = scored.runs
    resampling = scoring.resampling
    fields = {task.name: _fields(scored, label, task, resampling) for task in scored.tasks}
    for task in scored.tasks if kinds else ():
        fields[task.name]["kinds"] = kind_breakdown(scored.scores[label][task.name], scored.dataset)
    for task in scored.tasks if places else ():
        found = place_breakdown(scored.scores[label][task.name], scored.dataset, resampling)
        fields[task.name]["places"] = asdict(found)
    scopes = dict.fromkeys(task.scope for task in scored.tasks) if curve else ()
    curves: Curves = {scope: _curve(run, scored, scope, range(1, (curve or 0) + 1), scoring) for scope in scopes}
    if per_instance is not None:
        write_instance_scores(per_instance, {label: scored.scores[label].values()})
    if scoring.plot:
        chart = curve_chart(curves, scored, label, resampling) if curves else score_chart(scored, label, resampling)
        write_picture(scoring.plot, chart)
    if scoring.as_json:
        for task in scored.tasks:
            fields[task.name] |= {"curve": curves[task.scope]} if curves else {}
            fields[task.name]["warnings"] = [str(caution) for caution in cautions]
        print_json(fields)
    else:
        _print(fields, curves, scored, scoring.table_format)
    ctx.exit(scoring.exit_code(scored))


def _fields(scored: ScoredRuns, label: str, task: Task, resampling: Resampling) -> dict[str, Any]:
    return {
        **score_fields(scored.scores[label][task.name], resampling),
        "controls": {
            name: 100 * scores[task.name].mean_recall / 100  # the digits that earlier versions gave
            for name, scores in scored.controls.items()
            if task.name in scores
        },
        "trained_on_it": scored.trained_on_it(label),
        "signature": signature_of(scored, label, task, resampling),
    }


def _curve(
    run: Path, scored: ScoredRuns, scope: AspectScope, budgets: Sequence[int], scoring: ScoringOptions
) -> list[dict[str, Any]]:
    """Return aspect recall at each budget, with its interval."""
    tasks = [task_named(f"{'result_' if scope == 'results' else ''}er_at_{k}") for k in budgets]
    with progress("drawing the curve", scoring.progress_style) as on_progress:
        drawn = score_runs(
            [run],
            scored.dataset,
            tasks,
            rules=scoring.rules,
            with_controls=False,
            limit=scoring.limit,
            on_progress=on_progress,
        )
    (scores,) = drawn.scores.values()
    estimates = (scores[task.name].estimate(resampling=scoring.resampling) for task in tasks)
    return [{"k": k, **asdict(estimate)} for k, estimate in zip(budgets, estimates, strict=True)]


def _print(fields: Fields, curves: Curves, scored: ScoredRuns, table_format: str) -> None:
    if table_format == "csv":
        print_table(_curves_csv_table(curves) if curves else _csv_table(fields), "csv")
        return
    is_text = table_format == "text"
    ((label, run),) = scored.runs.items()
    seen = f" ({TRAINED_ON_IT})" if scored.trained_on_it(label) else ""
    title = f"{printable(run.name)} on {printable(scored.dataset.name)}{seen}: aspect recall in %"
    recalls = {name: Estimate(**found[ASPECT_RECALL.key]) for name, found in fields.items()}
    if is_text:
        click.echo(f"{wrapped(title, '')}\n")
    print_table(_recalls_table(fields, "" if is_text else title), table_format)
    if is_text:
        bars = [bar_of(name, recall) for name, recall in recalls.items()]
        print_bars(bars, control_marks([found["controls"] for found in fields.values()]))
    for table in _tables(fields, curves):
        print_table(table, table_format)
    if is_text:
        print_prose(_LEGEND)
        click.echo()
        for name, found in fields.items():
            if found["notes"]:
                line = f"{name}: {notes_line(found['notes'])}"
                click.echo(textwrap.fill(line, prose_width(), subsequent_indent="  ") + "\n")
    signed = (f"{fields[name]['signature']} = {score_text(recall)}" for name, recall in recalls.items())
    print_signatures(signed, table_format)


def _controls(fields: Fields) -> list[str]:
    return list(dict.fromkeys(name for found in fields.values() for name in found["controls"]))


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _mean(estimate: Mapping[str, Any] | None) -> float | None:
    return None if estimate is None else estimate["mean"]


def _recalls_table(fields: Fields, title: str) -> Table:
    """Return the table of aspect recall, beside that of the controls."""
    controls = _controls(fields)
    rows: list[list[Cell]] = [
        [
            name,
            percent(Estimate(**found[ASPECT_RECALL.key])),
            found["n"],
            *(_percent(found["controls"].get(control)) for control in controls),
        ]
        for name, found in fields.items()
    ]
    columns = ["task", ASPECT_RECALL.label, "n", *(CONTROLS[name].short_name for name in controls)]
    return Table(title=title, columns=columns, rows=rows)


def _tables(fields: Fields, curves: Curves) -> Iterator[Table]:
    """Yield the tables below: other measures, counts, selections by kind of sentence, recall at every budget."""
    # Recall over coverable aspects has a column only where it differs from aspect recall.
    is_same = all(found[COVERABLE_RECALL.key] == found[ASPECT_RECALL.key] for found in fields.values())
    measures = [measure for measure in _SHOWN if not (is_same and measure is COVERABLE_RECALL)]
    rows: list[list[Cell]] = [
        [name, *(_percent(_mean(found[measure.key])) for measure in measures)] for name, found in fields.items()
    ]
    yield Table(columns=["task", *(measure.label for measure in measures)], rows=rows)
    counts = [[name, *(found[count] for count in _COUNTS)] for name, found in fields.items()]
    yield Table(columns=["task", *_COUNTS.values()], rows=counts)
    for name, found in fields.items():
        if "kinds" in found:
            parts = {"selected": "% of selection", "recall": "recall from it", "available": "recall available"}
            kinds = [[kind, *(100 * row[part] for part in parts)] for kind, row in found["kinds"].items()]
            yield Table(title=name, columns=["kind", *parts.values()], rows=kinds)
        if "places" in found:
            yield from _place_tables(name, found["places"])
    for scope, points in curves.items():
        shown = [[point["k"], *(_percent(point[part]) for part in _ENDS)] for point in points]
        title = f"aspect recall by budget, {'Results' if scope == 'results' else 'all'} aspects"
        yield Table(title=title, columns=["k", "%", "low", "high"], rows=shown)


def _place_tables(task: str, places: Mapping[str, Any]) -> Iterator[Table]:
    """Yield recall by the share of the aspects at the ends of the paper, and how it changes with that share."""
    rows: list[list[Cell]] = [
        [one["share"], one["recall"]["n"], percent(Estimate(**one["recall"])), f"{one['n_sentences']:.0f}"]
        for one in places["groups"]
    ]
    title = f"{task}: recall by the share of aspects that the first and last {N_AT_AN_END} sentences cover"
    yield Table(title=title, columns=["share", "n", "recall, %", "mean length"], rows=rows)
    slopes = {
        "from no aspect to all": places["slope"],
        "the same, length held": places["slope_at_length"],
        "twice the length, share held": places["per_doubling"],
        **{
            f"from no aspect to all, {one['shortest']}-{one['longest']} sentences": one["slope"]
            for one in places["lengths"]
        },
    }
    changes: list[list[Cell]] = [
        [what, None if one is None else one["n"], "undefined" if one is None else percent(Estimate(**one))]
        for what, one in slopes.items()
    ]
    yield Table(title=f"{task}: change of recall in points", columns=["with", "n", "change"], rows=changes)


def _csv_table(fields: Fields) -> Table:
    """Return one table for CSV, with a row for each task."""
    controls = _controls(fields)
    rows: list[list[Cell]] = [
        [
            name,
            *(found[ASPECT_RECALL.key][part] for part in _ENDS),
            found["n"],
            *(_mean(found[measure.key]) for measure in _SHOWN),
            *(found[count] for count in _COUNTS),
            *map(found["controls"].get, controls),
            found["signature"],
        ]
        for name, found in fields.items()
    ]
    measures = [measure.key for measure in _SHOWN]
    columns = ["task", ASPECT_RECALL.key, "low", "high", "n", *measures, *_COUNTS, *controls, "signature"]
    return Table(columns=columns, rows=rows)


def _curves_csv_table(curves: Curves) -> Table:
    """Return the curves as one table for CSV, with a row for each point."""
    rows: list[list[Cell]] = [
        [scope, point["k"], *(point[part] for part in _ENDS), point["n"]]
        for scope, points in curves.items()
        for point in points
    ]
    return Table(columns=["aspects", "k", ASPECT_RECALL.key, "low", "high", "n"], rows=rows)
