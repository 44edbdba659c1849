"""The configuration of a construction: a TOML file that names everything that decides the data set."""

from datetime import date
from typing import Literal

import msgspec


class JudgeTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table ``[judge]``: the options of ``construct judge``."""

    model: str | None = None  # None: the model of all steps
    window: int = 10
    overlap: int = 5
    at_once: bool = False
    votes: int = 1
    share: float = 1.0
    second_model: str | None = None


class FilterTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table ``[filter]``."""

    least_covered: float = 0.7


class AssembleTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table ``[assemble]``: the options of ``construct assemble``."""

    shares: dict[str, float] = {"train": 0.8, "dev": 0.1, "test": 0.1}
    split_by: Literal["both", "paper"] = "both"
    seed: int = 0
    against: list[str] = []
    date: date


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A configuration; paths are relative to its file."""

    name: str
    work: str
    papers: str
    model: str
    assemble: AssembleTable
    reviews: list[str] = []
    table: str | None = None
    licenses: list[str] | None = None
    judge: JudgeTable = JudgeTable()
    filter: FilterTable = FilterTable()
