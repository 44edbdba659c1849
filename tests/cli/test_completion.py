"""What a shell is told when it asks for completions."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import Command


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell: str, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_EVIDENCEBENCH_COMPLETE", f"{shell}_source")
    found = command("")
    assert found.code == 0
    assert "_evidencebench_completion" in found.out
    assert "_EVIDENCEBENCH_COMPLETE=" in found.out


def test_a_shell_that_is_not_known_is_refused(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_EVIDENCEBENCH_COMPLETE", "xonsh_source")
    assert "expected bash_source, fish_source or zsh_source, got 'xonsh_source'" in command("").refusal


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("evidencebench le", {"plain,leaderboard"}),
        ("evidencebench data s", {"plain,show", "plain,solve", "plain,stats"}),
        ("evidencebench --v", {"plain,--version"}),
        ("evidencebench run --dat", {"plain,--data"}),
        ("evidencebench run bm", {"plain,bm25", "plain,bm25_abstract_first"}),
        ("evidencebench find Tea. paper.txt --system cu", {"plain,cues"}),
        ("evidencebench find Tea. pap", {"file,pap"}),
        ("evidencebench crossval tfidf_", {"plain,tfidf_char"}),
        ("evidencebench crossval bm25 --against tfidf_", {"plain,tfidf_char"}),
        ("evidencebench train fin", {"plain,finder"}),
        ("evidencebench run bm25 --data sam", {"file,sam", "plain,sample"}),
        ("evidencebench data stats te", {"file,te", "plain,test"}),
        ("evidencebench score x.jsonl -t result_er_at_1", {"plain,result_er_at_10"}),
        ("evidencebench score x.jsonl --format mark", {"plain,markdown"}),
    ],
)
def test_names_are_completed(line: str, expected: set[str], command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_EVIDENCEBENCH_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    found = command("")
    assert found.code == 0
    assert set(found.out.split()) == expected


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_itself_completes() -> None:
    folder = Path(sys.executable).parent
    script = """
    PATH="$0:$PATH"
    eval "$(_EVIDENCEBENCH_COMPLETE=bash_source evidencebench)"
    COMP_WORDS=(evidencebench run lead_) COMP_CWORD=2
    compopt() { :; }
    _evidencebench_completion evidencebench
    echo "${COMPREPLY[@]}"
    """
    found = subprocess.run(["bash", "-c", script, str(folder)], capture_output=True, text=True, check=True)  # noqa: S607
    assert found.stdout == "lead_no_headings\n"
