"""What decides a data set besides its drafts and papers: ``construction.toml``, settings."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from evidencebench.construction.harvest.references import KNOWN
from evidencebench.construction.judge import JudgeSettings
from evidencebench.construction.losses import LEAST_COVERED
from evidencebench.errors import DataError, FormatError, SystemSpecError
from evidencebench.files.disk import read_text
from evidencebench.tables import printable

SplitBy = Literal["both", "paper"]
"""What may not stand in two splits: papers and reviews, or papers alone."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_SPLIT = re.compile(r"[a-z0-9][a-z0-9_]{0,49}")

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
        checked_name(self.name)
        checked_shares(self.shares)


def checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise DataError(f"name: expected letters, digits, '_', '.' or '-', got '{printable(name)}'")
    return name


def checked_shares(shares: Mapping[str, Fraction]) -> Mapping[str, Fraction]:
    """Return the shares of splits, whose names are those of files; raises `DataError` where something is wrong."""
    for split in shares:
        if not _SPLIT.fullmatch(split) or split == "manifest":  # a file of the data set's folder
            raise DataError(
                f"shares: expected splits named with small letters, digits or '_', got '{printable(split)}'"
            )
    if sum(shares.values()) != 1 or min(shares.values()) < 0:
        listed = ",".join(f"{split}={float(share):g}" for split, share in shares.items())
        raise DataError(f"shares: expected shares that add up to 1, got {float(sum(shares.values())):g}: {listed}")
    return shares


class JudgeTable(JudgeSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table ``[judge]``."""

    model: str | None = None  # None: the model of the other steps
    second_model: str | None = None


_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class FilterTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    least_covered: _Share = LEAST_COVERED


class AssembleTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    shares: dict[str, _Share] = msgspec.field(
        default_factory=lambda: {split: float(share) for split, share in DEFAULT_SHARES.items()}
    )
    split_by: SplitBy = "both"
    seed: int = 0
    against: list[str] = []
    made_on: date | None = None  # the day that the datasheet names; None: today


class ConfigFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of the file. ``reviews`` are files or folders of reviews; ``table``, one of summaries instead."""

    name: str
    papers: str
    model: str
    work: str = "work"
    reviews: list[str] = []
    table: str | None = None
    licences: list[str] | None = None
    judge: JudgeTable = JudgeTable()
    filter: FilterTable = FilterTable()
    assemble: AssembleTable = AssembleTable()


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    file: ConfigFile
    folder: Path  # that the paths of the file are relative to

    @property
    def work(self) -> Path:
        return self.folder / self.file.work

    @property
    def papers(self) -> Path:
        return self.folder / self.file.papers

    def assembly_settings(self, today: date) -> AssemblySettings:
        table = self.file.assemble
        return AssemblySettings(
            name=self.file.name,
            made_on=table.made_on or today,
            shares={split: Fraction(str(share)) for split, share in table.shares.items()},  # as written in decimals
            split_by=table.split_by,
            seed=table.seed,
        )


def read_config(path: Path) -> Config:
    return parse_config(read_text(path), path)


def parse_config(text: str, path: Path) -> Config:
    try:
        file = msgspec.convert(tomllib.loads(text), ConfigFile)
        config = Config(file=file, folder=path.parent)
        config.assembly_settings(date.min)  # is checked
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise FormatError(f"{path}: {error}; 'evidencebench construct init' writes a configuration") from error
    except (SystemSpecError, DataError) as error:
        raise FormatError(f"{path}: {error}") from error
    if bool(file.reviews) == bool(file.table):
        raise FormatError(f"{path}: expected 'reviews' or 'table', and not both")
    if file.licences is not None and (not file.licences or {*file.licences} - {*KNOWN}):
        raise FormatError(f"{path}: licences: expected one or more of {', '.join(KNOWN)}, got {file.licences}")
    return config
