"""The configuration of a construction: a TOML file that names everything that decides the data set."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import msgspec

from evidencebench.construction.assembly.settings import (
    DEFAULT_SHARES,
    AssemblySettings,
    SplitBy,
    wrong_with_name,
    wrong_with_shares,
)
from evidencebench.construction.filtering import LEAST_COVERED
from evidencebench.construction.harvest.licences import KNOWN
from evidencebench.construction.steps.judge import JudgeSettings
from evidencebench.errors import FormatError
from evidencebench.storage.text_file import read_text


class JudgeTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table ``[judge]``: the options of ``construct judge``."""

    model: str | None = None  # None: the model of the other steps
    second_model: str | None = None
    window: int = 10
    overlap: int = 5
    at_once: bool = False
    votes: int = 1

    @property
    def settings(self) -> JudgeSettings:
        """How papers are judged."""
        return JudgeSettings(window=self.window, overlap=self.overlap, at_once=self.at_once, votes=self.votes)


class FilterTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table ``[filter]``."""

    least_covered: float = LEAST_COVERED


class AssembleTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table ``[assemble]``: the options of ``construct assemble``."""

    shares: dict[str, Annotated[float, msgspec.Meta(ge=0, le=1)]] = msgspec.field(
        default_factory=lambda: {split: float(share) for split, share in DEFAULT_SHARES.items()}
    )
    split_by: SplitBy = "both"
    seed: int = 0
    against: list[str] = []
    made_on: date | None = None  # the day that the datasheet names; None: today

    @property
    def exact_shares(self) -> Mapping[str, Fraction]:
        """The shares as they are written in decimals."""
        return {split: Fraction(str(share)) for split, share in self.shares.items()}


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
    """A configuration, and the folder that its paths are relative to."""

    file: ConfigFile
    folder: Path

    @property
    def work(self) -> Path:
        """The work folder."""
        return self.folder / self.file.work

    @property
    def papers(self) -> Path:
        """The folder of the papers."""
        return self.folder / self.file.papers

    def assembly_settings(self, today: date) -> AssemblySettings:
        """Return what decides the data set, besides its drafts."""
        table = self.file.assemble
        return AssemblySettings(
            name=self.file.name,
            made_on=table.made_on or today,
            shares=table.exact_shares,
            split_by=table.split_by,
            seed=table.seed,
        )


def read_config(path: Path) -> Config:
    """Return the configuration in a file; raises `FormatError` where keys are wrong or do not fit one another."""
    try:
        file = msgspec.convert(tomllib.loads(read_text(path)), ConfigFile)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise FormatError(f"{path}: {error}; docs/construction.md shows a configuration") from error
    if wrong := _wrong_with(file):
        raise FormatError(f"{path}: {wrong}")
    return Config(file=file, folder=path.parent)


def _wrong_with(file: ConfigFile) -> str:
    judge = file.judge
    checks = {
        "expected 'reviews' or 'table', and not both": bool(file.reviews) != bool(file.table),
        f"judge: expected an overlap of 0 to below the window of {judge.window}, got {judge.overlap}": (
            0 <= judge.overlap < judge.window
        ),
        f"licences: expected one or more of {', '.join(KNOWN)}, got {file.licences}": (
            file.licences is None or {*file.licences} - {*KNOWN} == set() != {*file.licences}
        ),
        f"judge: expected 1 vote or more, got {judge.votes}": judge.votes >= 1,
        f"filter: expected least_covered in 0 to 1, got {file.filter.least_covered:g}": (
            0 <= file.filter.least_covered <= 1
        ),
    }
    failed = next((wrong for wrong, is_right in checks.items() if not is_right), "")
    return failed or wrong_with_name(file.name) or wrong_with_shares(file.assemble.exact_shares)
