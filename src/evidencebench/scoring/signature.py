"""The signature of a score: everything that decides it, on one line, so that it can be repeated."""

from evidencebench.data.dataset import Dataset
from evidencebench.data.tasks import Task
from evidencebench.scoring.measures import ASPECT_RECALL
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Resampling
from evidencebench.scoring.score_runs import ScoredRuns
from evidencebench.scoring.selection import DEFAULT_RULES, Rules
from evidencebench.version import __version__


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
    """Return the signature of an aspect recall that is the mean over ``n`` instances.

    ``trained_on_it`` says whether a model of the system was trained on this data.
    """
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
    """Return the signature of a run's score."""
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
