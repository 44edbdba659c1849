"""Every command that a document or a help shows is one that there is, with options and systems that there are.

Those of console blocks are also run, by `test_docs`, `cli/test_plots` and `cli/test_report_command`; here are those,
too, that would need a key, a network, or the official data.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from doors import TRAININGS, cli, elements, find_code, options_of, parse_specification, unbracketed
from evidencebench import SYSTEMS, task_named

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN_BY_TESTS = {"README.md", "llm.md", "pictures.md", "report.md", "systems.md", "training.md"}
RUN_BY_TESTS |= {"read-papers.md", "build-systems.md", "build-benchmarks.md"}


def shown(text: str) -> Iterator[str]:
    """Yield every command of a document, also those in a sentence, without the program's name."""
    text = re.sub(r"\s*\\\n\s*", " ", text)
    for line in re.findall(r"^\s*(?:\$ )?evidencebench ([a-z-]+ .*|demo)$", text, re.MULTILINE):
        yield re.split(r"  +| < ", line)[0]  # what stands behind is a remark, or what is read
    yield from (re.sub(r"\s+", " ", found) for found in re.findall(r"`evidencebench\s([^`]+)`", text))


COMMANDS = sorted({(path.name, line) for path in DOCUMENTS for line in shown(path.read_text(encoding="utf-8"))})


def called(words: list[str]) -> tuple[click.Command, list[str]]:
    """Return the command that words name, and the words behind its name."""
    command: click.Command = cli
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):  # a group may have options
        found = command.get_command(click.Context(command, **cli.context_settings), words[0])
        assert found is not None, f"there is no command '{words[0]}'"
        command, words = found, words[1:]
    return command, words


@pytest.mark.parametrize(("document", "line"), COMMANDS, ids=lambda value: value[:60])
def test_a_command_that_is_shown_has_a_name_and_options_that_there_are(document: str, line: str) -> None:
    command, words = called(shlex.split(line, comments=True))
    words = [word for word in words if word != "..."]
    context = click.Context(
        command, info_name=document, **cli.context_settings
    )  # a command keeps the option for help that it has first
    parsed, rest, _ = command.make_parser(context).parse_args(words)
    assert not rest, f"{rest} is more than the command takes"
    for given in (parsed.get("task"), parsed.get("tasks")):
        for name in given if isinstance(given, list) else [given] if isinstance(given, str) else []:
            task_named(name)
    for word in words:
        if re.match(r"[a-z_0-9]+:\w+=", word):
            check(word, is_trained=command.name in {"train", "crossval"})


def check(specification: str, *, is_trained: bool = False) -> None:
    """Fail unless a system, and every one in it, takes the options that it is given."""
    asked = parse_specification(specification)
    factory = TRAININGS[asked.name] if is_trained and asked.name in TRAININGS else find_code(asked.name).factory
    known = set(options_of(factory))
    if is_trained and asked.name in SYSTEMS:
        known |= set(options_of(find_code(asked.name).factory))
    assert set(asked.options) <= known, f"{asked.name} has no option {set(asked.options) - known}"
    for name in {"system", "systems"} & set(asked.options):
        for nested in elements(asked.options[name]):
            check(unbracketed(nested))


def test_every_document_that_shows_a_console_is_run_by_a_test() -> None:
    with_console = {path.name for path in DOCUMENTS if "```console\n$ " in path.read_text(encoding="utf-8")}
    assert with_console == RUN_BY_TESTS
