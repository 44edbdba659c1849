"""The controls: systems that are scored beside every run, so that its score can be judged. This is their only list."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from evidencebench.data.oracle import Oracle
from evidencebench.runs.run import RunFile
from evidencebench.system import KnowingSystem, NamedSystem, System, traits_of
from evidencebench.systems.controls import AbstractBackwards, Lead, RandomControl


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    name: str
    system: System | KnowingSystem  # made here rather than by `make_system`, which imports every system there is
    short_name: str  # where there is little room
    letter: str  # its mark in charts made of characters
    meaning: str  # its description in the report
    is_shown_in_papers: bool = True

    @property
    def knows_labels(self) -> bool:
        return traits_of(self.system).knows_labels

    @property
    def named(self) -> NamedSystem:
        return NamedSystem(name=self.name, options={}, system=self.system)


_ALL = (
    Control(
        name="random",
        system=RandomControl(),
        short_name="random",
        letter="r",
        meaning="random sentences (the exact expectation)",
        is_shown_in_papers=False,  # it selects every sentence with a small probability, which cannot be shown
    ),
    Control(name="lead", system=Lead(), short_name="lead", letter="l", meaning="the first sentences of the paper"),
    Control(
        name="abstract_backwards",
        system=AbstractBackwards(),
        short_name="abstract",
        letter="a",
        meaning="the abstract, last sentence first",
    ),
    Control(
        name="oracle",
        system=Oracle(),
        short_name="ceiling",
        letter="^",
        meaning="the ceiling: the best selection, by the labels",
    ),
)
CONTROLS: Mapping[str, Control] = MappingProxyType({control.name: control for control in _ALL})


def knows_labels(run: RunFile) -> bool:
    return run.header is not None and run.header.knows_labels
