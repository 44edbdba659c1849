"""Settings, which many commands share: where they come from, which of them wins, and what is refused."""

import re
from pathlib import Path

import pytest

from doors import NAMES
from kit.command_line import Command

SCORE = "score bm25.jsonl --data sample --task er_at_10 --json"


@pytest.fixture(autouse=True)
def _scored(command: Command) -> None:
    assert command("run bm25 --data sample -o bm25.jsonl").code == 0


def width(command: Command, more: str = "") -> float:
    """Return the width of an interval, which grows with its level."""
    found = command(f"{SCORE} {more}").json["er_at_10"]["aspect_recall"]
    width: float = found["high"] - found["low"]
    return width


def test_a_setting_is_taken_from_the_call_then_the_environment_then_the_file(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_default = width(command)
    Path("evidencebench.toml").write_text("level = 0.8\nprices = 'of other commands.json'\n")
    in_file = width(command)
    monkeypatch.setenv("EVIDENCEBENCH_LEVEL", "0.5")
    in_environment = width(command)
    assert by_default > in_file > in_environment > width(command, "--set level=0.2")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("levl = 0.9", r"evidencebench\.toml: no setting 'levl' \(did you mean 'level'\?\)"),
        ("level = [0.9]", r"evidencebench\.toml: level: expected a number or a text"),
        ("level 0.9", r"evidencebench\.toml: expected settings"),
        ("level = 2", r"level \(evidencebench\.toml\): 2\.0 is not in the range"),
        ("draws = 10.5", r"draws \(evidencebench\.toml\): '10\.5' is not a valid"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(content: str, told: str, command: Command) -> None:
    Path("evidencebench.toml").write_text(content)
    refused = command(SCORE)
    assert refused.code == 2
    assert re.search(told, refused.err)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("levl=0.9", "no setting 'levl' here (did you mean 'level'?)"),
        ("timeout=3", "no setting 'timeout' here"),
        ("level", "expected NAME=VALUE"),
        ("level=x", "level (--set)"),
        ("ties=none", "ties (--set)"),
    ],
)
def test_what_no_command_takes_is_refused_with_what_it_takes(given: str, told: str, command: Command) -> None:
    refused = command(f"{SCORE} --set {given}")
    assert refused.code == 2
    assert told in " ".join(refused.err.split())


def test_all_settings_are_listed_with_the_value_that_counts(command: Command) -> None:
    Path("evidencebench.toml").write_text("draws = 100\n")
    listed = {one["name"]: one for one in command("settings --json").json}
    assert set(listed) == set(NAMES)
    assert (listed["draws"]["value"], listed["draws"]["from"]) == ("100", "evidencebench.toml")
    assert (listed["level"]["value"], listed["level"]["from"]) == (0.95, "default")
    assert "score" in listed["level"]["commands"]
    assert "draws=100" in command("settings").out
