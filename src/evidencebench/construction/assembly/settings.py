"""What decides a data set, besides its drafts and papers, and what is reported of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Literal

from evidencebench.construction.assembly.losses import StepLosses

SplitBy = Literal["both", "paper"]
"""What may not stand in two splits: papers and reviews, or papers alone."""

DEFAULT_SHARES: Mapping[str, Fraction] = {"train": Fraction(8, 10), "dev": Fraction(1, 10), "test": Fraction(1, 10)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblySettings:
    """What decides a data set.

    ``name`` begins the ids of the instances, as in ``tea_dev_id_4``. ``shares`` are the wanted parts of the instances
    by split; they add up to 1. ``made_on`` is the day that the datasheet names.
    """

    name: str
    made_on: date
    shares: Mapping[str, Fraction] = field(default_factory=lambda: DEFAULT_SHARES)
    split_by: SplitBy = "both"
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCounts:
    """How large a split is, and its wanted and reached share of all instances."""

    n_instances: int
    n_papers: int
    n_reviews: int
    wanted: float
    reached: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyReport:
    """What was made: ``steps`` are all steps from the first one known, ``assemble`` included.

    ``splits`` has all wanted splits, also those that got no instance and so have no file. ``warnings`` are whole
    sentences; ``unproven`` has, by instance id, the tasks whose optimum is not proven.
    """

    folder: str
    n_instances: int
    steps: tuple[StepLosses, ...]
    splits: Mapping[str, SplitCounts]
    warnings: tuple[str, ...]
    unproven: Mapping[str, tuple[str, ...]]
