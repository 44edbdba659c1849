"""`construct init`: the configuration is written with every key, and never waits for an answer that cannot come."""

import os
import pty
import subprocess
import sys
import tomllib
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from doors import ConfigFile, read_config
from kit.command_line import Command

INIT = "construct init tea --model openai/gpt-4o-mini --yes"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no key of any provider."""
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)


def test_what_is_written_is_the_defaults_and_has_every_key_explained(command: Command) -> None:
    assert command(INIT).code == 0
    found = read_config(Path("tea/construction.toml")).file
    assert found == ConfigFile(name="tea", papers="papers", model=found.model, reviews=["reviews"])
    lines = Path("tea/construction.toml").read_text().splitlines()
    keys = {field.name for field in msgspec.structs.fields(ConfigFile)}
    keys |= {field.name for table in ("judge", "filter", "assemble") for field in _fields(found, table)}
    for key in keys:
        places = [n for n, line in enumerate(lines) if line.lstrip("# ").startswith((f"{key} =", f"[{key}]"))]
        assert places, key
        assert all(lines[n].startswith("[") or lines[n - 1].startswith("# ") for n in places), key
    assert max(map(len, lines)) <= 80
    uncommented = "\n".join(line[2:] if line.startswith("# ") and " = " in line else line for line in lines)
    assert tomllib.loads(uncommented)["judge"]["second_model"] == "provider/name", "examples are TOML too"


def _fields(file: ConfigFile, table: str) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(getattr(file, table))


@pytest.mark.parametrize("text", ['a "quoted" \\ name', "l\u00ednea\n2\t\x7f\u2028", "'''"])
def test_any_text_is_read_back(text: str, command: Command) -> None:
    assert command(f"{INIT} --papers {{{text}}} --reviews {{{text}}} --reviews {{{text}}}").code == 0
    found = tomllib.loads(Path("tea/construction.toml").read_text(encoding="utf-8"))
    assert (found["papers"], found["reviews"]) == (text, [text, text])


def test_defaults_are_what_is_there(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("My reviews").mkdir()
    Path("My reviews/summaries.tsv").write_text("")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-0123456789")
    found = command("construct init {My reviews} --license cc0 --json")
    assert (found.json["missing"], found.json["has_key"], found.err) == ([], True, "")
    file = read_config(Path("My reviews/construction.toml")).file
    assert (file.name, file.table, file.reviews) == ("my_reviews", "summaries.tsv", [])
    assert (file.model.partition("/")[0], file.licences) == ("anthropic", ["cc0"])


def test_what_lacks_is_told_and_nothing_is_replaced_unasked(command: Command) -> None:
    found = command("construct init tea")
    assert found.code == 0
    assert "warning: tea/reviews: is not there yet" in found.err
    assert "warning: OPENAI_API_KEY is not set" in found.err
    assert "next: evidencebench construct run tea/construction.toml --fetch --limit 20" in found.done
    assert "tea/construction.toml: exists" in command("construct init tea --name coffee").refusal
    assert command("construct init tea --name coffee --overwrite").code == 0
    assert read_config(Path("tea/construction.toml")).file.name == "coffee"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--reviews a --table b.csv", "expected --reviews or --table, not both"),
        ("--name ../tea", "'../tea'"),
        ("--model gpt", "provider/name"),
        ("--license gpl", "'gpl' is not one of 'cc0'"),
    ],
)
def test_wrong_answers_are_refused_and_leave_nothing(command: Command, arguments: str, message: str) -> None:
    assert message in command(f"construct init tea {arguments}").refusal
    assert not Path("tea").exists()


def test_a_terminal_is_asked() -> None:
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "evidencebench", "construct", "init", "tea", "--papers", "cited"]
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, b"green\nsummaries.csv\nopenai/gpt-5\n0.8\ncc0, cc-by\n")
        with suppress(OSError):  # the terminal is gone with the process
            while os.read(ours, 1 << 16):
                pass
    os.close(ours)
    assert process.returncode == 0
    file = read_config(Path("tea/construction.toml")).file
    assert (file.name, file.table, file.papers, file.model) == ("green", "summaries.csv", "cited", "openai/gpt-5")
    assert file.licences == ["cc0", "cc-by"]
