"""The scores of each instance as a file, a row for each task and instance: Parquet or CSV."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from evidencebench.errors import DataError
from evidencebench.extras import require_extra
from evidencebench.scoring.measures import MEASURES
from evidencebench.scoring.task_scores import TaskScores
from evidencebench.storage.whole_file import whole_file
from evidencebench.tables import Table, as_csv

_NAMES = ("system", "task", "id", "cluster")


def require_scores_name(path: Path) -> None:
    """Raise before anything is scored: `DataError` for a wrong suffix, `MissingExtraError` where pyarrow is missing."""
    if path.suffix not in {".parquet", ".csv"}:
        raise DataError(f"{path}: expected a name that ends in .parquet or .csv")
    if path.suffix == ".parquet":
        require_extra(str(path), "parquet", "pyarrow")


def write_instance_scores(path: Path, scores: Mapping[str, Iterable[TaskScores]]) -> int:
    """Write system -> its scores as one table and return the number of rows.

    The columns: system, task, id, cluster (the review or paper that intervals resample by) and one a measure, from 0 to
    1; undefined is null, and an empty cell in CSV.
    """
    require_scores_name(path)
    columns: dict[str, list[Any]] = {name: [] for name in (*_NAMES, *MEASURES)}
    for system, of_tasks in scores.items():
        for one in of_tasks:
            columns["system"] += [system] * len(one.ids)
            columns["task"] += [one.task.name] * len(one.ids)
            columns["id"] += one.ids
            columns["cluster"] += one.clusters
            for key in MEASURES:
                columns[key] += [None if np.isnan(score) else score for score in one.scores[key].tolist()]
    with whole_file(path) as file:
        if path.suffix == ".csv":
            rows = list(zip(*columns.values(), strict=True))
            file.write(as_csv(Table(columns=list(columns), rows=rows)).encode(errors="replace"))
        else:
            import pyarrow as pa  # noqa: PLC0415 - an extra
            import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

            schema = pa.schema([*((name, pa.string()) for name in _NAMES), *((key, pa.float64()) for key in MEASURES)])
            pq.write_table(pa.table(columns, schema=schema), file, compression="zstd")
    return len(columns["id"])
