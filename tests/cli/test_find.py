"""``evidencebench find``."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from command_line import Command
from evidencebench.cli.main import cli

_TEXT = """\
# Abstract
It is not known whether tea lowers blood pressure.
In a randomised trial of 120 adults, tea lowered systolic pressure by 3.1 mmHg (95% CI 1.0 to 5.2, p = 0.004).
# Acknowledgements
We thank the nurses.
"""


def _found(*arguments: str, text: str = _TEXT) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["find", "Tea lowers blood pressure.", *arguments], input=text)
    return result.exit_code, result.output or str(result.exception)


def test_the_finding_comes_first() -> None:
    exit_code, output = _found("-", "--budget", "1", "--json")
    assert exit_code == 0
    assert json.loads(output)["evidence"] == [
        {"sentence": 2, "kind": "abstract", "text": _TEXT.splitlines()[2]},
    ]


def test_text_output_numbers_the_sentences_and_fits_80_columns(tmp_path: Path) -> None:
    (tmp_path / "tea.txt").write_text(_TEXT, encoding="utf-8")
    exit_code, output = _found(str(tmp_path / "tea.txt"), "--budget", "2")
    assert exit_code == 0
    assert output.startswith("2  In a randomised trial")
    assert max(map(len, output.splitlines())) <= 80


def test_any_system_finds() -> None:
    exit_code, output = _found("-", "--system", "lead", "--budget", "2", "--json")
    assert exit_code == 0
    assert [row["sentence"] for row in json.loads(output)["evidence"]] == [1, 2], "a heading is no evidence"


def test_a_set_without_order_has_no_best_sentences() -> None:
    exit_code, output = _found("-", "--system", "random")
    assert exit_code != 0
    assert "random gives its sentences no order" in output


def test_a_system_that_needs_the_answers_is_refused() -> None:
    exit_code, output = _found("-", "--system", "oracle")
    assert exit_code != 0
    assert "oracle needs the answers" in output


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "paper.pdf").write_bytes(b"%PDF\xff\xfe")
    exit_code, output = _found(str(tmp_path / "paper.pdf"))
    assert exit_code != 0
    assert "it is a PDF; take its text out first" in output


@pytest.mark.parametrize(
    ("paper", "message"),
    [
        ("absent.txt", "error: absent.txt: cannot be read: No such file or directory"),
        ("folder", "error: folder: cannot be read: Is a directory"),
        ("pipe", "error: pipe: cannot be read: is a pipe; expected a regular file: save what comes out of it"),
        ("page.html", "error: page.html: expected plain text, one sentence a line; it is markup"),
        ("long.txt", "error: long.txt: expected at most 50,000 sentences, got 50,001"),
        ("empty.txt", "error: empty.txt: expected one sentence a line, headings marked with #; got no sentence"),
    ],
)
def test_what_cannot_be_read_is_said_in_words(paper: str, message: str, command: Command) -> None:
    Path("folder").mkdir()
    os.mkfifo("pipe")
    Path("empty.txt").touch()
    Path("page.html").write_text("<html><body><p>Tea.</p></body></html>")
    Path("long.txt").write_text("Tea.\n" * 50_001)
    found = command(f"find Tea. {paper}")
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith(message)


def test_control_characters_in_a_paper_do_not_reach_the_terminal() -> None:
    exit_code, output = _found("-", text="Tea \x1b[31mlowers pressure.\n")
    assert exit_code == 0
    assert "\x1b" not in output
