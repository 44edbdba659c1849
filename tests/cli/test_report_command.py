"""``report`` as a user calls it."""

import json
import re
import shlex
from pathlib import Path

import pytest

import doors
from doors import Estimate, percent, sample_path
from evidencebench import write_dataset
from kit.command_line import Command
from kit.labelled_papers import paper
from kit.report_pages import parsed

pytestmark = pytest.mark.usefixtures("runs")

REPORT = "report bm25.jsonl tuned.jsonl --data sample --set draws=50 --largest 4"


def test_the_page_shows_the_numbers_of_leaderboard_and_score(command: Command) -> None:
    done = command(f"{REPORT} -o report.html")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("report.html: 2 runs, 0.")
    page = parsed(Path("report.html").read_text(encoding="utf-8"))
    board = command("leaderboard bm25.jsonl tuned.jsonl --data sample --set draws=50 --json").json
    for task, standings in board["tasks"].items():
        rows = page.section("leaderboard").table(task)
        for row, one in zip(rows, standings, strict=True):
            assert row["aspect recall, %"] == percent(Estimate(**one["aspect_recall"]))
            assert row["ranks"] == "-".join(map(str, dict.fromkeys(one["rank"] or ())))
    score = command("score tuned.jsonl --data sample --set draws=50 --curve 4 --json").json
    curve = score["er_at_10"]["curve"]
    label = next(row["run"] for row in page.section("signatures").table("Signatures") if "1.25" in row["run"])
    drawn = page.section("curves").table("All aspects, 10 instances: aspect recall in %")
    for row, point in zip(drawn, curve, strict=True):
        estimate = Estimate(**{key: value for key, value in point.items() if key != "k"})
        assert (row["sentences"], row[label]) == (str(point["k"]), percent(estimate))


def test_the_command_on_the_page_makes_the_page_again(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVIDENCEBENCH_REPORT_LEVEL", "0.9")
    monkeypatch.setenv("EVIDENCEBENCH_REPORT_TITLE", "A 'title' with $signs")
    assert command(f"{REPORT} -o report.html -t er_at_3 --budget 2 --set over-length=first --no-papers --limit 8").done
    made = Path("report.html").read_bytes()
    monkeypatch.delenv("EVIDENCEBENCH_REPORT_LEVEL")
    monkeypatch.delenv("EVIDENCEBENCH_REPORT_TITLE")
    (shown,) = parsed(made.decode()).section("method").all("pre")
    program, *words = shlex.split(shown.text)
    assert program == "evidencebench"
    assert command(" ".join(f"{{{word}}}" if " " in word else word for word in words)).code == 0
    assert Path("report.html").read_bytes() == made


def test_runs_have_the_names_that_are_given(command: Command) -> None:
    here = Path.cwd()
    call = f"report bm25.jsonl {here}/tuned.jsonl --data sample --set draws=20 --largest 1 -t er_at_10 -o report.html"
    assert command(f"{call} --name bm25.jsonl=BM25 --name {{{here}/tuned.jsonl=Tuned by a/b = 1}}").code == 0
    page = parsed(Path("report.html").read_text(encoding="utf-8"))
    assert page.section("summary").all("h1")[0].text == "sample.json: BM25, Tuned by a/b = 1"
    assert {row["system"] for row in page.section("leaderboard").table("er_at_10")} >= {"BM25", "Tuned by a/b = 1"}
    (shown,) = page.section("method").all("pre")
    assert "--name bm25.jsonl=BM25 --name 'tuned.jsonl=Tuned by a/b = 1'" in shown.text
    for name, said in (
        ("other.jsonl=X", "expected RUN=NAME, where RUN is one of 'bm25.jsonl'"),
        ("bm25.jsonl", "expected RUN=NAME"),
        ("bm25.jsonl=X --name bm25.jsonl=Y", "'bm25.jsonl' is named twice"),
        (f"bm25.jsonl=X --name {here}/tuned.jsonl=X", "expected a name for each run, got 'X' for 2 runs"),
    ):
        done = command(f"{call} --overwrite --name {name}")
        assert done.code == 2
        assert said in " ".join(done.err.split())


def test_the_command_on_the_page_has_no_absolute_path_and_takes_no_name_for_an_option(command: Command) -> None:
    Path("bm25.jsonl").rename("-a.jsonl")
    here = Path.cwd()
    arguments = f"--data {sample_path()} --set draws=20 --largest 1 -t er_at_10 --no-papers"
    assert command(f"report {arguments} -o {here}/report.html -- -a.jsonl {here}/tuned.jsonl").code == 0
    page = parsed(Path("report.html").read_text(encoding="utf-8"))
    (shown,) = page.section("method").all("pre")
    assert shown.text == (
        f"evidencebench report ./-a.jsonl tuned.jsonl --data {sample_path().name} --output report.html --task er_at_10 "
        "--largest 1 --no-papers --set draws=20 --overwrite"
    )
    assert "shown by name only" in page.section("method").text
    assert command(shown.text.removeprefix("evidencebench ").replace(sample_path().name, "sample")).code == 0


def test_papers_are_left_out_of_large_data_unless_they_are_asked_for(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 20
    monkeypatch.setattr(doors.report_pages, "MOST_PAPERS", most)
    papers = [paper(number) for number in range(most + 1)]
    write_dataset("large.json", papers)
    Path("answers.json").write_text(json.dumps({one.id: [1] for one in papers}))
    report = (
        "report answers.json --data large.json --set draws=20 --task er_at_10 --largest 1 -o report.html --overwrite"
    )
    for option, has_papers in (("", False), (" --papers", True), (f" --limit {most}", True)):
        assert command(report + option).code == 0
        page = parsed(Path("report.html").read_text(encoding="utf-8"))
        assert bool(page.all("main", id="viewer")) == has_papers
    assert "evidencebench view answers.json --data large.json" not in page.section("papers-here").text


def test_the_commands_of_the_document_make_the_page(command: Command) -> None:
    text = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ evidencebench (.*)$", text, re.MULTILINE)
    assert len(commands) == 4
    for arguments in commands:
        assert command(arguments).code == 0
    page = parsed(Path("report.html").read_text(encoding="utf-8"))
    rows = page.section("hypotheses").table("Original and changed queries: aspect recall in %")
    assert {row["system"] for row in rows} == {"bm25"}
