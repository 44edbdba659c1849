"""``table``: the figures of ``leaderboard`` and the tests of ``compare``, as one table for a paper."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import Bold, Cell, Table, as_latex, board_of, score_runs
from evidencebench import Resampling
from kit.command_line import FORMATS, Command
from kit.latex_reading import latex_rows

pytestmark = pytest.mark.usefixtures("runs")

OPTIONS = "--data sample --set draws=300 --task er_at_10 --task er_at_optimal"
FILES = "bm25.jsonl lead.jsonl tuned.jsonl"
CELLS: st.SearchStrategy[Cell] = st.one_of(
    st.text("[]*&%$#_{}~^\\<>|†‡±ab\n", max_size=12),
    st.text("*[a&", max_size=5).map(Bold),
    st.floats(0, 100),
    st.none(),
)


def test_means_and_intervals_are_those_of_the_leaderboard(command: Command) -> None:
    board = command(f"leaderboard {FILES} {OPTIONS} --json").json["tasks"]
    for row in command(f"leaderboard --table {FILES} {OPTIONS} --controls --json").json["rows"]:
        for task, cell in row["tasks"].items():
            (standing,) = (one for one in board[task] if one["system"] == row["system"])
            assert cell["recall"] == standing["aspect_recall"]


def test_a_star_is_the_same_in_table_leaderboard_and_compare_beside_controls_and_copies(command: Command) -> None:
    scored = score_runs(FILES.split(), "sample", ["er_at_10", "er_at_optimal"])
    labels = list(scored.runs)

    def of_table(files: str, against: str) -> dict[frozenset[str], dict[str, Any]]:
        rows = command(f"leaderboard --table {files} {OPTIONS} --against {against} --json").json["rows"]
        mine = [row for row in rows if row["sort"] == "run" and row["system"] in {*labels} - {against}]
        return {frozenset((row["system"], against)): {t: c["p_holm"] for t, c in row["tasks"].items()} for row in mine}

    command("run stored:run=lead.jsonl --data sample -o copy.jsonl")
    alone = {pair: ps for against in labels for pair, ps in of_table(FILES, against).items()}
    for files in (FILES, f"copy.jsonl {FILES}", f"{FILES} copy.jsonl oracle.jsonl"):
        pairs = command(f"compare {files} {OPTIONS} --json").json["pairs"]
        compared: dict[frozenset[str], dict[str, float]] = {}
        for pair in pairs:
            compared.setdefault(frozenset((pair["first"], pair["second"])), {})[pair["task"]] = pair["p_value_holm"]
        assert {pair: compared[pair] for pair in alone} == alone
        for task in scored.tasks:
            board = board_of(scored, task, Resampling(n_draws=300))
            ranked = {frozenset((one.first.system, one.second.system)): one for one in board.pairs}
            for pair, ps in alone.items():
                found = ranked[pair].adjusted
                assert ps[task.name] == (1.0 if found is None else found.value)
        for against in labels:
            for options in (files, f"{files} --controls"):
                starred = of_table(options, against)
                assert starred == {pair: alone[pair] for pair in starred}


def test_runs_with_the_same_answers_are_said_to_be_the_same(command: Command) -> None:
    command("run stored:run=lead.jsonl --data sample -o copy.jsonl")
    said = "has the same answers as lead; the tests count the two as one"
    for call in ("leaderboard --table", "leaderboard", "compare", "report -o page.html"):
        found = command(f"{call} bm25.jsonl lead.jsonl copy.jsonl --data sample --set draws=50")
        assert f"same answers: {said}" in " ".join(found.err.split()), call
    assert said in Path("page.html").read_text()
    shown = command(
        "leaderboard --table bm25.jsonl lead.jsonl copy.jsonl --data sample --set draws=50 --format latex"
    ).out
    assert f"{said}.}}" in shown
    assert (
        said
        not in command(
            "leaderboard --table bm25.jsonl lead.jsonl --data sample --set draws=50 --controls --format latex"
        ).out
    )


def test_the_sentence_below_the_table_says_the_family(command: Command) -> None:
    call = f"leaderboard --table {FILES} oracle.jsonl {OPTIONS} --json"
    assert command(call).json["holm"] == "Holm over 2 pairs of runs per task"
    found = command(f"{call} --controls").json["holm"]
    assert re.fullmatch(r"Holm over 2 pairs of runs per task; over \d+( to \d+)? with a baseline", found)
    caption = command(f"leaderboard --table {FILES} {OPTIONS} --format markdown").out
    assert "(p &lt; 0.05, sign-flip test over papers, Holm over 2 pairs of runs per task)" in caption


def test_the_table_is_the_same_in_every_format(command: Command) -> None:
    name = "--name {lead.jsonl=[Lead] & 50 % _}"
    call = f"leaderboard --table {FILES} oracle.jsonl {OPTIONS} --controls --published {name}"
    shown = {one: command(f"{call} --format {one}").out for one in FORMATS}
    latex = latex_rows(shown["latex"])
    assert latex[0] == ["system", r"er\_at\_10", r"er\_at\_optimal"]
    assert latex[1] == ["", "n = 10", "n = 10"]
    assert latex[3][0] == r"{[}Lead] \& 50 \% \_"
    plain = [[re.sub(r"\\textbf\{(.*)\}", r"**\1**", cell) for cell in row[1:]] for row in latex[2:]]
    lines = [line for line in shown["markdown"].splitlines() if line.startswith("| ")]
    assert lines[0] == "| system | er_at_10<br>n = 10 | er_at_optimal<br>n = 10 |"
    assert [line.removesuffix(" |").split(" | ")[1:] for line in lines[2:]] == plain
    assert sum("**" in cell for row in plain for cell in row) == 2  # a control, which ties at 10, is no run
    assert r"\usepackage" not in shown["latex"]
    for text in (shown["text"], shown["markdown"], shown["latex"]):
        assert "The ceiling knows the labels." in text.replace("\n", " ")
        assert "n = 10" in text
    assert max(map(len, shown["text"].splitlines())) <= 80
    rows = list(csv.DictReader(io.StringIO(shown["csv"])))
    assert [f"{100 * float(row['er_at_10_mean']):.1f}" for row in rows if row["er_at_10_mean"]] == [
        re.sub(r"\*| \[.*", "", row[0]) for row in plain if row[0]
    ]
    assert {row["sort"] for row in rows} == {"run", "ceiling", "control", "published"}


def test_what_was_trained_on_the_data_is_marked_and_neither_best_nor_tested(command: Command) -> None:
    command("run own:Trained --data sample -o seen.jsonl")
    call = "leaderboard --table bm25.jsonl seen.jsonl --data sample --task er_at_10 --set draws=50"
    other, seen = command(f"{call} --json").json["rows"]
    cell = seen["tasks"]["er_at_10"]
    assert cell["recall"]["mean"] > other["tasks"]["er_at_10"]["recall"]["mean"]
    assert (seen["trained_on_it"], cell["is_best"], cell["p_value"]) == (True, False, None)
    shown = command(f"{call} --format markdown").out
    assert "| own:Trained † |" in shown
    assert "† trained on this data, so its scores say nothing about other papers: neither the best nor tested." in shown
    assert "it was trained on this data" in command(f"{call} --against own:Trained").refusal


def test_a_mean_stands_alone_with_its_error_or_with_its_interval(command: Command) -> None:
    call = "leaderboard --table bm25.jsonl --data sample --task er_at_10 --set draws=50 --format markdown --uncertainty"
    cells = [command(f"{call} {one}").out.splitlines()[2] for one in ("none", "error", "interval")]
    assert cells[0] == "| bm25 | **37.0** |"
    assert cells[1] == "| bm25 | **37.0 ± 4.1** |"
    assert re.fullmatch(r"\| bm25 \| \*\*37\.0 \[\d+\.\d, \d+\.\d\]\*\* \|", cells[2])


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=4), st.text("†[*&_a", max_size=9))
def test_no_text_in_a_table_breaks_its_latex(rows: list[tuple[Cell, Cell]], caption: str) -> None:
    table = Table(columns=["[a", "*"], below_heads=["*", "n"], rows=rows, breaks=[0], caption=caption)
    assert len(latex_rows(as_latex(table))) == 2 + len(rows)
