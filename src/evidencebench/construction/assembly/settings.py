"""What decides a data set, besides its drafts and papers, and what is reported of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Literal

from evidencebench.construction.assembly.losses import StepLosses
from evidencebench.errors import DataError
from evidencebench.tables import printable

SplitBy = Literal["both", "paper"]
"""What may not stand in two splits: papers and reviews, or papers alone."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_SPLIT = re.compile(r"[a-z0-9][a-z0-9_]{0,49}")
_TAKEN = "manifest"  # a file of the data set's folder

DEFAULT_SHARES: Mapping[str, Fraction] = {"train": Fraction(8, 10), "dev": Fraction(1, 10), "test": Fraction(1, 10)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblySettings:
    """What decides a data set. Raises `DataError` for a name that no file could have, and for shares that miss 1."""

    name: str  # begins the ids of the instances, as in ``tea_dev_id_4``
    made_on: date  # that the datasheet names
    shares: Mapping[str, Fraction] = field(default_factory=lambda: DEFAULT_SHARES)
    split_by: SplitBy = "both"
    seed: int = 0

    def __post_init__(self) -> None:
        if wrong := wrong_with_name(self.name) or wrong_with_shares(self.shares):
            raise DataError(wrong)


def wrong_with_name(name: str) -> str:
    """Return what is wrong with the name of a data set, which begins ids; an empty text where nothing is."""
    return "" if _NAME.fullmatch(name) else f"name: expected letters, digits, '_', '.' or '-', got '{printable(name)}'"


def wrong_with_shares(shares: Mapping[str, Fraction]) -> str:
    """Return what is wrong with the shares of splits, whose names are those of files; an empty text where nothing is.

    >>> wrong_with_shares({"train": Fraction(8, 10), "test": Fraction(1, 10)})
    'shares: expected shares that add up to 1, got 0.9: train=0.8,test=0.1'
    """
    for split in shares:
        if not _SPLIT.fullmatch(split) or split == _TAKEN:
            return f"shares: expected splits named with small letters, digits or '_', got '{printable(split)}'"
    if sum(shares.values()) == 1 and min(shares.values()) >= 0:
        return ""
    told = ",".join(f"{split}={float(share):g}" for split, share in shares.items())
    return f"shares: expected shares that add up to 1, got {float(sum(shares.values())):g}: {told}"


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
    """What was made."""

    folder: str
    n_instances: int
    steps: tuple[StepLosses, ...]  # all from the first one known, ``assemble`` included
    splits: Mapping[str, SplitCounts]  # all wanted ones, also those that got no instance and so have no file
    warnings: tuple[str, ...]  # whole sentences
    unproven: Mapping[str, tuple[str, ...]]  # by instance id: the tasks whose optimum is not proven
