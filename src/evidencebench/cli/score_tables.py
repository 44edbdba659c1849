"""The tables that ``evidencebench score`` prints, from the fields that it gives as JSON."""

from collections.abc import Iterator, Mapping
from typing import Any

from evidencebench.query import AspectScope
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.measures import ASPECT_RECALL, COVERABLE_RECALL, MEASURES
from evidencebench.scoring.resampling import Estimate
from evidencebench.scoring.score_texts import percent
from evidencebench.tables import Cell, Table

Fields = Mapping[str, Any]
"""Task name -> what is found on it."""

Curves = dict[AspectScope, list[dict[str, Any]]]
"""Which aspects count -> a point a budget."""

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
_FORMULAS = [f"{measure.label}: {measure.formula}" for measure in _SHOWN if measure.formula]
LEGEND = "; ".join(
    [
        *_FORMULAS,
        "repeats: sentences named twice",
        "long: sets over budget",
        "range: no such sentence",
        "n/a: instances left out",
    ]
)


def _controls(fields: Fields) -> list[str]:
    return list(dict.fromkeys(name for found in fields.values() for name in found["controls"]))


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _mean(estimate: Mapping[str, Any] | None) -> float | None:
    return None if estimate is None else estimate["mean"]


def recalls_table(fields: Fields, title: str) -> Table:
    """Return aspect recall beside that of the controls."""
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


def tables_of(fields: Fields, curves: Curves) -> Iterator[Table]:
    """Yield what stands below: other measures, counts, where a system looks, recall at every budget."""
    # Over coverable aspects only where that is another number.
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
    for scope, points in curves.items():
        shown = [[point["k"], *(_percent(point[part]) for part in _ENDS)] for point in points]
        title = f"aspect recall by budget, {'Results' if scope == 'results' else 'all'} aspects"
        yield Table(title=title, columns=["k", "%", "low", "high"], rows=shown)


def flat_table(fields: Fields) -> Table:
    """Return one table for programs, a row a task."""
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


def flat_curves(curves: Curves) -> Table:
    """Return the curves as one table for programs, a row a point."""
    rows: list[list[Cell]] = [
        [scope, point["k"], *(point[part] for part in _ENDS), point["n"]]
        for scope, points in curves.items()
        for point in points
    ]
    return Table(columns=["aspects", "k", ASPECT_RECALL.key, "low", "high", "n"], rows=rows)
