"""What decides a data set besides its drafts and papers: ``construction.toml``, settings."""

import re
import tomllib
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from evidencebench.construction.harvest.references import KNOWN
from evidencebench.construction.judge import JudgeSettings, Share
from evidencebench.construction.losses import LEAST_COVERED
from evidencebench.decoding import prepared
from evidencebench.errors import DataError, FormatError, SystemSpecError
from evidencebench.files.disk import read_text
from evidencebench.tables import printable

SplitBy = Literal["both", "paper"]
"""What may not stand in two splits: papers and reviews, or papers alone."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")

_Split = Annotated[str, msgspec.Meta(pattern=r"^(?!manifest\Z)[a-z0-9][a-z0-9_]{0,49}\Z")]  # names a file, but not that


def checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise DataError(f"name: expected letters, digits, '_', '.' or '-', got '{printable(name)}'")
    return name


class FilterTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    least_covered: Share = LEAST_COVERED


class AssemblySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    shares: dict[_Split, Share] = msgspec.field(default_factory=lambda: {"train": 0.8, "dev": 0.1, "test": 0.1})
    split_by: SplitBy = "both"
    seed: int = 0
    against: list[str] = []
    made_on: date | None = None  # the day that the datasheet names; None: today

    def __post_init__(self) -> None:
        if (total := sum(self.fractions.values())) != 1:
            listed = ",".join(f"{split}={share:g}" for split, share in self.shares.items())
            raise DataError(f"shares: expected shares that add up to 1, got {float(total):g}: {listed}")

    @property
    def fractions(self) -> dict[str, Fraction]:
        return {split: Fraction(str(share)) for split, share in self.shares.items()}  # as written in decimals


class ConfigFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of the file. ``reviews`` are files or folders of reviews; ``table``, one of summaries instead."""

    name: str
    papers: str
    model: str
    work: str = "work"
    reviews: list[str] = []
    table: str | None = None
    licences: list[str] | None = None
    judge: JudgeSettings = JudgeSettings()
    filter: FilterTable = FilterTable()
    assemble: AssemblySettings = AssemblySettings()


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


def read_config(path: Path) -> Config:
    return parse_config(read_text(path), path)


def parse_config(text: str, path: Path) -> Config:
    try:
        file = msgspec.convert(tomllib.loads(text), prepared(ConfigFile))
        checked_name(file.name)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise FormatError(f"{path}: {error}; 'evidencebench construct init' writes a configuration") from error
    except (SystemSpecError, DataError) as error:
        raise FormatError(f"{path}: {error}") from error
    if bool(file.reviews) == bool(file.table):
        raise FormatError(f"{path}: expected 'reviews' or 'table', and not both")
    if file.licences is not None and (not file.licences or {*file.licences} - {*KNOWN}):
        raise FormatError(f"{path}: licences: expected one or more of {', '.join(KNOWN)}, got {file.licences}")
    return Config(file=file, folder=path.parent)
