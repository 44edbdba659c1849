"""The report where hypotheses or aspects were rated: how many meet each criterion, with exact intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

from evidencebench.construction.people.annotations import Annotations
from evidencebench.construction.people.tasks import TasksFile
from evidencebench.errors import UndefinedScoreError
from evidencebench.scoring.proportions import proportion

MAJORITY = "majority"


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedShare:
    """How many of the rated tasks meet a criterion, by one rater or by the majority, with the exact interval."""

    criterion: str
    rater: str
    n_yes: int
    n: int
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsReport:
    """Each criterion by each rater, and by the majority of those who rated the task; a tie is a no."""

    n_tasks: int
    shares: tuple[RatedShare, ...]
    n_shared: int  # tasks that two or more people rated
    n_unanimous: dict[str, int]  # criterion -> on how many of these all say the same


def report_ratings(tasks: TasksFile, annotations: Annotations, level: float = 0.95) -> RatingsReport:
    """Return the report; raises `UndefinedScoreError` where nobody is done with a task."""
    votes: dict[str, dict[str, dict[str, bool]]] = {}  # criterion -> rater -> task -> yes
    for rater, answers in sorted(annotations.by_annotator.items()):
        for annotation in answers.values():
            for criterion, is_met in (annotation.ratings or {}).items() if annotation.is_done else ():
                votes.setdefault(criterion, {}).setdefault(rater, {})[annotation.task] = is_met
    if not votes:
        raise UndefinedScoreError("expected ratings, but no annotator is done with a task")
    shares: list[RatedShare] = []
    n_unanimous: dict[str, int] = {}
    n_shared = 0
    for criterion in (criterion.name for criterion in tasks.header.criteria):
        by_rater = votes[criterion]
        shares += [_share(criterion, rater, list(given.values()), level) for rater, given in by_rater.items()]
        by_task = [[given[task.id] for given in by_rater.values() if task.id in given] for task in tasks.records]
        if len(by_rater) > 1:
            majority = [2 * sum(given) > len(given) for given in by_task if given]
            shares.append(_share(criterion, MAJORITY, majority, level))
        shared = [given for given in by_task if len(given) > 1]
        n_shared, n_unanimous[criterion] = len(shared), sum(len(set(given)) == 1 for given in shared)
    return RatingsReport(n_tasks=len(tasks.records), shares=tuple(shares), n_shared=n_shared, n_unanimous=n_unanimous)


def _share(criterion: str, rater: str, given: Sequence[bool], level: float) -> RatedShare:
    share = proportion(sum(given), len(given), level)
    return RatedShare(criterion=criterion, rater=rater, n_yes=share.k, n=share.n, low=share.low, high=share.high)
