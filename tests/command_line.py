"""The command line as tests call it."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from evidencebench import Instance, load_sample
from evidencebench.data.catalog import CATALOG

SAMPLE = load_sample()


def as_many_as(name: str) -> list[Instance]:
    """Give the sample's instances, over and over, as many as the catalogue says that a data set holds."""
    n = CATALOG[name].n_instances
    several = [(number, SAMPLE[number % len(SAMPLE)]) for number in range(n)]
    return [replace(one, query=replace(one.query, instance_id=f"{one.id}_{number}")) for number, one in several]


KEY = "sk-evidence-0123456789-abcdefghijklmnop"
PRICES = {"as_of": "2026-11-01", "models": {"local/*": {"input": 1.0, "output": 4.0}}}


FORMATS = ("text", "markdown", "csv", "latex")


OWN_CODE = """
import time
from dataclasses import dataclass, replace
from pathlib import Path
from evidencebench import Ranking

@dataclass(frozen=True)
class Slow:
    name: str = "slow"
    seconds: float = 0.0
    fails: bool = False
    def rank(self, query, brief):
        time.sleep(self.seconds)
        if self.fails:
            raise ConnectionError("the server is down")
        return Ranking(sentences=(0, 1))

def hopeless():
    raise KeyError("no such model")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one call of the command line did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code in {0, 1}, self.err
        return json.loads(self.out)


Command = Callable[[str], Outcome]


"""Runs ``evidencebench`` with the arguments in a text; a word in braces, as ``{word}``, is kept with its spaces."""


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start the command line as a process of its own."""
    words = [sys.executable, "-m", "evidencebench", *arguments]
    return subprocess.Popen(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
