"""The contract of everything that answers: a query and a brief in, a ranking out."""

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from types import ModuleType
from typing import Any, Protocol, SupportsIndex, cast, get_args

from evidencebench.errors import OutOfRangeError, RunMismatchError, SystemSpecError
from evidencebench.one_line import first_few, one_line
from evidencebench.provenance import differences, merged_versions, versions_of_code
from evidencebench.query import AspectScope, Query

KNOWING_SYSTEMS = frozenset({"oracle", "greedy_oracle"})
"""The systems that are given the labels: ceilings, not competitors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What the task tells a system about the answer it wants.

    Attributes
    ----------
    budget
        How many sentences count; None when any number may be selected.
    scope
        Whether evidence of every sort is wanted (``"all"``) or outcomes and analyses only (``"results"``).
    task
        Name of the task that asks, by which stored answers are found; None: no task of a name.
    """

    budget: int | None
    scope: AspectScope = "all"
    task: str | None = None

    def __post_init__(self) -> None:
        require_budget(self.budget, at_least=0)
        require_scope(self.scope)


def require_budget(budget: object, *, at_least: int) -> None:
    """Raise unless a budget is a number of sentences, or None, which is any number.

    Raises
    ------
    TypeError
        If it is no whole number.
    ValueError
        If it is lower than it may be.
    """
    if budget is None:
        return
    if isinstance(budget, bool) or not isinstance(budget, SupportsIndex):
        raise TypeError(f"budget: expected a whole number of sentences, or None for any, got {budget!r}")
    number = operator.index(budget)
    if number < at_least:
        raise ValueError(f"budget: expected at least {at_least} sentences, or None for any number, got {number}")


