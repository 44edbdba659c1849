"""The tables that ``evidencebench score`` prints, from the fields that it gives as JSON."""

from collections.abc import Iterator, Mapping
from typing import Any

from evidencebench.cli.plotting import CONTROL_NAMES
from evidencebench.query import AspectScope
from evidencebench.scoring.resampling import Estimate
from evidencebench.scoring.score_texts import percent
from evidencebench.tables import Cell, Table

Fields = Mapping[str, Any]
"""Task name -> what is found on it."""

Curves = dict[AspectScope, list[dict[str, Any]]]
"""Which aspects count -> a point a budget."""

LEGEND = (
    "relative: recall / ceiling; regret: ceiling - recall; repeats: sentences named twice; long: sets over budget; "
    "range: no such sentence; n/a: instances left out"
)


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


def _controls(fields: Fields) -> list[str]:
    return list(dict.fromkeys(name for found in fields.values() for name in found["controls"]))


def recalls_table(fields: Fields, title: str) -> Table:
    """Return aspect recall beside that of the controls."""
    rows: list[list[Cell]] = []
    controls = _controls(fields)
    for name, found in fields.items():
        means: list[Cell] = [100 * found["controls"][one] if one in found["controls"] else None for one in controls]
        rows.append([name, percent(Estimate(**found["aspect_recall"])), found["n"], *means])
    columns = ["task", "aspect recall", "n", *(CONTROL_NAMES.get(name, name) for name in controls)]
    return Table(title=title, columns=columns, rows=rows)


def measures_table(fields: Fields) -> Table:
    """Return what stands beside aspect recall: over coverable aspects only where that is another number."""
    measures = dict(_MEASURES)
    if all(found["coverable_aspect_recall"] == found["aspect_recall"] for found in fields.values()):
        del measures["coverable_aspect_recall"]
    rows: list[list[Cell]] = [
        [name, *(None if found[measure] is None else 100 * found[measure]["mean"] for measure in measures)]
        for name, found in fields.items()
    ]
    return Table(columns=["task", *measures.values()], rows=rows)


def counts_table(fields: Fields) -> Table:
    """Return what happened to the answers."""
    rows: list[list[Cell]] = [[name, *(found[count] for count in _COUNTS)] for name, found in fields.items()]
    return Table(columns=["task", *_COUNTS.values()], rows=rows)


def kinds_tables(fields: Fields) -> Iterator[Table]:
    """Yield for each task where a system looks, if that was asked for."""
    for name, found in fields.items():
        if "kinds" in found:
            rows: list[list[Cell]] = [
                [kind, *(100 * row[part] for part in ("selected", "recall", "available"))]
                for kind, row in found["kinds"].items()
            ]
            columns = ["kind", "% of selection", "recall from it", "recall available"]
            yield Table(title=name, columns=columns, rows=rows)


def curve_tables(curves: Curves) -> Iterator[Table]:
    """Yield recall at every budget, a table a scope."""
    for scope, points in curves.items():
        rows: list[list[Cell]] = [
            [point["k"], *(None if point[part] is None else 100 * point[part] for part in ("mean", "low", "high"))]
            for point in points
        ]
        title = f"aspect recall by budget, {'Results' if scope == 'results' else 'all'} aspects"
        yield Table(title=title, columns=["k", "%", "low", "high"], rows=rows)


def flat_table(fields: Fields) -> Table:
    """Return one table for programs, a row a task."""
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


def flat_curves(curves: Curves) -> Table:
    """Return the curves as one table for programs, a row a point."""
    rows: list[list[Cell]] = [
        [scope, point["k"], point["mean"], point["low"], point["high"], point["n"]]
        for scope, points in curves.items()
        for point in points
    ]
    return Table(columns=["aspects", "k", "aspect_recall", "low", "high", "n"], rows=rows)
