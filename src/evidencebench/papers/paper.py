"""A paper as it was read, without a hypothesis."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from evidencebench.errors import UnreadableError
from evidencebench.query import Kind, Query, Wish


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a sentence stands: titles of its sections, outermost first; its paragraph, from 0; its page, from 1.

    A heading has the section path that leads to it, and the number of the paragraph behind it. ``page`` is None in a
    format without pages.
    """

    section: tuple[str, ...] = ()
    paragraph: int = 0
    page: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpan:
    """Characters start..stop-1 of the source: see `Paper.spans`."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What a reader left out of one sort of element, such as ``table``: how many, and their characters."""

    n_elements: int
    n_characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """How much of a file became sentences; white space is not counted.

    Attributes
    ----------
    n_characters
        Part (``title``, ``abstract``, ``body``) -> characters of running text in the file, without what is left out.
    n_kept
        Part -> how many of them are in the sentences.
    left_out
        Sort of element, such as ``table``, ``figure``, ``references`` -> what was left out by design.
    """

    n_characters: Mapping[str, int] = field(default_factory=dict)
    n_kept: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, LeftOut] = field(default_factory=dict)

    @property
    def share_kept(self) -> float:
        """The share of the running text that is in the sentences, in 0..1; 1 where there is none."""
        n = sum(self.n_characters.values())
        return sum(self.n_kept.values()) / n if n else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """The sentences of a paper in order, headings included.

    Attributes
    ----------
    name
        Its file or source, for messages.
    format
        The format that was read, such as ``JATS XML``.
    title
        Its title; empty where the file has none. Where there is one, it is the first sentence too, as a heading.
    sentences, kinds, places, spans
        One entry a sentence. A span counts characters of the decoded file, so that the text between its ends is the
        sentence with its markup. For a PDF it counts characters of the text of its pages, joined by form feeds; for
        BioC, whose passages have offsets of their own, it is in these.
    ids
        Such as ``{"pmcid": "PMC13901", "doi": "10.1186/..."}``, as far as the file names them.
    loss
        What became of the file's characters.
    warnings
        Whole sentences that say what could not be read, such as a page of a PDF.
    """

    name: str
    format: str
    title: str
    sentences: tuple[str, ...]
    kinds: tuple[Kind, ...]
    places: tuple[Place, ...]
    spans: tuple[SourceSpan, ...]
    ids: Mapping[str, str] = field(default_factory=dict)
    loss: Loss = field(default_factory=Loss)
    warnings: tuple[str, ...] = ()

    def query_for(self, hypothesis: str, *, wish: Wish | None = None) -> Query:
        """Return the query of a hypothesis and this paper; raises `UnreadableError` if the hypothesis is empty."""
        if not hypothesis.strip():
            raise UnreadableError("hypothesis: expected a sentence, got an empty one")
        return Query(
            instance_id=self.name,
            paper_id=self.name,
            hypothesis=hypothesis,
            sentences=self.sentences,
            kinds=self.kinds,
            wish=wish,
        )
