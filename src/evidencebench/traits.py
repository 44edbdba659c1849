"""What a system declares about itself: how it is asked, what decides its answers, what it holds open."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from inspect import getattr_static

from evidencebench.query import Query


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


def _accept_all(_: Asked) -> None:
    """Raise nothing, whatever is asked."""


def _not_calibrated(_: Query) -> None:
    """Return no chances."""


def _hold_nothing() -> None:
    """Release nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a system declares about itself, in an attribute or a property ``traits``.

    Attributes
    ----------
    reads_brief
        Whether the answer depends on the brief, so that each task needs an answer of its own.
    reads_hypothesis
        Whether the answer depends on the hypothesis.
    selects
        Whether an answer ends by itself, so that tasks without a budget can be answered.
    waits
        Whether it mostly waits for a server, so that a run asks it many instances at once, from threads.
    knows_labels
        Whether it is given the labels, by ``rank_knowing(labels, brief)``: a ceiling, not a competitor.
    versions
        Returns the versions of libraries and the digests of files that decide its answers, by name, for a run's header.
    trained_on
        Returns the sha256 of the data files that its models were trained on, as far as the models name them.
    check
        Called with an `Asked` before the first query; raises an error where the system's answers do not fit it.
    chances
        Returns, for each sentence of a query, how likely it is evidence, in 0..1; None where that is not known.
    release
        Called before other processes answer in place of this one: ends what it holds open, such as a program. It may be
        asked again, and then opens that anew.

    Examples
    --------
    >>> class FirstFive:
    ...     traits = Traits(selects=True, reads_hypothesis=False)
    ...
    ...     def rank(self, query, brief):
    ...         return Ranking(sentences=tuple(range(min(5, len(query.sentences)))), ordered=False)
    """

    reads_brief: bool = False
    reads_hypothesis: bool = True
    selects: bool = False
    waits: bool = False
    knows_labels: bool = False
    versions: Callable[[], Mapping[str, str]] = dict
    trained_on: Callable[[], Iterable[str]] = frozenset
    check: Callable[[Asked], None] = _accept_all
    chances: Callable[[Query], Sequence[float] | None] = _not_calibrated
    release: Callable[[], None] = _hold_nothing

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
