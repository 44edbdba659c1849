"""The assignment of people: which papers, how many sentences of each, and how the answer is revealed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from evidencebench.pages.paper import PaperRecord
from evidencebench.query import AspectScope
from evidencebench.runs.people.person import Submission


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a person sees before submitting, as a system does: the paper, and how many sentences may be picked."""

    paper: PaperRecord
    budget: int


class QueuedPaper(msgspec.Struct, frozen=True, kw_only=True):
    """A paper as it stands in the queue; the same for everybody."""

    position: int
    id: str
    hypothesis: str
    n_sentences: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What people are asked.

    ``queue`` maps instance ids to papers, in file order; nothing else is offered. ``offer`` returns what is seen of an
    instance before it is submitted, ``reveal`` what is seen afterwards: (name, signature, id, submission) -> what
    `encoded` takes. Both are handed in, since they read the data set.
    """

    title: str
    task: str
    scope: AspectScope
    queue: Mapping[str, QueuedPaper]
    offer: Callable[[str], Offer]
    reveal: Callable[[str, str, str, Submission], object]
