"""Own code as users name it, hand_made and Counting joined by a colon: apart, so that a process imports little else."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from evidencebench import Query, Ranking, RankingTask


def note(log: str, line: str) -> None:
    with Path(log).open("a") as file:
        file.write(f"{line}\n")


def first_words(query: Query) -> Ranking:
    """Answer by something that depends on the hypothesis and the paper."""
    return Ranking(sentences=(len(query.hypothesis) % len(query.sentences), 3), scores=(0.5, 0.25))


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """Notes what it is asked, and fails while a file stands beside its log."""

    log: str
    fails_on: str = ""
    seconds: float = 0.0

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        note(self.log, query.instance_id)
        time.sleep(self.seconds)
        if query.instance_id == self.fails_on and Path(f"{self.log}.down").exists():
            raise ConnectionError("the server is down")
        return first_words(query)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dying:
    """Takes its process with it at some instances, named with a plus between them, unless a file is there."""

    at: str
    unless: str = "nowhere"

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        if query.instance_id in self.at.split("+") and not Path(self.unless).exists():
            os._exit(3)
        return Ranking(sentences=(0, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class OnGPU:
    """Notes, when it is made, which GPUs it may use, as a model that is loaded onto one."""

    log: str

    def __post_init__(self) -> None:
        note(self.log, os.environ.get("CUDA_VISIBLE_DEVICES", "none"))

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        time.sleep(0.05)
        return first_words(query)
