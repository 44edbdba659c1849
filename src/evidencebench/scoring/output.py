"""Scores as text, JSON, files; signatures; published figures."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isnan
from pathlib import Path
from types import MappingProxyType
from typing import Any

from evidencebench.data.dataset import Dataset
from evidencebench.data.tasks import Task
from evidencebench.errors import DataError
from evidencebench.files.atomic import whole_file
from evidencebench.files.disk import packaged_table
from evidencebench.provenance import digest_of, require_extra
from evidencebench.scoring.compare import Comparison
from evidencebench.scoring.measures import ASPECT_RECALL, MEASURES, MeasureOrName, measure_key
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Estimate, Resampling
from evidencebench.scoring.score_runs import ScoredRuns
from evidencebench.scoring.selection import DEFAULT_RULES, Rules
from evidencebench.scoring.task_scores import TaskScores
from evidencebench.tables import Cell, Table, as_csv
from evidencebench.version import __version__


def score_fields(scores: TaskScores, estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    """``estimates`` are those of all measures; one that is undefined on every instance is null."""
    return {
        **{key: asdict(estimates[key]) if key in estimates else None for key in scores.scores},
        "n": len(scores.ids),
        **asdict(scores.counts),
        "notes": dict(scores.notes),
        "epochs": scores.epochs and asdict(scores.epochs),
        "per_instance": dict(zip(scores.ids, scores.recalls.tolist(), strict=True)),
    }


def comparison_fields(comparison: Comparison, names: tuple[str, str] = ("first", "second")) -> dict[str, Any]:
    """Return a comparison; ``names`` end the keys of each system, such as ``recall_first`` and ``counts_first``."""
    test = comparison.test
    return {
        f"recall_{names[0]}": asdict(comparison.first),
        f"recall_{names[1]}": asdict(comparison.second),
        "difference": asdict(test.difference),
        "p_value": test.p_value,
        "p_value_is_exact": test.exact,
        "minimum_detectable_difference": test.minimum_detectable,
        "n_better": test.n_better,
        "n_equal": test.n_equal,
        "n_worse": test.n_worse,
        "overlap": None if comparison.overlap is None else asdict(comparison.overlap),
        f"counts_{names[0]}": asdict(comparison.first_counts),
        f"counts_{names[1]}": asdict(comparison.second_counts),
    }


def signature(
    dataset: Dataset,
    system: str,
    *,
    task: Task,
    n: int,
    rules: Rules = DEFAULT_RULES,
    resampling: Resampling = DEFAULT_RESAMPLING,
    trained_on_it: bool = False,
    measure: str = ASPECT_RECALL.key,
) -> str:
    """Return everything that decides a score, on one line, so that it can be repeated."""
    return "|".join(
        [
            measure,
            f"task:{task.name}",
            f"data:{dataset.name}@sha256:{dataset.sha256[:12]}",
            *([f"ids:sha256:{digest_of(dataset.chosen_ids)[:12]}"] if dataset.chosen_ids else []),
            f"system:{system}",
            *(["trained_on:this_data"] if trained_on_it else []),
            f"instances:{n}",
            f"interval:{resampling.level:g}/bootstrap/{resampling.n_draws}/seed{resampling.seed}",
            *([f"test:{resampling.test_name}"] if resampling.test else []),
            *(f"{name}:{choice}" for name, choice in rules.unusual.items()),
            f"evidencebench:{__version__}",
        ]
    )


def signature_of(
    scored: ScoredRuns, label: str, task: Task, resampling: Resampling, measure: MeasureOrName = ASPECT_RECALL
) -> str:
    return signature(
        scored.dataset,
        scored.runs[label].signature,
        task=task,
        n=len(scored.scores[label][task.name].ids),
        rules=scored.rules,
        resampling=resampling,
        trained_on_it=scored.trained_on_it(label) or False,
        measure=measure_key(measure, scored.scores[label][task.name].scores),
    )


def signature_of_all(
    scored: ScoredRuns, label: str, resampling: Resampling, measure: MeasureOrName = ASPECT_RECALL
) -> str:
    """Return one signature for a run's scores on all tasks; a part that differs by task lists all its values."""
    signatures = [signature_of(scored, label, task, resampling, measure).split("|") for task in scored.tasks]
    return "|".join(
        first if {first} == set(others) | {first} else ",".join([first, *(other.partition(":")[2] for other in others)])
        for first, *others in zip(*signatures, strict=True)
    )


SCORE_NAMES = ("system", "task", "id", "cluster")


def score_rows(scores: Mapping[str, Mapping[str, TaskScores]]) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
    """Return the measures, and a row for each system, task and instance: `SCORE_NAMES`, then a score of each measure.

    A score that is undefined is None.
    """
    keys = tuple(next((scored.scores for by_task in scores.values() for scored in by_task.values()), MEASURES))
    rows: list[tuple[Cell, ...]] = [
        (system, task, instance_id, cluster, *(None if isnan(value) else value for value in values))
        for system, by_task in scores.items()
        for task, scored in by_task.items()
        for instance_id, cluster, *values in zip(
            scored.ids, scored.clusters, *(scored.scores[key].tolist() for key in keys), strict=True
        )
    ]
    return keys, rows


def require_scores_name(path: Path) -> None:
    """Raise before anything is scored: `DataError` for a wrong suffix, `MissingExtraError` where pyarrow is missing."""
    if path.suffix not in {".parquet", ".csv"}:
        raise DataError(f"{path}: expected a name that ends in .parquet or .csv")
    if path.suffix == ".parquet":
        require_extra(str(path), "parquet", "pyarrow")


def write_instance_scores(path: Path, scores: Mapping[str, Mapping[str, TaskScores]]) -> None:
    """Write a row for each system, task and instance; an undefined score is null."""
    require_scores_name(path)
    keys, rows = score_rows(scores)
    names = [*SCORE_NAMES, *keys]
    with whole_file(path) as file:
        if path.suffix == ".csv":
            file.write(as_csv(Table(columns=names, rows=rows)).encode(errors="replace"))
        else:
            import pyarrow as pa  # noqa: PLC0415 - an extra
            import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

            schema = pa.schema([*((name, pa.string()) for name in SCORE_NAMES), *((key, pa.float64()) for key in keys)])
            table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema=schema)
            pq.write_table(table, file, compression="zstd")


@dataclass(frozen=True, slots=True)
class PublishedResult:
    """On the official test split."""

    system: str
    strategy: str
    percents: Mapping[str, float]  # task name -> mean aspect recall

    @property
    def name(self) -> str:
        return f"{self.system}, {self.strategy}" if self.strategy else self.system

    def recall(self, task: str) -> float | None:
        """Return its mean on a task in 0..1, to the published digits; None where none was published."""
        return round(self.percents[task] / 100, 4) if task in self.percents else None


_TABLE = packaged_table(__file__, "published.toml")
PUBLISHED: tuple[PublishedResult, ...] = tuple(  # best first by ER@Optimal
    PublishedResult(
        system,
        strategy,
        MappingProxyType({task: value for task, value in zip(_TABLE["tasks"], values, strict=False) if value != ""}),
    )
    for system, strategy, *values in _TABLE["results"]
)
