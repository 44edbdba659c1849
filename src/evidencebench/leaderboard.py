"""Who is ahead, and how sure that is: systems on one task, the best first, controls among them."""

from dataclasses import dataclass

from evidencebench.comparison import estimates_of, ranks
from evidencebench.evaluation import TaskScores
from evidencebench.grading import Graded, signature_of
from evidencebench.significance import DEFAULT_RESAMPLING, Estimate, Resampling
from evidencebench.system import KNOWING_SYSTEMS
from evidencebench.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One system on one task.

    Attributes
    ----------
    system
        The label of a run, or the name of a control.
    aspect_recall
        Its mean with its interval.
    rank
        The best and worst rank it can claim (see `ranks`); None for a system that knows the labels.
    n
        Instances behind the mean.
    failed, empty, missing
        Answers that score 0, by cause.
    is_control
        Whether it was computed here, beside the runs.
    signature
        What decides the score; None for a control.
    """

    system: str
    aspect_recall: Estimate
    rank: tuple[int, int] | None
    n: int
    failed: int
    empty: int
    missing: int
    is_control: bool
    signature: str | None


def standings(graded: Graded, task: Task, resampling: Resampling = DEFAULT_RESAMPLING) -> list[Standing]:
    """Return the systems on one task, the best first; a control that is among the runs too stands there once."""
    ran = {run.header.system.name for run in graded.runs.values() if run.header and run.header.hypothesis == "own"}
    runs = {label: scores[task.name] for label, scores in graded.scores.items()}
    controls = {
        name: scores[task.name] for name, scores in graded.controls.items() if name not in ran and task.name in scores
    }
    # Keyed by both, since a run may have a control's name.
    columns = {(label, False): found for label, found in runs.items()}
    columns |= {(name, True): found for name, found in controls.items()}
    rank_of = _ranks({key: found for key, found in columns.items() if not _knows_labels(graded, *key)}, resampling)
    recalls = estimates_of(list(columns.values()), resampling)
    rows = [
        Standing(
            system=label,
            aspect_recall=recall,
            rank=rank_of.get((label, is_control)),
            n=len(found.ids),
            failed=found.counts.failed,
            empty=found.counts.empty,
            missing=found.counts.missing,
            is_control=is_control,
            signature=None if is_control else signature_of(graded, label, task, resampling),
        )
        for ((label, is_control), found), recall in zip(columns.items(), recalls, strict=True)
    ]
    return sorted(rows, key=lambda row: -row.aspect_recall.mean)


def _ranks(
    columns: dict[tuple[str, bool], TaskScores], resampling: Resampling
) -> dict[tuple[str, bool], tuple[int, int]]:
    if not columns:
        return {}
    numbered = ranks({str(number): found for number, found in enumerate(columns.values())}, resampling=resampling)
    return dict(zip(columns, numbered.values(), strict=True))


def _knows_labels(graded: Graded, label: str, is_control: bool) -> bool:  # noqa: FBT001 - the two halves of a key
    if is_control:
        return label in KNOWING_SYSTEMS
    header = graded.runs[label].header
    return header is not None and header.system.name in KNOWING_SYSTEMS
