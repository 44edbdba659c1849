"""The query controls: the same system asked changed queries, to measure what of its answers the hypothesis decides."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import get_args

import numpy as np

from evidencebench.data.dataset import Dataset
from evidencebench.data.hypotheses import read_hypotheses
from evidencebench.errors import RunMismatchError, UnreadableError
from evidencebench.execution.changes import Changes
from evidencebench.runs.header import ControlHeader, ControlName
from evidencebench.storage.reading import file_sha256
from evidencebench.systems.changed_queries import draw_strangers, shuffle_words
from evidencebench.systems.derangement import derange_hypotheses
from evidencebench.wording import did_you_mean

QUERY_CONTROLS: Mapping[ControlName, str] = MappingProxyType(
    {
        "wrong_hypothesis": "another paper's hypothesis",
        "two_papers": "another paper's sentences before or behind the own ones",
        "negated": "the hypothesis negated, from a file",
        "paraphrased": "the hypothesis in other words, from a file",
        "shuffled_words": "the words of the hypothesis in another order",
    }
)
"""Every query control, and what each paper is asked instead of its own query."""

FROM_FILE = ("negated", "paraphrased")
"""The controls whose hypotheses come from a file, since code cannot write them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryControl:
    """A query control, with the file of hypotheses where it needs one."""

    name: ControlName
    file: Path | None = None

    def __str__(self) -> str:
        return self.name if self.file is None else f"{self.name}={self.file}"

    @property
    def header(self) -> ControlHeader:
        """The control as the header of a run holds it."""
        if self.file is None:
            return ControlHeader(name=self.name)
        return ControlHeader(name=self.name, path=str(self.file), sha256=file_sha256(self.file))


def query_control(given: str | QueryControl) -> QueryControl:
    """Return the control that a text names: ``wrong_hypothesis``, or with its file ``negated=negated.jsonl``."""
    if isinstance(given, QueryControl):
        return given
    name, _, file = given.partition("=")
    if name not in get_args(ControlName):
        raise ValueError(
            f"no query control '{name}'{did_you_mean(name, QUERY_CONTROLS)}; expected one of "
            f"{', '.join(QUERY_CONTROLS)}"
        )
    if (name in FROM_FILE) != bool(file):
        if file:
            raise ValueError(f"query control '{name}' takes no file, got '{file}'")
        raise ValueError(
            f"query control '{name}' needs a file of hypotheses: {name}=FILE; 'evidencebench llm rewrite {name}' "
            "writes one"
        )
    return QueryControl(name=name, file=Path(file) if file else None)  # type: ignore[arg-type] # checked above


def control_of(header: ControlHeader | None) -> QueryControl | None:
    """Return the control in a run's header; raises `RunMismatchError` if its file of hypotheses is another one now."""
    if header is None or header.path is None:
        return None if header is None else QueryControl(name=header.name)
    control = QueryControl(name=header.name, file=Path(header.path))
    try:
        if control.header.sha256 == header.sha256:
            return control
    except OSError as error:
        raise UnreadableError(f"{header.path}: cannot be read: {error.strerror}") from error
    raise RunMismatchError(f"{header.path}: has changed since the run was made, so what was asked is not known")


def changes_of(control: QueryControl | None, dataset: Dataset, seed: int, limit: int | None = None) -> Changes | None:
    """Return what a control changes in a data set, drawn over all of it whatever the limit; None without a control."""
    if control is None:
        return None
    generator = np.random.default_rng(seed)
    match control.name:
        case "wrong_hypothesis":
            return Changes(hypotheses=derange_hypotheses(dataset.queries(), generator))
        case "two_papers":
            return Changes(strangers=draw_strangers(dataset.queries(), generator))
        case "shuffled_words":
            return Changes(hypotheses=shuffle_words(dataset.queries(), generator))
    if control.file is None:
        raise ValueError(f"query control '{control.name}' needs a file of hypotheses")
    return Changes(hypotheses=read_hypotheses(control.file, dataset, limit))
