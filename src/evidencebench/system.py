"""RankingTask, Ranking, System, NamedSystem, Traits: the contract of everything that answers."""

import math
import operator
import re
import reprlib
from collections.abc import Callable, Iterable, KeysView, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, is_dataclass
from inspect import getattr_static
from types import ModuleType
from typing import Any, NamedTuple, Protocol, SupportsIndex, cast, get_args

from evidencebench.errors import AnswerError, OutOfRangeError, SystemSpecError
from evidencebench.provenance import library_versions, merged_versions, versions_of_code
from evidencebench.query import AspectScope, Query
from evidencebench.tables import Cell, excerpt_html
from evidencebench.wording import first_few, one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a system is about to be asked. A system whose answers are stored checks whether they fit it.

    Attributes
    ----------
    data_sha256
        The sha256 of the data file.
    own_queries
        Whether each query is asked as the data has it: not with another hypothesis, nor beside another paper.
    tasks
        Names of the tasks.
    queries
        Returns the queries. It reads the whole data, so call it only where you need them.
    """

    data_sha256: str
    own_queries: bool
    tasks: tuple[str, ...]
    queries: Callable[[], Iterable[Query]]


class PaperChance(NamedTuple):
    """How likely a paper answers a question, in 0..1, and from which chances on `find` says so, or that it does not."""

    chance: float
    none_below: float
    found_from: float
    right_first: float | None = None  # the share of such questions whose first line answers them, where it is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a system declares about itself, in an attribute or a property ``traits``.

    Attributes
    ----------
    reads_task
        Whether the answer depends on the task, so that each task needs an answer of its own.
    reads_hypothesis
        Whether the answer depends on the hypothesis.
    selects
        Whether an answer ends by itself, so that tasks without a budget can be answered.
    waits
        Whether it mostly waits for a server, so that a run asks it many instances at once, from threads.
    knows_labels
        Whether it is given the labels, by ``rank_knowing(labels, task)``: a ceiling, not a competitor.
    versions
        Returns the versions of libraries and the digests of files that decide its answers, by name, for a run's header.
    trained_on
        Returns the sha256 of the data files that its models were trained on, as far as the models name them.
    check
        Called with an `Asked` before the first query; raises an error where the system's answers do not fit it.
    chances
        Returns, for each sentence of a query, how likely it is evidence, in 0..1; None where that is not known.
    answers
        Returns how likely a query's paper answers its hypothesis, as a `PaperChance`; None where that is not known.
    release
        Called before other processes answer in place of this one: ends what it holds open, such as a program. It may be
        asked again, and then opens that anew.

    Examples
    --------
    >>> class FirstFive:
    ...     traits = Traits(selects=True, reads_hypothesis=False)
    ...
    ...     def rank(self, query, task):
    ...         return Ranking(sentences=tuple(range(min(5, len(query.sentences)))), ordered=False)
    """

    reads_task: bool = False
    reads_hypothesis: bool = True
    selects: bool = False
    waits: bool = False
    knows_labels: bool = False
    versions: Callable[[], Mapping[str, str]] = dict
    trained_on: Callable[[], Iterable[str]] = frozenset
    check: Callable[[Asked], None] = lambda _: None
    chances: Callable[[Query], Sequence[float] | None] = lambda _: None
    answers: Callable[[Query], PaperChance | None] = lambda _: None
    release: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        for trait in fields(self):
            value, is_flag = getattr(self, trait.name), isinstance(trait.default, bool)
            if not (isinstance(value, bool) if is_flag else callable(value)):
                expected = "True or False" if is_flag else "a function, such as a method"
                raise TypeError(f"Traits: {trait.name}: expected {expected}, got {value!r}")


def traits_of(system: object) -> Traits:
    """Return the traits of a system or of a class of systems: the defaults where it, or a class alone, has none."""
    kind = system if isinstance(system, type) else type(system)
    for name, value in vars(kind).items():
        if isinstance(value, Traits) and name != "traits":
            raise TypeError(f"{kind.__name__}: expected its Traits in the attribute 'traits', got them in '{name}'")
    declared = getattr_static(system, "traits", None)
    if declared is None or (isinstance(system, type) and isinstance(declared, property)):
        return Traits()
    traits = system.traits  # type: ignore[attr-defined] # getattr would hide an AttributeError in a property
    if not isinstance(traits, Traits):
        raise TypeError(f"{kind.__name__}: traits: expected Traits(...), got {traits!r}")
    return traits


