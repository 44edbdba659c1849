"""How far a command is: on one line however narrow the terminal, and now and then where there is none."""

import re
import time
from collections.abc import Callable

import pytest

from doors import progress
from kit.command_line import until

LONG = "llm_base:model=local/a-model-with-a-long-name,base_url=http://127.0.0.1:8123/v1,temperature=0.7,max_tokens=1024"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)


def frames(shown: str) -> list[str]:
    """Give what stood on each line of the terminal, without colours and movements."""
    return [line for line in re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)) if line.strip()]


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("status", [None, lambda: "12k sent, 10 stored, 0 failed, $0.00012"])
def test_a_bar_is_one_line_that_fits(status: Callable[[], str] | None, capsys: pytest.CaptureFixture[str]) -> None:
    with progress(LONG, "rich", status) as shown:
        shown(3, 10)
    lines = frames(capsys.readouterr().err)
    assert lines
    for line in lines:
        assert len(line.rstrip()) <= 80
        assert re.match(r"llm_.*…", line), "each line begins the bar anew: none is the rest of another"
    assert "3/10" in lines[-1]
    assert status is None or lines[-1].rstrip().endswith(status()), "the specification gives way first"


@pytest.mark.usefixtures("terminal")
def test_what_is_told_stands_above_the_bar_and_stays(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(LONG, "rich") as shown:
        shown(3, 10)
        shown.tell("finishing what was begun; Ctrl-C again ends at once")
    said = capsys.readouterr().err
    assert "finishing what was begun; Ctrl-C again ends at once\n" in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", said)
    before, _, after = said.partition("finishing")
    assert before.endswith(("\x1b[2K", "\r")), "the bar is cleared first"
    assert "\x1b[1A" not in after.partition("llm_")[0], "and drawn again below"


def test_without_a_terminal_a_long_command_says_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []

    def heard() -> bool:
        said.extend(capsys.readouterr().err.splitlines())
        return any("3/10; 7 sent" in line for line in said)

    with progress("asking", "auto", lambda: "7 sent", silent_seconds=0.01) as shown:
        until(lambda: "asking: working; 7 sent" in capsys.readouterr().err)
        shown(3, 10)
        until(heard)


@pytest.mark.parametrize("style", ["auto", "none"])
def test_a_short_or_silent_command_says_nothing(style: str, capsys: pytest.CaptureFixture[str]) -> None:
    silent_seconds = 30.0 if style == "auto" else 0.001
    with progress("asking", style, silent_seconds=silent_seconds) as shown:
        shown(3, 10)
        time.sleep(0.02)
        shown(10, 10)
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    ("style", "last"), [("plain", "training: fitting trees 6/6"), ("rich", "training: fitting trees ━━")]
)
def test_work_of_several_parts_says_which_is_done(style: str, last: str, capsys: pytest.CaptureFixture[str]) -> None:
    with progress("training", style) as shown:
        shown(10, 10)
        shown(3, 6, "fitting trees")
        shown(6, 6, "fitting trees")
    said = frames(capsys.readouterr().err)
    assert said[-1].startswith(last)
    assert "6/6" in said[-1]


def test_plain_progress_says_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("a\nb", "plain") as shown:
        shown(3, 10)
        shown(10, 10)
        shown.tell("told")
    assert capsys.readouterr().err == "a b: 10/10\ntold\n"
