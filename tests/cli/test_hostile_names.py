"""Names that a terminal, Rich, HTML or a spreadsheet would act on."""

import json
import re
from pathlib import Path
from unicodedata import category

import pytest
from rich.cells import cell_len

from doors import json_text, read_run, sample_path
from evidencebench import execute, open_dataset
from kit.command_line import FORMATS, Command, drawn_in

HOSTILE = "x\x1b]0;owned\x07\x1b[2J\r\n\x9b31m\u202e[/red]<script>|&"


LONG = HOSTILE.replace("[/red]", "[/red]</text>") + "W" * 100_000


def acted_on(text: str) -> set[str]:
    return {character for character in text if category(character) in {"Cc", "Cf", "Cs"} and character != "\n"}


@pytest.fixture
def hostile() -> None:
    """Make a data set and a run whose names are hostile, each in every place that has one."""
    (record,) = json.loads(sample_path().read_bytes()).popitem()[1:]
    record |= {"hypothesis": HOSTILE, "paper_id": HOSTILE, "aspect_id2aspect": {record["aspect_list_ids"][0]: HOSTILE}}
    record["paper_as_candidate_pool"][:2] = [HOSTILE, HOSTILE]
    record["sentence_types_in_candidate_pool"][0] = "section name"  # the 100k dialect, whose aspects may lack sentences
    record["aspect_list_ids"].append(HOSTILE)
    Path("hostile.json").write_text(json.dumps({HOSTILE: record, "ok": record | {"paper_id": "other"}}))
    broken = record | {"sentence_types_in_candidate_pool": [HOSTILE], "hypothesis": [HOSTILE]}
    Path("broken.json").write_text(json.dumps({HOSTILE: broken}))
    Path("unknown.json").write_text(json.dumps({HOSTILE + "!": [1]}))


def hostile_runs(command: Command) -> None:
    """Make runs whose header names a hostile system."""
    for name in ("a", "b"):
        assert command(f"run lead --data hostile.json -o {name}.jsonl").code == 0
        head, *lines = Path(f"{name}.jsonl").read_text().splitlines(keepends=True)
        header = json.loads(head)
        header["system"] = {"name": HOSTILE + name, "options": {HOSTILE: HOSTILE}}
        Path(f"{name}.jsonl").write_text(json.dumps(header, separators=(",", ":")) + "\n" + "".join(lines))


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize(
    "arguments",
    [
        "data show hostile.json 0",
        "data stats hostile.json",
        "data validate broken.json hostile.json",
        "data solve hostile.json -o solved.json",
        "data show hostile.json nobody",
        "score a.jsonl --data hostile.json --set draws=50 --kinds",
        "score unknown.json --data hostile.json",
        "score a.jsonl --data sample",
        "compare a.jsonl b.jsonl --data hostile.json --set draws=50",
        "leaderboard a.jsonl b.jsonl --data hostile.json --set draws=50",
        "run own:Slow:fails=true --data hostile.json -o x.jsonl",
        "run own:Slow:name=\x1b]0;owned\x07 --data hostile.json -o x.jsonl --set progress=plain",
        "run nope\x1b]0;owned\x07\u202e --data hostile.json -o x.jsonl",
    ],
)
def test_hostile_names_never_reach_a_terminal_raw(arguments: str, command: Command) -> None:
    hostile_runs(command)
    found = command(arguments)
    assert acted_on(found.out + found.err) == set()
    assert "Traceback" not in found.err.replace("  Traceback", "")  # what own code raises is shown, indented
    if found.code == 2:
        assert (found.out, found.err.count("\n")) == ("", 1)


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("verb", ["score a.jsonl", "compare a.jsonl b.jsonl", "leaderboard a.jsonl b.jsonl"])
def test_hostile_names_never_break_a_table(verb: str, command: Command) -> None:
    hostile_runs(command)
    call = f"{verb} --data hostile.json --set draws=50 --task er_at_10 --format"
    shown = {one: command(f"{call} {one}") for one in FORMATS}
    assert [(one.code, acted_on(one.out)) for one in shown.values()] == [(0, set())] * len(FORMATS)
    assert "<script>" not in shown["markdown"].out
    known = re.compile(r"%.*|\\(begin|end)\{tabular\}.*|\\(top|mid|bottom)rule|.*\\\\|")
    assert [line for line in shown["latex"].out.splitlines() if not known.fullmatch(line)] == []


@pytest.mark.usefixtures("hostile")
def test_hostile_names_survive_in_json(command: Command) -> None:
    hostile_runs(command)
    found = command("score a.jsonl --data hostile.json --set draws=50 --json")
    assert HOSTILE in found.json["er_at_10"]["per_instance"]
    assert acted_on(found.out) <= {"\x9b", "\u202e"}  # all that JSON itself allows unescaped


@pytest.mark.parametrize("style", ["rich", "plain", "none", "auto"])
def test_progress_goes_to_standard_error_and_reads_no_markup(style: str, command: Command) -> None:
    found = command(f"run own:Slow:name=[/red] --data sample -o x.jsonl --set progress={style}")
    assert found.code == 0
    assert found.out.splitlines()[0] == "x.jsonl: 10 instances; 0 answers failed"
    assert ("10/10" in found.err) == (style == "plain")
    assert style == "plain" or found.err.lstrip().startswith("system ")  # what is no terminal sees no bar


def test_data_whose_file_has_a_name_that_is_no_text_is_answered_and_shown() -> None:
    data, run = Path("d\udcff.json"), Path("run.jsonl")  # as a folder in EVIDENCEBENCH_DATA may be called, too
    data.write_bytes(sample_path().read_bytes())
    for _ in range(2):  # the second goes on, and has nothing left to do
        execute("bm25", open_dataset(data), run)
    header = read_run(run).header
    assert header is not None
    assert header.data.name == "d?.json"
    assert json.loads(json_text({"data": str(data)})) == {"data": str(data)}


def test_hostile_names_are_drawn_as_text_within_their_columns(command: Command) -> None:
    for name in ("a", "b"):
        assert command(f"run lead --data sample -o {name}.jsonl").code == 0
        head, *lines = Path(f"{name}.jsonl").read_text().splitlines(keepends=True)
        header = json.loads(head)
        header["run"]["system"] = {"name": name + LONG, "options": {}}
        Path(f"{name}.jsonl").write_text(json.dumps(header, separators=(",", ":")) + "\n" + "".join(lines))
    for call in ("score a.jsonl", "leaderboard a.jsonl b.jsonl", "compare a.jsonl b.jsonl"):
        found = command(f"{call} --data sample --set draws=50 --plot picture.svg")
        assert found.code == 0, found.err
        assert not acted_on(found.out)
        assert not [line for line in found.out.splitlines() if "●" in line and cell_len(line) > 80]
        texts = drawn_in("picture.svg")
        assert any("<script>" in text for text in texts)
        assert not any(acted_on(text) or len(text) > 500 for text in texts)
        assert "<script>" not in Path("picture.svg").read_text(encoding="utf-8")