_N_SHOWN = 10

KNOWING_SYSTEMS = frozenset({"oracle", "greedy_oracle"})
"""Names, in run files, of the systems that are given the labels: ceilings, not competitors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingTask:
    """What a system is told of the task: how many sentences count, and of which kind.

    Attributes
    ----------
    budget
        How many sentences count; None when any number may be selected.
    scope
        Whether evidence of every sort is wanted (``"all"``) or outcomes and analyses only (``"results"``).
    name
        Name of the task, by which stored answers are found; None where it has none.
    """

    budget: int | None
    scope: AspectScope = "all"
    name: str | None = None

    def __post_init__(self) -> None:
        require_budget(self.budget, at_least=0)
        require_scope(self.scope)


def require_budget(budget: object, *, at_least: int) -> None:
    if budget is None:
        return
    if isinstance(budget, bool) or not isinstance(budget, int | SupportsIndex):
        raise TypeError(f"budget: expected a whole number of sentences, or None for any, got {budget!r}")
    number = operator.index(budget)
    if number < at_least:
        raise ValueError(f"budget: expected at least {at_least} sentences, or None for any number, got {number}")


def require_scope(scope: object) -> None:
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
        Counts by name that help to read the scores, such as ``truncated_sentences``. They are kept in the run, and
        change no score.
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

    def _repr_html_(self) -> str:
        rows: list[list[Cell]] = []
        for place, sentence in enumerate(self.sentences[:_N_SHOWN]):
            score = None if self.scores is None else f"{self.scores[place]:.4g}"
            rows.append([place + 1 if self.ordered else None, sentence, score])
        return excerpt_html(repr(self), ["rank", "sentence", "score"], rows, len(self.sentences))


class System(Protocol):
    """Anything that finds evidence.

    A system is a frozen dataclass whose fields are its options; a field of type `NamedSystem`, or a tuple of them,
    holds other systems that it asks. Its attribute ``traits`` declares all else that must be known about it, see
    `Traits`.
    """

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        """Return the answer to a query; it may read everything in both arguments and nothing else."""


class KnowingSystem(Protocol):
    """A system that is given the labels. Only the two oracles are such systems: ceilings, not competitors."""

    def rank_knowing(self, labels: Any, task: RankingTask) -> Ranking:
        """Return the answer to a task, given the `Labels` that grade it, a type that this module may not import."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSystem:
    """A system with the name and the options from which it can be made again.

    Attributes
    ----------
    name
        A name of `SYSTEMS`, ``package.module:factory`` or ``file.py:factory``.
    options
        Every option by name, defaults included, in JSON values; a nested system is ``{"name": ..., "options": ...}``.
    system
        The object that answers.
    module
        The module of a system of the user's own, or of another package; None for one of this package.
    package
        The name of the installed package whose plug-in the system is; None: it is no plug-in.
    traits
        What the system declares.
    """

    name: str
    options: Mapping[str, Any]
    system: System | KnowingSystem
    module: ModuleType | None = field(default=None, repr=False, compare=False)
    package: str | None = field(default=None, repr=False, compare=False)
    traits: Traits = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "traits", traits_of(self.system))

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
    def reads_task(self) -> bool:
        """Whether each task needs an answer of its own, from it or from a system that it asks."""
        return self.traits.reads_task or any(part.reads_task for part in self.parts)

    @property
    def selects(self) -> bool:
        """Whether its answers end by themselves, so that tasks without a budget can be answered."""
        return self.traits.selects

    @property
    def waits(self) -> bool:
        """Whether it, or a system that it asks, mostly waits for a server."""
        return self.traits.waits or any(part.waits for part in self.parts)

    @property
    def knows_labels(self) -> bool:
        """Whether it is given the labels: a ceiling, not a competitor."""
        return self.traits.knows_labels

    def versions(self) -> dict[str, str]:
        """Return the versions and digests that decide its answers, those of the systems it asks included."""
        of_code = versions_of_code(self.name, self.module, getattr(self.system, "function", type(self.system)))
        of_package = {} if self.package is None else library_versions(self.package)
        return merged_versions(*(part.versions() for part in self.parts), self.traits.versions(), of_package, of_code)

    def trained_on(self) -> frozenset[str]:
        """Return the sha256 of the data that it, or a system that it asks, was trained on, as far as is known."""
        return frozenset(self.traits.trained_on()).union(*(part.trained_on() for part in self.parts))

    def check(self, asked: Asked) -> None:
        """Raise `TaskError` or `RunMismatchError` where stored answers, its own or those of a part, do not fit."""
        for part in self.parts:
            part.check(asked)
        self.traits.check(asked)

    def release(self) -> None:
        """End what it and the systems that it asks hold open, such as a program; asked again, each opens it anew."""
        for part in self.parts:
            part.release()
        self.traits.release()

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        """Return its answer to another system, in plain numbers; raises if it is given the labels."""
        if self.knows_labels:
            raise SystemSpecError(f"system '{self.name}' is given the labels, so no other system may ask it")
        answer = cast("System", self.system).rank(query, task)
        return plain_ranking(answer, len(query.sentences), self.name, query.instance_id)

    def chances(self, query: Query) -> tuple[float, ...] | None:
        """Return how likely each sentence is evidence, in plain numbers; None where it does not say.

        Raises `ValueError` unless there is one in 0..1 for each sentence.
        """
        given = self.traits.chances(query)
        if given is None:
            return None
        values, n = tuple(map(float, given)), len(query.sentences)
        if len(values) != n or not all(0 <= chance <= 1 for chance in values):
            raise ValueError(f"expected {n} chances in 0..1, one a sentence, got {first_few(values)}")
        return values

    def answers(self, query: Query) -> PaperChance | None:
        """Return how likely the paper answers the hypothesis; None where it does not say.

        Raises `ValueError` unless chance and bounds lie in 0..1, the bounds in order.
        """
        given = self.traits.answers(query)
        if given is None:
            return None
        chance, none_below, found_from = map(float, given[:3])
        told = PaperChance(chance, none_below, found_from, given.right_first)
        shares = (told.chance, told.right_first or 0.0)
        if not (all(0 <= share <= 1 for share in shares) and 0 <= told.none_below <= told.found_from <= 1):
            raise ValueError(f"expected chances in 0..1 and bounds in order, got {told}")
        return told


