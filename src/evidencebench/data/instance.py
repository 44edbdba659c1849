"""An instance: a query, and the labels that grade its answers, kept apart so that no system reads them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from evidencebench.files.disk import ShardedSnapshot, Snapshot
from evidencebench.query import AspectScope, Query
from evidencebench.tables import excerpt_html, printable
from evidencebench.wording import counted, one_line


class DataSource(ABC):
    """The instances of a file, each decoded only when it is asked for."""

    snapshot: Snapshot | ShardedSnapshot  # the file, or the shards, as they were when they were opened
    places: Mapping[str, Any]  # id -> where its instance stands, in file order
    repeated_ids: tuple[str, ...]  # that stand more than once; the last instance of each is read

    @cached_property
    def ids(self) -> tuple[str, ...]:
        return tuple(self.places)

    def __contains__(self, instance_id: object) -> bool:
        return instance_id in self.places

    @abstractmethod
    def instance(self, instance_id: str) -> "Instance":
        """Return an instance; raises `FormatError` if it breaks the format, `ChangedDataError` if the file changed."""

    @abstractmethod
    def fields(self, instance_id: str) -> tuple[Any, list[str]]:
        """Return plain JSON values, and repeated keys; raises `FormatError` (no JSON), `UnreadableError` (no text)."""

    def forget(self) -> None:  # noqa: B027 - most keep nothing
        """Let go of what was read and kept to answer the next question sooner."""

    def index(self) -> bytes | None:
        """Return what lets another process open the file without reading all of it; None where that is not needed."""
        return None


class Evaluation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A stored optimum: one best selection and the aspects that it covers, with the names that the files give them."""

    optimal: int | None = None  # fewest sentences that cover every coverable aspect; None where the budget is fixed
    sentences: tuple[int, ...] = msgspec.field(name="one_selection_of_sentences")  # indices, in stored order
    covered: tuple[str, ...] = msgspec.field(name="covered_aspects")  # ids of aspects


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """Which sentences are sources of which study aspects.

    Attributes
    ----------
    aspects
        Aspect ids, in file order.
    results
        The aspects labelled Results, in file order; empty when there are none (the files write null).
    sources
        Aspect id -> indices of its source sentences. An aspect without a source is *uncoverable*; its entry is
        empty or absent.
    texts
        Aspect id -> text, where the data set has it; else empty.
    review_id
        The systematic review that the instance comes from, or None where the data set does not say.
    evaluations
        Stored optima by task name; a task whose optimum is null or missing in the file has no entry.
    """

    aspects: tuple[str, ...]
    results: tuple[str, ...] = ()
    sources: Mapping[str, tuple[int, ...]]
    texts: Mapping[str, str] = field(default_factory=dict)
    review_id: str | None = None
    evaluations: Mapping[str, Evaluation] = field(default_factory=dict)
    # What `coverage_of` has computed, by scope; typed where it is made, which imports this.
    coverages: dict[AspectScope, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        n_sources = len({index for places in self.sources.values() for index in places})
        n_aspects, results = counted(len(self.aspects), "aspect"), f"{len(self.results):,} of them Results"
        return one_line(self, n_aspects, results, f"{counted(n_sources, 'sentence')} are sources")

    def that_count(self, scope: AspectScope) -> tuple[str, ...]:
        """Return the aspects in ``scope``: ``"all"`` of them, or those labelled ``"results"``."""
        return self.aspects if scope == "all" else self.results


class Origin:
    """An instance as its file has it, so that writing keeps the keys that this version does not know.

    ``raw`` is its JSON object, UTF-8, or a function that makes it when it is asked for; ``names_itself`` says whether
    ``id`` in it is the instance's id, not an unknown key.
    """

    def __init__(self, raw: bytes | msgspec.Raw | Callable[[], bytes], *, names_itself: bool = False) -> None:
        self._raw = raw
        self.names_itself = names_itself

    @cached_property
    def raw(self) -> bytes:
        return self._raw() if callable(self._raw) else bytes(self._raw)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A query together with the labels that grade its answers.

    ``origin`` is None for instances that were not read from a file, and is not compared.
    """

    query: Query
    labels: Labels
    origin: Origin | None = field(default=None, compare=False, repr=False)

    def __repr__(self) -> str:
        sentences, aspects = counted(len(self.query.sentences), "sentence"), counted(len(self.labels.aspects), "aspect")
        return one_line(self, repr(self.id), f"paper {self.query.paper_id!r}", sentences, aspects)

    def _repr_html_(self) -> str:
        labels = self.labels
        rows = [
            [
                labels.texts.get(aspect, aspect),
                "yes" if aspect in labels.results else "",
                ", ".join(map(str, labels.sources.get(aspect, ()))),
            ]
            for aspect in labels.aspects[:12]
        ]
        title = f"{self!r}\n{printable(self.query.hypothesis)}"
        return excerpt_html(title, ["aspect", "of Results", "its sentences"], rows, len(labels.aspects))

    @property
    def id(self) -> str:
        """The instance's name in its data set."""
        return self.query.instance_id

    @property
    def cluster(self) -> str:
        """The unit that scores are resampled by: the review where the data names one, else the paper."""
        return self.labels.review_id or self.query.paper_id
