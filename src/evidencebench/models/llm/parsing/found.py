"""What the pieces of the reader hand to each other."""

from dataclasses import dataclass
from typing import Literal

from evidencebench.models.llm.parsing.tokens import Span

ReadBy = Literal["json", "keyword", "list", "quotes", "none"]
"""What an answer was read by: a JSON value, a list behind a keyword, one without, quoted sentences, nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A list of sentences in a reply.

    Attributes
    ----------
    spans
        What it names, as given; none where it says that nothing is selected.
    read_by
        How.
    end
        Position behind it.
    is_cut
        Whether a bracket or quotation mark is open where the text ends.
    may_go_on
        Whether it has no bracket that ends it, and the text ends with it.
    is_doubtful
        Whether an answer stands here of which no one can tell what it names, so that no other place counts either.
    """

    spans: list[Span]
    read_by: ReadBy
    end: int
    is_cut: bool = False
    may_go_on: bool = False
    is_doubtful: bool = False


def doubtful(end: int) -> Found:
    """Return what an answer is that may mean this or that."""
    return Found(spans=[], read_by="none", end=end, is_doubtful=True)