# Plain digits only: int() would also take 1_0 and digits of other scripts, and fails at thousands of digits.
_INDEX_DIGITS = re.compile(r"[0-9]{1,18}")
_EXPECTED = "expected sentence indices, the best first, {index: score}, or a Ranking"
_OF_SCORES = "; of scores, one a sentence, rank_by_score makes a ranking"


def ranking_from(given: object, instance_id: str) -> Ranking:
    """Return an answer as a `Ranking`; raise `AnswerError` where it is none.

    What has an order ranks, the best first: a list, a tuple, an array, a column of a frame, a generator, a dict's keys.
    A set has none. A dict of sentence -> score ranks by score, where a sentence is its index, as a number or as text,
    or ``id#00042``.
    """
    match given:
        case Ranking():
            return given
        case Mapping():
            return _ranking_by_score(instance_id, given)
        case str() | bytes() | None:
            raise AnswerError(f"{_EXPECTED}, got {given!r}")
        case AbstractSet() if not isinstance(given, KeysView):
            return Ranking(sentences=tuple(map(_index, given)), ordered=False)
        case Iterable() if not hasattr(given, "columns"):
            return Ranking(sentences=tuple(map(_index, given)))
    raise AnswerError(f"{_EXPECTED}, got {type(given).__name__}")


