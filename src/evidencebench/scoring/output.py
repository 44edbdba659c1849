"""Scores as text, JSON, files; signatures; published figures."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from evidencebench.data.dataset import Dataset
from evidencebench.data.tasks import Task
from evidencebench.errors import DataError
from evidencebench.files.atomic import whole_file
from evidencebench.provenance import require_extra
from evidencebench.scoring.compare import Comparison
from evidencebench.scoring.evaluate import TaskScores
from evidencebench.scoring.measures import ASPECT_RECALL, MEASURES
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Estimate, Resampling
from evidencebench.scoring.score_runs import ScoredRuns
from evidencebench.scoring.selection import DEFAULT_RULES, Rules
from evidencebench.tables import Table, as_csv
from evidencebench.version import __version__


def score_fields(scores: TaskScores, estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    """``estimates`` are those of all measures; one that is undefined on every instance is null."""
    return {
        **{key: asdict(estimates[key]) if key in estimates else None for key in MEASURES},
        "n": len(scores.ids),
        **asdict(scores.counts),
        "notes": dict(scores.notes),
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
) -> str:
    """Return everything that decides a score, on one line, so that it can be repeated."""
    return "|".join(
        [
            ASPECT_RECALL.key,
            f"task:{task.name}",
            f"data:{dataset.name}@sha256:{dataset.sha256[:12]}",
            f"system:{system}",
            *(["trained_on:this_data"] if trained_on_it else []),
            f"instances:{n}",
            f"interval:{resampling.level:g}/bootstrap/{resampling.n_draws}/seed{resampling.seed}",
            *(f"{name}:{choice}" for name, choice in rules.unusual.items()),
            f"evidencebench:{__version__}",
        ]
    )


def signature_of(scored: ScoredRuns, label: str, task: Task, resampling: Resampling) -> str:
    return signature(
        scored.dataset,
        scored.runs[label].signature,
        task=task,
        n=len(scored.scores[label][task.name].ids),
        rules=scored.rules,
        resampling=resampling,
        trained_on_it=scored.trained_on_it(label) or False,
    )


def signature_of_all(scored: ScoredRuns, label: str, resampling: Resampling) -> str:
    """Return one signature for a run's scores on all tasks; a part that differs by task lists all its values."""
    signatures = [signature_of(scored, label, task, resampling).split("|") for task in scored.tasks]
    return "|".join(
        first if {first} == set(others) | {first} else ",".join([first, *(other.partition(":")[2] for other in others)])
        for first, *others in zip(*signatures, strict=True)
    )


_NAMES = ("system", "task", "id", "cluster")


def require_scores_name(path: Path) -> None:
    """Raise before anything is scored: `DataError` for a wrong suffix, `MissingExtraError` where pyarrow is missing."""
    if path.suffix not in {".parquet", ".csv"}:
        raise DataError(f"{path}: expected a name that ends in .parquet or .csv")
    if path.suffix == ".parquet":
        require_extra(str(path), "parquet", "pyarrow")


def write_instance_scores(path: Path, scores: Mapping[str, Iterable[TaskScores]]) -> int:
    """Write a row for each system, task and instance, and return how many; an undefined score is null."""
    require_scores_name(path)
    columns: dict[str, list[Any]] = {name: [] for name in (*_NAMES, *MEASURES)}
    for system, by_task in scores.items():
        for task_scores in by_task:
            columns["system"] += [system] * len(task_scores.ids)
            columns["task"] += [task_scores.task.name] * len(task_scores.ids)
            columns["id"] += task_scores.ids
            columns["cluster"] += task_scores.clusters
            for key in MEASURES:
                columns[key] += [None if np.isnan(score) else score for score in task_scores.scores[key].tolist()]
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


_TASKS = ("er_at_optimal", "er_at_10", "result_er_at_optimal", "result_er_at_5")


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


def _row(system: str, strategy: str, *percents: float | None) -> PublishedResult:
    published = {task: percent for task, percent in zip(_TASKS, percents, strict=False) if percent is not None}
    return PublishedResult(system, strategy, MappingProxyType(published))


PUBLISHED: tuple[PublishedResult, ...] = (  # best first by ER@Optimal, as published
    _row("maximum", "", 100.0, 99.3, 100.0, 99.8),
    _row("Gemini 2.5 Pro", "base", 52.5),
    _row("GPT-4o-2024-05-13", "8-shot", 51.4, 68.7),
    _row("GPT-4o-2024-05-13", "sections", 50.9, 71.6, 52.6, 70.8),
    _row("Claude 4 Sonnet", "base", 49.1),
    _row("Gemini 1.5 Pro", "sections", 48.4, 65.4, 46.7, 65.4),
    _row("GPT-4o-2024-05-13", "base", 48.1, 69.6),
    _row("Claude 3 Opus", "sections", 47.6, 66.4, 51.7, 68.7),
    _row("Llama-3-70B", "sections", 46.7, 65.4, 46.2, 63.7),
    _row("Gemini 1.5 Pro", "8-shot", 43.2, 62.4),
    _row("Gemini 1.5 Pro", "base", 42.7, 63.0),
    _row("Claude 3 Opus", "base", 41.1, 53.6),
    _row("Llama-3-8B", "sections, fine-tuned", None, None, 41.0),
    _row("Claude 3 Opus", "8-shot", 38.3, 55.4),
    _row("Llama-3-8B", "sections", None, None, 35.8),
    _row("E5-large-v2", "fine-tuned", None, None, 32.9),
    _row("GritLM-7B", "instruction", 27.0, 46.4, 18.9, 39.1),
    _row("NV-Embed-v2", "instruction", 25.2, 44.7, 20.1, 35.6),
    _row("text-embedding-3-large", "no instruction", 25.1, 42.2, 19.1, 33.1),
    _row("E5-Mistral-7B", "no instruction", 22.7, 41.9, 19.3, 33.6),
    _row("BM25", "", 16.5, 34.4),
    _row("E5-large-v2", "not fine-tuned", None, None, 15.2),
    _row("random", "", 9.6, 22.3, 4.4, 11.4),
)