def require_scope(scope: object) -> None:
    """Raise unless a scope is one.

    Raises
    ------
    ValueError
        Naming those that there are.
    """
    if scope not in get_args(AspectScope):
        raise ValueError(f"scope: expected one of {', '.join(get_args(AspectScope))}, got {scope!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """One system's answer to one query.

    Attributes
    ----------
    sentences
        0-based indices into the query's sentences, best first.
    scores
        One score a sentence, descending; None when the system only orders or only selects.
    ordered
        False when the order means nothing, as in a set of sentences that a language model names. A budget then cuts
        the set by exact expectation, not by order.
    notes
        Counts of what whoever reads the scores should know about this answer, by name, such as
        ``truncated_sentences``. They are kept in the run and decide no score.
    """

    sentences: tuple[int, ...]
    scores: tuple[float, ...] | None = None
    ordered: bool = True
    notes: Mapping[str, int] = field(default_factory=dict, compare=False)

    def __repr__(self) -> str:
        scores = f"scores={self.scores[0]:.3g}..{self.scores[-1]:.3g}" if self.scores else ""
        notes = f"notes={dict(self.notes)}" if self.notes else ""
        order = "" if self.ordered else "ordered=False"
        return one_line(self, f"sentences={first_few(self.sentences)}", scores, order, notes)


class System(Protocol):
    """Anything that finds evidence.

    A system is a frozen dataclass whose fields are its options; a field of type `NamedSystem`, or a tuple of them,
    holds other systems that it asks. Three optional attributes describe its answers:

    ``reads_brief``
        True when the answer depends on the brief, so that each task needs an answer of its own. Default False: one
        ranking serves every budget.
    ``selects``
        True when an answer ends by itself, so that tasks without a budget can be answered. Default False.
    ``waits``
        True when it mostly waits for a server, so that a run asks it many instances at once, from threads. Default
        False.

    An optional method ``versions()`` returns the versions of libraries and the digests of files that decide its
    answers, by name; a run's header holds them. An optional method ``check_data(sha256, own_hypotheses=...)`` raises
    where the answers are fixed beforehand and are not for this data and these hypotheses; one
    ``check_queries(queries)`` raises where it may not be asked one of them, such as one whose paper it was shown; one
    ``check_tasks(names)`` raises where its answers, fixed beforehand, are not for one of these tasks. An optional
    method ``trained_on()`` returns the sha256 of the data that its models were trained on, as far as they say.
    """

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return the answer to a query; it may read everything in both arguments and nothing else."""
        ...


class KnowingSystem(Protocol):
    """A system that reads the labels, and says so. Only the two oracles are: ceilings, not competitors."""

    def rank_knowing(self, labels: Any, brief: Brief) -> Ranking:
        """Return the answer to a brief, given the `Labels` that grade it; this module cannot know their type."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSystem:
    """A system with the name and options that make it again.

    Attributes
    ----------
    name
        A name of `SYSTEMS`, or ``package.module:factory``.
    options
        Every option by name, defaults included, in JSON values; a nested system is ``{"name": ..., "options": ...}``.
    system
        The object that answers.
    knows_labels
        Whether it is given the labels: a ceiling, not a competitor.
    module
        Of own code: what it is made from; None for what this package brings.
    """

    name: str
    options: Mapping[str, Any]
    system: System | KnowingSystem
    knows_labels: bool = False
    module: ModuleType | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return one_line(self, f"{self.name!r}", options)

    @property
    def parts(self) -> tuple["NamedSystem", ...]:
        """The systems that it asks: those among its fields."""
        if not is_dataclass(self.system):
            return ()
        values = [getattr(self.system, field.name, None) for field in fields(self.system)]
        nested = [value if isinstance(value, tuple) else (value,) for value in values]
        return tuple(part for group in nested for part in group if isinstance(part, NamedSystem))

    @property
    def reads_brief(self) -> bool:
        """Whether each task needs an answer of its own, from it or from a system that it asks."""
        return bool(getattr(self.system, "reads_brief", False)) or any(part.reads_brief for part in self.parts)

    @property
    def selects(self) -> bool:
        """Whether its answers end by themselves, so that tasks without a budget can be answered."""
        return bool(getattr(self.system, "selects", False))

    @property
    def waits(self) -> bool:
        """Whether it, or a system that it asks, mostly waits for a server."""
        return bool(getattr(self.system, "waits", False)) or any(part.waits for part in self.parts)

    def versions(self) -> dict[str, str]:
        """Return the versions and digests that decide its answers, those of the systems it asks included.

        Own code counts by the digest of its source, as `evidencebench.code_digest` makes it.
        """
        own = getattr(self.system, "versions", None)
        of_code = versions_of_code(self.name, self.module)
        return merged_versions(*(part.versions() for part in self.parts), own() if callable(own) else {}, of_code)

    def check_versions(self, begun_with: Mapping[str, str]) -> None:
        """Raise where what decides its answers is no longer what work was begun with.

        Parameters
        ----------
        begun_with
            What `versions` returned then, in another process perhaps.

        Raises
        ------
        RunMismatchError
            Naming what differs.
        """
        if differing := differences(begun_with, self.versions()):
            raise RunMismatchError(f"system '{self.name}' has changed since the work began: {differing}; start again")

    def trained_on(self) -> frozenset[str]:
        """Return the sha256 of the data that it, or a system that it asks, was trained on, as far as is known."""
        own = getattr(self.system, "trained_on", None)
        known = frozenset(own()) if callable(own) else frozenset()
        return known.union(*(part.trained_on() for part in self.parts))

    def check_data(self, sha256: str, *, own_hypotheses: bool) -> None:
        """Raise where it, or a system that it asks, has fixed answers that do not belong to the data.

        Parameters
        ----------
        sha256
            Of the data file.
        own_hypotheses
            Whether each paper is asked with its own hypothesis.

        Raises
        ------
        RunMismatchError
            Naming the answers that do not belong.
        """
        for part in self.parts:
            part.check_data(sha256, own_hypotheses=own_hypotheses)
        check = getattr(self.system, "check_data", None)
        if callable(check):
            check(sha256, own_hypotheses=own_hypotheses)

    def check_tasks(self, names: Sequence[str]) -> None:
        """Raise where it, or a system that it asks, has fixed answers that are not for one of the tasks.

        Raises
        ------
        TaskError
            Naming the answers and the task.
        """
        for part in self.parts:
            part.check_tasks(names)
        check = getattr(self.system, "check_tasks", None)
        if callable(check):
            check(names)

    def check_queries(self, queries: Callable[[], Iterable[Query]]) -> None:
        """Raise where it, or a system that it asks, may not be asked one of the queries.

        Parameters
        ----------
        queries
            Gives what will be asked; called only where a system looks at it, since that reads the whole data.

        Raises
        ------
        RunMismatchError
            Naming the query and the reason.
        """
        for part in self.parts:
            part.check_queries(queries)
        check = getattr(self.system, "check_queries", None)
        if callable(check):
            check(queries())

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return its answer in plain numbers, for a system that asks it.

        Raises
        ------
        SystemSpecError
            If it is given the labels, which no system that asks it has.
        TypeError, ValueError, OutOfRangeError
            As `plain_ranking` does.
        """
        if self.knows_labels:
            raise SystemSpecError(f"system '{self.name}' is given the labels, so no other system may ask it")
        return plain_ranking(cast("System", self.system).rank(query, brief), len(query.sentences), self.name)


def plain_ranking(answer: object, n_sentences: int, system: str) -> Ranking:
    """Return an answer in plain Python numbers, which is what a run can hold.

    Parameters
    ----------
    answer
        What a system returned.
    n_sentences
        How many sentences the paper has.
    system
        What messages call the system.

    Raises
    ------
    TypeError
        If it is no `Ranking` of whole numbers.
    ValueError
        If the scores are not finite, one a sentence and descending.
    OutOfRangeError
        If the paper does not have a sentence.
    """
    if not isinstance(answer, Ranking):
        raise TypeError(f"expected a Ranking, such as Ranking(sentences=(4, 0)), got {type(answer).__name__}")
    scores = None if answer.scores is None else tuple(map(float, answer.scores))
    if scores is not None and not all(map(math.isfinite, scores)):
        raise ValueError("expected finite scores")
    if scores is not None and (list(scores) != sorted(scores, reverse=True) or len(scores) != len(answer.sentences)):
        raise ValueError("expected one score a sentence, descending")
    try:
        sentences = tuple(map(operator.index, answer.sentences))
    except TypeError as error:
        raise TypeError(f"expected sentence indices as whole numbers: {error}") from error
    if sentences and not (min(sentences) >= 0 and max(sentences) < n_sentences):
        wrong = next(index for index in sentences if not 0 <= index < n_sentences)
        raise OutOfRangeError(f"system '{system}': expected sentences 0..{n_sentences - 1}, got {wrong}")
    notes = {str(name): operator.index(count) for name, count in answer.notes.items()}
    return Ranking(sentences=sentences, scores=scores, ordered=bool(answer.ordered), notes=notes)


def merged_notes(*notes: Mapping[str, int]) -> dict[str, int]:
    """Return what several answers about one paper note together.

    What is ``truncated`` is the paper's, so the highest count stands; all else, such as requests, is summed.

    Examples
    --------
    >>> merged_notes({"truncated_sentences": 2, "requests": 1}, {"truncated_sentences": 3, "requests": 1})
    {'truncated_sentences': 3, 'requests': 2}
    """
    merged: dict[str, int] = {}
    for one in notes:
        for name, count in one.items():
            before = merged.get(name, 0)
            merged[name] = max(before, count) if is_counted_once(name) else before + count
    return merged


def is_counted_once(note: str) -> bool:
    """Say whether a note is about the paper, and so the same however often it is asked."""
    return note.startswith("truncated_")


def rank_by_score(scores: Sequence[float]) -> Ranking:
    """Return all sentences, the highest score first, ties in paper order.

    Parameters
    ----------
    scores
        One finite number a sentence, in paper order.

    Raises
    ------
    ValueError
        If a score is not finite.

    Examples
    --------
    >>> rank_by_score([0.1, 0.7, 0.1]).sentences
    (1, 0, 2)
    """
    values = [float(score) for score in scores]
    for index, value in enumerate(values):
        if not math.isfinite(value):
            raise ValueError(f"sentence {index}: expected a finite score, got {value}")
    order = sorted(range(len(values)), key=lambda index: -values[index])
    return Ranking(sentences=tuple(order), scores=tuple(values[index] for index in order))