def _ranking_by_score(instance_id: str, given: Mapping[object, object]) -> Ranking:
    pairs = []
    for sentence, score in given.items():
        if isinstance(score, str | bytes):  # float() would take 1_0, and the digits of every script
            raise AnswerError(f"{sentence!r}: expected a number as score, got {score!r}")
        try:
            number = float(score)  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            raise AnswerError(f"{sentence!r}: expected a number as score: {error}") from error
        if not math.isfinite(number):
            raise AnswerError(f"{sentence!r}: expected a finite score, got {number}")
        try:
            index = index_in(sentence, instance_id) if isinstance(sentence, str) else _index(sentence)
        except ValueError as error:
            raise AnswerError(str(error)) from error
        pairs.append((-number, index))
    return ranking_of(pairs)


def ranking_of(pairs: list[tuple[float, int]]) -> Ranking:
    """Return sentences, given as (minus the score, index), by score, ties by index."""
    pairs.sort()
    return Ranking(sentences=tuple(index for _, index in pairs), scores=tuple(-score for score, _ in pairs))


def index_in(sentence: str, instance_id: str) -> int:
    """Return the index in the name of a sentence, such as ``42`` or ``id#00042``; raises `ValueError`."""
    paper, mark, digits = sentence.rpartition("#")
    if mark and paper != instance_id:
        raise ValueError(
            f"expected a sentence of '{instance_id}', got '{sentence}'; each hypothesis is answered from its own paper"
        )
    if not _INDEX_DIGITS.fullmatch(digits):
        raise ValueError(f"expected the index of a sentence in the digits 0 to 9, or id#index, got '{sentence}'")
    return int(digits)


def _index(given: object) -> int:
    try:
        if not isinstance(given, bool):
            return operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        pass
    hint = _OF_SCORES if isinstance(given, float) else ""
    raise AnswerError(f"expected whole numbers, the indices of sentences, got {given!r}{hint}")


def plain_ranking(given: object, n_sentences: int, system: str, instance_id: str = "") -> Ranking:
    """Return a checked answer in plain Python numbers, as a run holds them; ``system`` is its name, for messages."""
    answer = ranking_from(given, instance_id)
    is_one_a_sentence = answer is not given and answer.scores is None and len(answer.sentences) == n_sentences
    if is_one_a_sentence and len(set(answer.sentences)) < n_sentences:
        raise AnswerError(
            f"{_EXPECTED}, got {n_sentences} numbers, one a sentence, of which some are equal{_OF_SCORES}"
        )
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
    """Return the notes of several answers about one paper as one: the sums, or the maximum of what is of the paper.

    >>> merged_notes({"truncated_sentences": 2, "requests": 1}, {"truncated_sentences": 3, "requests": 1})
    {'truncated_sentences': 3, 'requests': 2}
    """
    merged: dict[str, int] = {}
    for counts in notes:
        for name, count in counts.items():
            before = merged.get(name, 0)
            merged[name] = max(before, count) if name.startswith("truncated_") else before + count
    return merged


def rank_by_score(scores: Sequence[float], query: Query | None = None) -> Ranking:
    """Return all sentences, the highest score first, ties in paper order.

    Parameters
    ----------
    scores
        One finite number a sentence, in paper order.
    query
        The query that is ranked, to check that each of its sentences has a score; None: not checked.

    Raises
    ------
    ValueError
        If a score is not finite, or there are more or fewer than the query has sentences.

    Examples
    --------
    >>> rank_by_score([0.1, 0.7, 0.1]).sentences
    (1, 0, 2)
    """
    try:
        values = [float(score) for score in scores]
    except (TypeError, ValueError) as error:
        raise TypeError(f"expected scores, one number a sentence, got {reprlib.repr(scores)}: {error}") from error
    if query is not None and len(values) != (n := len(query.sentences)):
        raise ValueError(f"expected {n} scores, one for each sentence of the paper, got {len(values)}")
    for index, value in enumerate(values):
        if not math.isfinite(value):
            raise ValueError(f"sentence {index}: expected a finite score, got {value}")
    order = sorted(range(len(values)), key=lambda index: -values[index])
    return Ranking(sentences=tuple(order), scores=tuple(values[index] for index in order))
