"""One instance under one task: its aspects, budget and ceiling, against which every answer is measured."""

from dataclasses import dataclass

from evidencebench.data.instance import Instance
from evidencebench.data.optimum.cover import Coverage, ceiling, coverage_of
from evidencebench.data.tasks import Task
from evidencebench.errors import MissingExtraError, UndefinedScoreError
from evidencebench.runs.answer_line import Answer
from evidencebench.scoring.selection import DEFAULT_RULES, CheckedAnswer, Rules, check_answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One instance under one task."""

    instance: Instance
    coverage: Coverage  # of the aspects that count
    budget: int | None  # how many sentences count; None: any number
    ceiling: float  # the highest aspect recall that the budget allows; NaN where it could not be proven

    def check(self, answer: Answer | None, rules: Rules = DEFAULT_RULES) -> CheckedAnswer:
        """Return an answer to the instance as it can be cut; see `check_answer`."""
        return check_answer(answer, len(self.instance.query.sentences), rules)


def case_of(instance: Instance, task: Task) -> Case | None:
    """Return what answers to an instance are measured against, or None where the task does not apply."""
    if not task.applies_to(instance.labels):
        return None
    coverage, budget = coverage_of(instance.labels, task.scope), task.budget_for(instance)
    try:
        highest = ceiling(coverage, budget) / coverage.n_aspects
    except UndefinedScoreError:  # not proven, so what compares with it is left out
        highest = float("nan")
    except MissingExtraError as error:
        raise MissingExtraError(f"{instance.id}: {error}") from error
    return Case(instance=instance, coverage=coverage, budget=budget, ceiling=highest)
