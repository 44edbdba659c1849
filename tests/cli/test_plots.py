"""Pictures in the terminal and in files."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from doors import NEEDED, DataError, MissingExtraError, require_png
from kit.command_line import Command, drawn_in

pytestmark = pytest.mark.usefixtures("runs")

GLYPHS = set(NEEDED) - {"…"}


def test_score_draws_a_row_a_task_with_its_controls(command: Command) -> None:
    arguments = "score bm25.jsonl --data sample --set draws=50"
    shown = command(arguments).out
    fields = command(f"{arguments} --json").json
    header, *rows = shown[shown.index("   0   ") :].partition("\n\n")[0].split("\n")
    assert header.split() == ["0", "25", "50", "75", "100"]
    assert len(fields) == 5
    for task, row in zip(fields, rows[:5], strict=True):
        mean = fields[task]["aspect_recall"]["mean"]
        assert row.startswith(f"{task} ")
        assert row.endswith(f" {100 * mean:.1f}")
        assert sum(row.count(dot) for dot in "●◉") == 1
    assert "r random  l lead  a abstract  ^ ceiling" in shown
    assert "random" not in command(f"{arguments} --no-controls").out
    assert "●" in command(f"{arguments} --no-controls").out


def test_a_leaderboard_draws_a_picture_a_task_in_the_order_of_its_table(command: Command) -> None:
    shown = command("leaderboard bm25.jsonl lead.jsonl --data sample --set draws=50 -t er_at_10 -t er_at_5").out
    blocks = [block.split("\n") for block in shown.split("\n\n")]
    for table, (_, *picture) in ((blocks[0], blocks[1]), (blocks[2], blocks[3])):
        assert [row[:20].strip() for row in picture] == [row[:20].strip() for row in table[3:]]
        assert all(("○" if " *" in row else "●") in row for row in picture)


@pytest.mark.parametrize("arguments", ["score bm25.jsonl", "leaderboard bm25.jsonl lead.jsonl"])
def test_only_text_has_pictures_in_ascii_where_a_terminal_is_not_unicode(arguments: str, command: Command) -> None:
    arguments = f"{arguments} --data sample --set draws=50"
    for form in ("--format csv", "--format markdown", "--format latex", "--json"):
        assert not GLYPHS & set(command(f"{arguments} {form}").out), form
    assert set(command(arguments).out) >= {"●", "├", "┤"}
    program = [sys.executable, "-m", "evidencebench", *arguments.split()]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    shown = subprocess.run(program, capture_output=True, text=True, env=environment, check=True).stdout
    assert ("|-" in shown, "-|" in shown, "\\u" in shown) == (True, True, False)
    assert all(len(line) <= 80 for line in shown.splitlines())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("score bm25.jsonl -t er_at_10", {"bm25 on sample.json", "er_at_10", "bm25", "lead *", "oracle *"}),
        ("score bm25.jsonl -t er_at_10 --no-controls", {"bm25 on sample.json", "er_at_10", "bm25"}),
        ("score bm25.jsonl --curve 5", {"bm25 on sample.json, by budget", "all aspects", "Results aspects", "5"}),
        ("leaderboard bm25.jsonl lead.jsonl", {"er_at_10 on sample.json", "result_er_at_5 on sample.json", "random *"}),
        ("compare bm25.jsonl lead.jsonl", {"bm25 − lead, on sample.json", "0", "← lead better", "bm25 better →"}),
        (
            "compare bm25.jsonl lead.jsonl oracle.jsonl",
            {"Differences on sample.json", "bm25 − oracle, on sample.json", "lead − oracle, on sample.json"},
        ),
    ],
)
def test_plot_writes_a_picture_and_prints_the_same(arguments: str, expected: set[str], command: Command) -> None:
    for form in ("text", "csv"):
        call = f"{arguments} --data sample --set draws=50 --format {form}"
        found = command(f"{call} --plot picture.svg")
        assert (found.code, found.out) == (0, command(call).out)
        assert not found.err or found.err.startswith("system ")  # of the oracle
        assert expected <= set(drawn_in("picture.svg"))
    assert not list(Path().glob("*.part"))


def test_a_picture_shows_the_scores_that_are_printed(command: Command) -> None:
    board = command("leaderboard bm25.jsonl --data sample --set draws=50 -t er_at_10 --json --plot board.svg").json
    texts = drawn_in("board.svg")
    for row in board["tasks"]["er_at_10"]:
        mean, low, high = (100 * row["aspect_recall"][end] for end in ("mean", "low", "high"))
        assert f"{mean:.1f} [{low:.1f}, {high:.1f}]" in texts
        assert row["rank"] is None or f"rank {'-'.join(map(str, dict.fromkeys(row['rank'])))}" in texts
    assert "aspect recall in %, 95 % intervals" in texts


def test_a_picture_can_be_a_png(command: Command) -> None:
    try:
        require_png()
    except (MissingExtraError, DataError) as error:
        pytest.skip(str(error))
    assert command("compare bm25.jsonl lead.jsonl --data sample --set draws=50 --plot picture.png").code == 0
    assert Path("picture.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_a_png_without_its_extra_is_refused_at_once(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)  # as where it is not installed
    refusal = command("score none.jsonl --data sample --plot picture.png").refusal
    assert ("pip install 'evidencebench[plot]'" in refusal, "none.jsonl" in refusal) == (True, False)


def test_the_document_about_pictures_shows_what_comes_out(command: Command) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "pictures.md").read_text(encoding="utf-8")
    for call in re.findall(r"^\$ evidencebench (.*)$", text, re.MULTILINE):
        assert command(f"{call} --set draws=50").code == 0, call
        assert Path(call.split()[-1]).is_file()
    (drawn,) = re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert drawn in command("score bm25.jsonl --data sample -t er_at_10").out


def test_a_system_has_the_same_mark_in_every_task_of_a_picture(command: Command) -> None:
    command("score bm25.jsonl --data sample --set draws=50 --plot picture.svg")
    rows = re.findall(
        r"<g class=\"[^\"]*\"><title>([^:]*):.*?(<circle|<polygon[^>]*>)", Path("picture.svg").read_text()
    )
    looks = {(name, mark.count(",")) for name, mark in rows}
    assert len(rows) > len(looks) == len({name for name, _ in looks}) > 3
