"""``evidencebench score``."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from dataclasses import fields as dataclass_fields
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

import click

from evidencebench.cli import options
from evidencebench.cli.options import argument, number, option
from evidencebench.cli.output import print_json, print_prose, print_signatures, print_table, progress, wrapped
from evidencebench.cli.scoring_options import PlotFile, ScoringOptions, control_marks, print_bars
from evidencebench.experiment.result_table import Curves, curve_chart, score_chart
from evidencebench.pages.figures.data import bar_of
from evidencebench.pages.figures.files import write_chart
from evidencebench.query import AspectScope
from evidencebench.runs.oddities import TRAINED_ON_IT
from evidencebench.scoring.breakdowns import (
    N_AT_AN_END,
    PlaceBreakdown,
    PlaceGroup,
    kind_breakdown,
    place_breakdown,
    recall_curve,
)
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.measures import ASPECT_RECALL, COVERABLE_RECALL, MEASURES, Measure
from evidencebench.scoring.output import require_scores_name, score_fields, signature_of, write_instance_scores
from evidencebench.scoring.resampling import Estimate
from evidencebench.scoring.score_runs import ScoredRuns
from evidencebench.scoring.significance import estimate_columns, notes_line, percent, score_text
from evidencebench.scoring.task_scores import Counts, estimates_by_task
from evidencebench.tables import Column, Table, printable, share_column, table_for_csv, table_for_readers

Fields = Mapping[str, Any]
"""The scores and counts on a task, by name; ``task`` is its name."""

_SHOWN = [measure for measure in MEASURES.values() if measure.in_tables]
_LEGEND = "; ".join(f"{measure.label}: {measure.formula}" for measure in _SHOWN if measure.formula)
_BASELINES = "; ".join(
    f"{control.short_name}: {control.meaning.removeprefix('the ceiling: ')}" for control in CONTROLS.values()
)


def _column(name: str, heading: str) -> Column[Fields]:
    return Column(name, heading, itemgetter(name))


def _measure_column(measure: Measure) -> Column[Fields]:
    return share_column(measure.key, measure.label, lambda fields: (fields[measure.key] or {}).get("mean"))


def _control_column(name: str) -> Column[Fields]:
    return share_column(name, CONTROLS[name].short_name, lambda fields: fields["controls"].get(name))


def _recall(fields: Fields) -> Estimate:
    return Estimate(**fields[ASPECT_RECALL.key])


_RECALL = [*estimate_columns((ASPECT_RECALL.key, "low", "high"), ASPECT_RECALL.label, _recall), _column("n", "n")]
_MEASURES = [_measure_column(measure) for measure in _SHOWN]
_COUNTED = [_column(field.name, "") for field in dataclass_fields(Counts)]

_EPOCHS: list[Column[Fields]] = [
    _column("task", "task"),
    Column("", "epochs", lambda fields: len(fields["epochs"]["means"])),
    Column("", "means, %", lambda fields: ", ".join(f"{100 * mean:.1f}" for mean in fields["epochs"]["means"])),
    share_column("", "± of the means", lambda fields: fields["epochs"]["deviation"]),
    share_column("", "± per instance", lambda fields: fields["epochs"]["instance_deviation"]),
]
_KINDS: list[Column[tuple[str, Mapping[str, float]]]] = [
    Column("", "kind", lambda row: row[0]),
    share_column("", "% of selection", lambda row: row[1]["selected"]),
    share_column("", "recall from it", lambda row: row[1]["recall"]),
    share_column("", "recall available", lambda row: row[1]["available"]),
]
_GROUPS: list[Column[PlaceGroup]] = [
    Column("", "share", lambda group: group.share),
    Column("", "n", lambda group: group.recall.n),
    Column("", "recall, %", lambda group: percent(group.recall)),
    Column("", "mean length", lambda group: f"{group.n_sentences:.0f}"),
]
_SLOPES: list[Column[tuple[str, Estimate | None]]] = [
    Column("", "compared", lambda row: row[0]),
    Column("", "n", lambda row: None if row[1] is None else row[1].n),
    Column("", "change", lambda row: "undefined" if row[1] is None else percent(row[1])),
]
_POINTS: list[Column[tuple[AspectScope, int, Estimate]]] = [
    Column("aspects", "", lambda point: point[0]),
    Column("k", "k", lambda point: point[1]),
    share_column(ASPECT_RECALL.key, "%", lambda point: point[2].mean),
    share_column("low", "low", lambda point: point[2].low),
    share_column("high", "high", lambda point: point[2].high),
    Column("n", "", lambda point: point[2].n),
]


@options.command
def score(
    *,
    run: Annotated[Path, argument()],
    curve: Annotated[
        int | None, number("--curve K", "Add recall at budgets 1 to K; CSV then has only this.", most=500)
    ],
    kinds: Annotated[bool, option("--kinds", "Add where the selection is from: abstract, headings, body.")],
    places: Annotated[bool, option("--places", "Add recall by position of the evidence ('lost in the middle').")],
    controls: options.Controls,
    per_instance: Annotated[
        Path | None,
        option(
            "--per-instance FILE",
            "Write each instance's score, as .parquet or .csv; overwrites FILE.",
            options.FILE,
        ),
    ],
    plot: PlotFile,
    scoring: ScoringOptions,
) -> int:
    """Score RUN: a run file, {id: [indices]} as JSON, or a TREC run.

    Aspect recall is covered aspects / all aspects that count, averaged over
    instances. Intervals resample papers (or reviews, if the data names them).
    Failed, empty and missing answers score 0. A list in JSON is a set; write {id:
    {"ranking": [indices]}} for a ranking, best first.

    \b
    Examples:
      evidencebench score bm25.jsonl --data sample
      evidencebench score answers.json --data test --task er_at_10 --json
      evidencebench score bm25.jsonl --data train --curve 20 --format csv
    """
    if (kinds or places) and scoring.table_format == "csv" and not scoring.as_json:
        raise click.UsageError("--kinds and --places have no CSV form; use --json")
    if per_instance is not None:
        require_scores_name(per_instance)
    scored = scoring.score([run], changed_apart=False, with_controls=controls, with_selections=kinds)
    ((label, scores),) = scored.scores.items()
    resampling, tasks = scoring.resampling, scored.tasks
    estimates = estimates_by_task([scores[task.name] for task in tasks], resampling=resampling)
    rows: list[dict[str, Any]] = [
        {
            "task": task.name,
            **score_fields(scores[task.name], estimates_of_task),
            "controls": {
                name: 100 * by_task[task.name].mean_recall / 100  # the digits that earlier versions gave
                for name, by_task in scored.controls.items()
                if task.name in by_task
            },
            "trained_on_it": scored.trained_on_it(label),
            "signature": signature_of(scored, label, task, resampling),
            **({"kinds": kind_breakdown(scores[task.name], scored.dataset)} if kinds else {}),
        }
        for task, estimates_of_task in zip(tasks, estimates, strict=True)
    ]
    breakdowns = {task.name: place_breakdown(scores[task.name], scored.dataset, resampling) for task in tasks if places}
    curves = _curves(scored, curve, scoring) if curve else {}
    if per_instance is not None:
        write_instance_scores(per_instance, {label: scores})
    if plot:
        chart = curve_chart(curves, scored, label, resampling) if curves else score_chart(scored, label, resampling)
        write_chart(plot, chart)
    if scoring.as_json:
        for task, fields in zip(tasks, rows, strict=True):
            if places:
                fields["places"] = asdict(breakdowns[task.name])
            if curves:
                fields["curve"] = [{"k": k, **asdict(point)} for k, point in enumerate(curves[task.scope], 1)]
            fields["warnings"] = [row.fields() for row in scored.warnings]
        print_json({fields.pop("task"): fields for fields in rows})
    elif scoring.table_format == "csv":
        own = [_column("task", "task"), *_RECALL, *_MEASURES, *_COUNTED, *_control_columns(rows)]
        table = table_for_csv([*own, _column("signature", "")], rows)
        print_table(table_for_csv(_POINTS, _points(curves)) if curves else table, "csv")
    else:
        _print(rows, breakdowns, curves, scored, scoring.table_format)
    return scoring.finish(scored)


def _curves(scored: ScoredRuns, largest: int, scoring: ScoringOptions) -> Curves:
    (run,) = scored.runs.values()
    curves = {}
    for scope in dict.fromkeys(task.scope for task in scored.tasks):
        with progress("drawing the curve", scoring.progress_style) as on_progress:
            curves[scope] = recall_curve(
                run,
                scored.dataset,
                scope,
                largest,
                rules=scoring.rules,
                resampling=scoring.resampling,
                n_instances=scored.n_instances,
                on_progress=on_progress,
            )
    return curves


def _points(curves: Curves) -> list[tuple[AspectScope, int, Estimate]]:
    return [(scope, k, estimate) for scope, estimates in curves.items() for k, estimate in enumerate(estimates, 1)]


def _control_columns(rows: Sequence[Fields]) -> list[Column[Fields]]:
    return [_control_column(name) for name in dict.fromkeys(name for fields in rows for name in fields["controls"])]


def _print(
    rows: Sequence[Fields],
    breakdowns: Mapping[str, PlaceBreakdown],
    curves: Curves,
    scored: ScoredRuns,
    table_format: str,
) -> None:
    is_text = table_format == "text"
    ((label, run),) = scored.runs.items()
    seen = f" ({TRAINED_ON_IT})" if scored.trained_on_it(label) else ""
    title = f"{printable(run.name)} on {printable(scored.dataset.name)}{seen}: aspect recall in %"
    if is_text:
        click.echo(f"{wrapped(title, '')}\n")
    columns = [_column("task", "task"), *_RECALL, *_control_columns(rows)]
    print_table(table_for_readers(columns, rows, title="" if is_text else title), table_format)
    if is_text:
        bars = [bar_of(fields["task"], _recall(fields)) for fields in rows]
        print_bars(bars, control_marks([fields["controls"] for fields in rows]))
    for table in _tables(rows, breakdowns, curves):
        print_table(table, table_format)
    if is_text:
        for words in (_LEGEND, _BASELINES) if scored.controls else (_LEGEND,):
            print_prose(words)
        click.echo()
        for fields in rows:
            if fields["notes"]:
                print_prose(f"{fields['task']}: {notes_line(fields['notes'])}", "  ")
                click.echo()
    signatures = (f"{fields['signature']} = {score_text(_recall(fields))}" for fields in rows)
    print_signatures(signatures, table_format)


def _tables(rows: Sequence[Fields], breakdowns: Mapping[str, PlaceBreakdown], curves: Curves) -> Iterator[Table]:
    # Recall over coverable aspects has a column only where it differs from aspect recall.
    is_same = all(fields[COVERABLE_RECALL.key] == fields[ASPECT_RECALL.key] for fields in rows)
    measures = [column for column in _MEASURES if not (is_same and column.name == COVERABLE_RECALL.key)]
    yield table_for_readers([_column("task", "task"), *measures], rows)
    if rows[0]["epochs"]:
        yield table_for_readers(_EPOCHS, rows)
    for fields in rows:
        task = fields["task"]
        if "kinds" in fields:
            yield table_for_readers(_KINDS, list(fields["kinds"].items()), title=task)
        if task in breakdowns:
            yield from _place_tables(task, breakdowns[task])
    for scope, estimates in curves.items():
        title = f"aspect recall by budget, {'Results' if scope == 'results' else 'all'} aspects"
        yield table_for_readers(_POINTS, _points({scope: estimates}), title=title)


def _place_tables(task: str, places: PlaceBreakdown) -> Iterator[Table]:
    """Yield recall by the share of the aspects at the ends of the paper, and how it changes with that share."""
    title = f"{task}: recall by the share of aspects that the first and last {N_AT_AN_END} sentences cover"
    yield table_for_readers(_GROUPS, places.groups, title=title)
    slopes = [
        ("all aspects - none", places.slope),
        ("all aspects - none, at equal length", places.slope_at_length),
        ("twice the length, at equal share", places.per_doubling),
        *((f"all aspects - none, {group.shortest}-{group.longest} sentences", group.slope) for group in places.lengths),
    ]
    yield table_for_readers(
        _SLOPES, slopes, title=f"{task}: change of recall in points, with the share at the ends of the paper"
    )
