"""The command line as tests call it."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from doors import CATALOG
from evidencebench import Instance, load_sample
from kit.patience import MOST_SECONDS

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
from pathlib import Path
from evidencebench import Ranking, Traits, load_sample

@dataclass(frozen=True)
class Slow:
    name: str = "slow"
    seconds: float = 0.0
    fails: bool = False
    def rank(self, query, task):
        time.sleep(float(Path("seconds").read_text()) if Path("seconds").exists() else self.seconds)
        if self.fails:
            raise ConnectionError("the server is down")
        return Ranking(sentences=(0, 1))

def hopeless():
    raise KeyError("no such model")

class Trained:
    traits = Traits(trained_on=lambda: [load_sample().sha256])
    def rank(self, query, task):
        return Ranking(sentences=tuple(range(len(query.sentences))))
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

    @property
    def done(self) -> str:
        """What it printed, on one line; fails where it did not end well."""
        assert self.code == 0, self.err
        return " ".join(self.out.split())

    @property
    def refusal(self) -> str:
        """Why it refused to work, on one line; fails where it worked, or printed anything else."""
        assert (self.code, self.out) == (2, ""), self.err
        return " ".join(self.err.split())


Command = Callable[..., Outcome]
"""Runs ``evidencebench`` with the arguments in a text, and another text as standard input.

A word in braces, as ``{word}``, is kept with its spaces.
"""


def drawn_in(path: str) -> list[str]:
    """Return the titles and texts of a picture."""
    root = ET.fromstring(Path(path).read_text(encoding="utf-8"))  # noqa: S314 - a file of our own
    return [part.text or "" for part in root.iter() if part.tag.rpartition("}")[2] in {"title", "text"}]


def until(is_so: Callable[[], object], process: subprocess.Popen[str] | None = None) -> None:
    """Wait until something is so; fails where a process that must last has ended."""
    ends_at = time.monotonic() + MOST_SECONDS
    while not is_so():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < ends_at
        time.sleep(0.005)


def until_told(process: subprocess.Popen[str], words: str) -> None:
    """Read the lines of a process's messages until one has these words."""
    assert process.stderr is not None
    told: list[str] = []
    while not told or words not in told[-1]:
        told.append(process.stderr.readline())
        assert told[-1], told


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start the command line as a process of its own."""
    words = [sys.executable, "-m", "evidencebench", *arguments]
    return subprocess.Popen(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
