"""The score of a run on a task, with all that a record of it must say."""

from collections.abc import Iterator
from dataclasses import dataclass

from evidencebench.data.tasks import Task
from evidencebench.errors import RunError
from evidencebench.execution.system_table import SYSTEMS
from evidencebench.runs.run_file import RunFile
from evidencebench.scoring.resampling import Estimate, Resampling
from evidencebench.scoring.score_runs import ScoredRuns
from evidencebench.scoring.signature import signature_of
from evidencebench.scoring.task_scores import Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredTask:
    """Aspect recall of one run on one task."""

    task: Task
    recall: Estimate
    counts: Counts
    signature: str
    was_trained_on_it: bool


def scored_tasks(scored: ScoredRuns, label: str, resampling: Resampling) -> Iterator[ScoredTask]:
    """Yield the scores of a run, one a task."""
    for task in scored.tasks:
        scores = scored.scores[label][task.name]
        yield ScoredTask(
            task=task,
            recall=scores.estimate(resampling=resampling),
            counts=scores.counts,
            signature=signature_of(scored, label, task, resampling),
            was_trained_on_it=scored.trained_on_it(label) or False,
        )


def model_of(run: RunFile, named: str | None) -> str:
    """Return ``organisation/name`` of a run's system: as named, else its language model, or a system of ours."""
    if named is not None:
        return named
    if run.header is not None:
        model = run.header.system.options.get("model")
        if isinstance(model, str) and run.header.system.name.startswith("llm_") and "/" in model:
            return model
        if run.header.system.name in SYSTEMS:
            return f"evidencebench/{run.header.system.name}"
    raise RunError(f"{run.path}: does not say what collections call its system; name it with --model ORGANISATION/NAME")
