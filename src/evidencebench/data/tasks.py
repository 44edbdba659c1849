"""Tasks: how many sentences of an answer count, and which aspects."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from evidencebench.data.cover import coverage_of, minimum_cover
from evidencebench.data.instance import Instance, Labels
from evidencebench.errors import FormatError, TaskError, UndefinedScoreError
from evidencebench.query import AspectScope
from evidencebench.system import RankingTask, require_budget, require_scope
from evidencebench.wording import counted, or_one_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A budget rule and the aspects that count.

    Attributes
    ----------
    name
        The name on the command line and in run files.
    scope
        Which aspects count.
    budget
        How many sentences count: a number; a share of the paper's sentences, such as 0.05 (at least one counts);
        ``"aspects"`` (as many as aspects count); ``"optimal"`` (as many as the minimum cover of the instance needs);
        or None (no limit).

    Examples
    --------
    >>> Task(name="er_at_5_percent", scope="all", budget=0.05) == task_named("er_at_5_percent")
    True
    """

    name: str
    scope: AspectScope
    budget: int | float | Literal["optimal", "aspects"] | None

    def __post_init__(self) -> None:
        if isinstance(self.budget, float):
            if not 0 < self.budget < 1:
                raise ValueError(f"budget: expected a share of the sentences between 0 and 1, got {self.budget}")
        elif not self.asks_labels:
            require_budget(self.budget, at_least=1)
        require_scope(self.scope)

    @property
    def asks_labels(self) -> bool:
        """Whether the labels say how many sentences count."""
        return self.budget in ("optimal", "aspects")

    @property
    def words(self) -> str:
        """How many sentences count, in words."""
        match self.budget:
            case None:
                return "any number of sentences"
            case "optimal":
                return "fewest sentences"
            case "aspects":
                return "a sentence for each aspect"
            case float():
                return f"{100 * self.budget:g} % of the sentences"
        return counted(self.budget, "sentence")

    def applies_to(self, labels: Labels) -> bool:
        """Say whether the instance has any aspect that counts."""
        return bool(labels.that_count(self.scope))

    def can_be_asked(self, labels: Labels) -> bool:
        """Say whether a system can be asked: the task applies, or there are no labels and it does without them."""
        return self.applies_to(labels) or (not labels.aspects and not self.asks_labels)

    def ranking_task(self, instance: Instance) -> RankingTask:
        """Return the task for a system. It reveals at most one thing of the labels: how many sentences count."""
        return RankingTask(budget=self.budget_for(instance), scope=self.scope, name=self.name)

    def budget_for(self, instance: Instance) -> int | None:
        """Return how many sentences count for this instance.

        Raises
        ------
        TaskError
            If no aspect of the instance counts, unless the instance has no labels and the budget is fixed.
        FormatError
            If the stored optimum is negative.
        UndefinedScoreError
            If the budget is ``"optimal"``, the data holds no optimum, and the minimum cover cannot be proven.
        """
        if not self.can_be_asked(instance.labels):
            raise TaskError(f"{instance.id}: task '{self.name}' does not apply: the instance has no such aspect")
        if self.budget == "aspects":
            return len(instance.labels.that_count(self.scope))
        if isinstance(self.budget, float):
            return max(1, round(self.budget * len(instance.query.sentences)))
        if self.budget != "optimal":
            return self.budget
        stored = instance.labels.evaluations.get(self.name)
        if stored is not None and stored.optimal is not None:
            if stored.optimal < 0:
                raise FormatError(f"{instance.id}: the stored optimum of '{self.name}' is {stored.optimal}")
            return stored.optimal
        cover = minimum_cover(coverage_of(instance.labels, self.scope))
        if not cover.proven:
            raise UndefinedScoreError(f"{instance.id}: task '{self.name}': the minimum cover could not be proven")
        return len(cover.sentences)


TASKS: Mapping[str, Task] = MappingProxyType(
    {
        task.name: task
        for task in (
            Task(name="er_at_optimal", scope="all", budget="optimal"),
            Task(name="er_at_10", scope="all", budget=10),
            Task(name="result_er_at_optimal", scope="results", budget="optimal"),
            Task(name="result_er_at_5", scope="results", budget=5),
            Task(name="result_er_at_10", scope="results", budget=10),
            Task(name="result_er_unconstrained", scope="results", budget=None),
        )
    }
)
"""The benchmark's six tasks, by name [Wang et al., COLM 2025]."""

TaskOrName: TypeAlias = Task | str


def tasks_from(given: TaskOrName | Iterable[TaskOrName]) -> tuple[Task, ...]:
    """Return tasks, each once, given tasks or their names, or a single one; raises as `task_from`.

    >>> [task.name for task in tasks_from(["er_at_10", TASKS["er_at_optimal"]])]
    ['er_at_10', 'er_at_optimal']
    """
    several = [given] if isinstance(given, Task | str) or not isinstance(given, Iterable) else given
    return tuple({task.name: task for task in map(task_from, several)}.values())


def task_from(given: TaskOrName) -> Task:
    """Return a task, given as itself or by its name; raises `TaskError`, or `TypeError` for anything else."""
    if isinstance(given, str):
        return task_named(given)
    if not isinstance(given, Task):
        raise TypeError(f"tasks: expected tasks or their names, such as 'er_at_10', got {given!r}")
    return given


_AT_BUDGET = re.compile(
    r"(?P<results>result_)?er_at_(?:aspects|(?P<percent>[1-9][0-9]?)_percent|(?P<number>[1-9][0-9]{0,5}))"
)


def task_named(name: str) -> Task:
    """Return a task by its name.

    It is one of `TASKS`, or ``er_at_K``, ``er_at_K_percent`` (of the paper's sentences) or ``er_at_aspects`` (as many
    sentences as aspects count), each also behind ``result_``.

    Raises
    ------
    TaskError
        If the name is none of these.

    Examples
    --------
    >>> task_named("er_at_25").budget
    25
    """
    if name in TASKS:
        return TASKS[name]
    match = _AT_BUDGET.fullmatch(name)
    if match is None:
        raise TaskError(f"no task '{name}'{or_one_of(name, TASKS, 'evidencebench tasks', 'er_at_K with any K')}")
    budget: int | float | Literal["aspects"] = int(match["percent"]) / 100 if match["percent"] else "aspects"
    if match["number"]:
        budget = int(match["number"])
    return Task(name=name, scope="results" if match["results"] else "all", budget=budget)


def require_named(tasks: Iterable[Task]) -> None:
    """Raise `TaskError` for a task that its name does not make again: run files and other processes have names only."""
    for task in tasks:
        try:
            made = task_named(task.name)
        except TaskError:
            made = None
        if made != task:
            raise TaskError(
                f"task '{task.name}': a run knows its tasks by their names; name it by what it counts, such as "
                "er_at_7, result_er_at_5_percent or er_at_aspects"
            )
