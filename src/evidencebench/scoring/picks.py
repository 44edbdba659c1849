"""What each selected sentence adds to those before it: new evidence, nothing, no evidence; or it is a heading.

The page of a paper lists the same in picks.js.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evidencebench.data.instance import Instance
from evidencebench.data.optimum.cover import Coverage, coverage_of
from evidencebench.query import AspectScope, Kind
from evidencebench.scoring.selection import Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class PickCounts:
    """How many selected sentences are of each sort, in expectation where chance draws among sentences.

    Attributes
    ----------
    new
        State an aspect that counts and that no earlier one states.
    redundant
        State aspects that count, all of which earlier ones state: they add nothing.
    heading
        State no aspect that counts, and are headings.
    no_evidence
        State no aspect that counts, and are no headings.
    """

    new: float = 0.0
    redundant: float = 0.0
    heading: float = 0.0
    no_evidence: float = 0.0

    @property
    def total(self) -> float:
        """How many sentences were selected."""
        return self.new + self.redundant + self.heading + self.no_evidence


def picks_of(cases: Iterable[tuple[Selection, Coverage, frozenset[int]]]) -> PickCounts:
    """Return the picks of several answers together, each given with what its paper's sentences cover and its headings.

    Sentences that are certain are taken in the order of the answer. One that chance draws is compared with the certain
    ones only, and counts as often as it is drawn.

    Examples
    --------
    Sentence 2 states aspect 0, 4 both; 0 is a heading. Of 4 and 5 one is drawn:

    >>> coverage = Coverage(n_aspects=2, masks={2: 0b01, 4: 0b11})
    >>> picks_of([(Selection(certain=(2, 0), tied=(4, 5), n_drawn=1), coverage, frozenset({0}))])
    PickCounts(new=1.5, redundant=0.0, heading=1.0, no_evidence=0.5)
    """
    new = redundant = heading = no_evidence = 0.0
    for selection, coverage, headings in cases:
        masks, covered = coverage.masks, 0
        n_certain, share = len(selection.certain), selection.n_drawn / len(selection.tied) if selection.n_drawn else 0.0
        # In one loop without calls, since a report has millions of picks.
        for place, index in enumerate(selection.certain + selection.tied if share else selection.certain):
            mask, count = masks.get(index, 0), 1.0 if place < n_certain else share
            if mask & ~covered:
                new += count
                if place < n_certain:
                    covered |= mask
            elif mask:
                redundant += count
            elif index in headings:
                heading += count
            else:
                no_evidence += count
    return PickCounts(new=new, redundant=redundant, heading=heading, no_evidence=no_evidence)


def coverages_of(
    instances: Iterable[Instance], scopes: Sequence[AspectScope]
) -> dict[AspectScope, dict[str, tuple[Coverage, frozenset[int]]]]:
    """Return by scope and instance id what the sentences cover, and which are headings, where any aspect counts."""
    found: dict[AspectScope, dict[str, tuple[Coverage, frozenset[int]]]] = {scope: {} for scope in scopes}
    for instance in instances:
        headings = frozenset(instance.query.indices_of(Kind.HEADING))
        for scope in scopes:
            if instance.labels.that_count(scope):
                found[scope][instance.id] = coverage_of(instance.labels, scope), headings
    return found
