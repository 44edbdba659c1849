"""The files of a new package with one system, which `evidencebench systems new` writes."""

import importlib.util
import keyword
import re

from evidencebench.errors import SystemSpecError
from evidencebench.execution.system_table import SYSTEMS
from evidencebench.version import __version__

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

_FILES = {
    "pyproject.toml": """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "NAME"
version = "0.1.0"
description = "A system for evidencebench: which sentences of a paper are evidence."
requires-python = ">=3.11"
dependencies = ["evidencebench>=VERSION"]

# The name by which evidencebench finds the system, and where it is.
[project.entry-points."evidencebench.systems"]
NAME = "MODULE.ranking:CLASS"
""",
    "README.md": """\
# NAME

```sh
pip install --editable .
evidencebench systems                                  # lists NAME with its options
evidencebench run NAME:weight=2 --data sample -o NAME.jsonl
evidencebench score NAME.jsonl --data sample
python -m pytest                                       # needs pytest
```

The system is `src/MODULE/ranking.py`. What it is given and may return:
docs/systems.md of evidencebench, section "A system of your own".
""",
    "src/MODULE/__init__.py": '''\
"""A system for evidencebench."""
''',
    "src/MODULE/ranking.py": '''\
"""Ranks the sentences of a paper by the words that they share with the hypothesis."""

from dataclasses import dataclass

from evidencebench import Brief, Query, Ranking, rank_by_score


@dataclass(frozen=True, kw_only=True)
class CLASS:
    """Sentences that share words with the hypothesis.

    The fields are the options: ``NAME:weight=2``.
    """

    weight: float = 1.0

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return all sentences, best first."""
        words = set(query.hypothesis.lower().split())
        shared = [len(words & set(sentence.lower().split())) for sentence in query.sentences]
        return rank_by_score([self.weight * n for n in shared], query)
''',
    "tests/test_ranking.py": '''\
"""The system answers, under its name, every query of the sample."""

from evidencebench import Brief, load_sample, make_system


def test_every_sentence_is_ranked_once() -> None:
    system = make_system("NAME")
    for instance in load_sample():
        found = system.rank(instance.query, Brief(budget=10))
        assert sorted(found.sentences) == list(range(len(instance.query.sentences)))
''',
}


def require_new_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise SystemSpecError(f"'{name}': expected small letters, digits and single -, as in my-ranker")
    if name in SYSTEMS:
        raise SystemSpecError(f"'{name}': there is a system of this name; choose another")
    module = name.replace("-", "_")
    if keyword.iskeyword(module) or importlib.util.find_spec(module) is not None:
        raise SystemSpecError(f"'{name}': '{module}' is a module or a word of Python already; choose another name")


def plugin_files(name: str) -> dict[str, str]:
    values = {
        "NAME": name,
        "MODULE": name.replace("-", "_"),
        "CLASS": "".join(part.capitalize() for part in name.split("-")),
        "VERSION": __version__,
    }

    def filled(text: str) -> str:
        return re.sub("|".join(values), lambda match: values[match[0]], text)

    return {filled(path): filled(text) for path, text in _FILES.items()}
