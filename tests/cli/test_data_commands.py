"""The commands on data files."""

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from doors import sample_path, solve_file
from evidencebench import SYSTEMS, TASKS, open_dataset, write_dataset
from kit.command_line import SAMPLE, Command, as_many_as
from kit.hostile_server import hostile_server
from kit.trial_folder import write_trial_folder


def test_a_file_with_violations_is_reported_in_full_with_exit_code_1(command: Command) -> None:
    records = json.loads(sample_path().read_bytes())
    for record in records.values():
        record["sentence_types_in_candidate_pool"][:6] = 6 * ["figure"]
    Path("bad.json").write_text(json.dumps(records))
    found = command("data validate bad.json sample")
    assert found.code == 1
    assert "bad.json: 10 instances: 60 violations" in found.out
    kinds = "sentence_types_in_candidate_pool"
    row = rf"  60 times \$\.{kinds}\[\.\.\.\]: expected one of .*, got 'figure'; in (.*) and 57 more"
    (places,) = re.findall(row, found.out)
    assert places.split(", ")[1] == f"{SAMPLE.ids[0]}.{kinds}[1]"
    assert found.out.count(SAMPLE.ids[0]) == 4  # three places, and the paper that is in both files
    assert "  --json lists every place" in found.out
    listed = command("data validate bad.json sample --json")
    assert listed.code == 1
    assert (listed.json["valid"], [file["valid"] for file in listed.json["files"]]) == (False, [False, False])
    bad, sample = listed.json["files"]
    assert bad["n_violations"] == len(bad["violations"]) == 60
    assert set(bad["violations"][0]) >= {"instance_id", "path", "rule", "expected", "got"}
    assert {violation["rule"] for violation in sample["violations"]} == {"paper"}


def test_optima_that_are_not_stored_are_one_line_that_says_how_to_add_them(command: Command) -> None:
    records = json.loads(sample_path().read_bytes())
    kept = {key: {name: part for name, part in one.items() if "eval" not in name} for key, one in records.items()}
    Path("bare.json").write_text(json.dumps(kept))
    found = command("data validate bare.json")
    head, line, last = found.out.splitlines()
    assert re.fullmatch(r"bare\.json: 10 instances: \d+ violations", head)
    assert re.fullmatch(r"  \d+ optima of 10 instances not stored, first .*_0; add them: (.*)", line)
    assert last == "  --json lists every place"
    assert command(line.partition("evidencebench ")[2]).code == 0
    assert command("data validate solved.json").code == 0


def test_what_is_taken_for_data_is_called_what_it_is(command: Command) -> None:
    for name, content, why in (
        ("paper.pdf", b"%PDF-1.7\n\xff", "is a PDF, not data; 'evidencebench find' reads papers"),
        ("paper.xml", b"<article/>", "is XML or HTML, not data"),
        ("paper.txt", b"Tea lowers blood pressure.", "not valid JSON: .*it may be a paper"),
    ):
        Path(name).write_bytes(content)
        assert re.match(rf"error: {name}: {why}", command(f"data stats {name}").refusal)
    refusal = command("run sample --data bm25 -o run.jsonl").refusal
    assert refusal.startswith("error: bm25: is a system, not data; give a data file")


def test_what_data_commands_print_as_json_is_what_the_file_holds(command: Command) -> None:
    assert command("data validate sample --optima --json").json["valid"]
    stats = command("data stats sample --json").json
    assert (stats["n_instances"], stats["n_papers"], stats["sha256"]) == (10, 9, SAMPLE.sha256)
    assert [one["id"] for one in command("data show sample --json").json] == list(SAMPLE.ids)
    shown = command("data show sample 3 --json").json
    assert shown == command(f"data show sample {SAMPLE.ids[3]} --json").json
    assert [sentence["text"] for sentence in shown["sentences"]] == list(SAMPLE[3].query.sentences)
    assert {aspect["id"]: tuple(aspect["sentences"]) for aspect in shown["aspects"]} == SAMPLE[3].labels.sources
    known = command("data list --json").json
    assert [entry["name"] for entry in known] == ["sample", "train", "dev", "test", "100k-train", "100k-test"]
    assert [bool(entry["path"]) for entry in known] == [True, False, False, False, False, False]
    assert list(command("tasks --json").json) == list(TASKS)
    assert list(command("systems --json").json) == list(SYSTEMS)


def test_aspects_are_counted_from_0_as_on_the_pages_and_evidence_is_shown_alone_on_request(command: Command) -> None:
    shown = command("data show sample 0").out
    numbers = [int(found) for found in re.findall(r"^aspect (\d+)", shown, re.MULTILINE)]
    assert numbers == [*range(len(SAMPLE[0].labels.aspects))]
    marks = " ".join(re.findall(r"\[aspects ([\d ]+)\]", " ".join(shown.split())))
    assert {int(mark) for mark in marks.split()} == set(numbers)
    evidence = command("data show sample 0 --evidence").out
    n_evidence = len({index for indices in SAMPLE[0].labels.sources.values() for index in indices})
    for text, n in ((shown, len(SAMPLE[0].query.sentences)), (evidence, n_evidence)):
        assert len(re.findall(r"^ {0,3}\d+ [#> ]", text, re.MULTILINE)) == n


@pytest.mark.parametrize("suffix", [".json", ".jsonl.gz"])
def test_a_converted_file_holds_the_same_instances(suffix: str, command: Command) -> None:
    assert command(f"data convert sample copy{suffix}").out == f"copy{suffix}: 10 instances\n"
    assert list(open_dataset(f"copy{suffix}")) == list(SAMPLE)
    assert command(f"data convert sample copy{suffix}").code == 2
    assert command(f"data convert copy{suffix} copy{suffix} --overwrite").code == 0
    assert list(open_dataset(f"copy{suffix}")) == list(SAMPLE)


def test_solving_derives_exactly_the_stored_optima(command: Command) -> None:
    found = command("data solve sample -o solved.json --json").json
    assert (found["n_instances"], found["n_resumed"], found["unproven"]) == (10, 0, {})
    for stored, derived in zip(SAMPLE, open_dataset("solved.json"), strict=True):
        assert list(stored.labels.evaluations) == list(derived.labels.evaluations)
        for task, evaluation in stored.labels.evaluations.items():
            solved = derived.labels.evaluations[task]
            assert solved.optimal == evaluation.optimal
            assert len(solved.sentences) == len(evaluation.sentences)
            assert len(solved.covered) == len(evaluation.covered)
    assert command("data validate solved.json --optima").code == 0
    assert command("data solve sample -o solved.json").err.startswith("error: solved.json: exists;")
    assert command("data solve sample -o solved.json --overwrite --jobs 2").code == 0
    assert not list(Path().glob("*.partial"))


def test_an_instance_that_cannot_be_solved_ends_no_other_and_is_tried_again(command: Command) -> None:
    whole = sample_path().read_bytes()
    broken = whole.replace(b'"aspect_list_ids"', b'"aspect_list"', 1)
    Path("broken.json").write_bytes(broken)
    found = command("data solve broken.json -o solved.json")
    assert (found.code, found.out) == (1, "")
    assert "error: solved.json: not written: 1 instance of 10 failed" in found.err
    assert f"failed: {SAMPLE.ids[0]}: " in found.err
    again = command("data solve broken.json -o solved.json --json")
    assert (again.code, again.json["n_resumed"], list(again.json["failed"])) == (1, 9, [SAMPLE.ids[0]])
    stopped = command("data solve broken.json -o solved.json --max-errors 0")
    assert stopped.code == 3
    assert re.match(r"stopped: 1 error, .*at most 0 .*evidencebench_sample_id_", stopped.err)
    assert not Path("solved.json").exists()


def test_every_engine_of_this_machine_writes_the_same_copy(command: Command) -> None:
    command("data solve sample -o solved.json")
    for engine in ("local", "processes", "processes --jobs 1"):
        command(f"data solve sample -o copy.json --overwrite --set engine={engine}")
        assert Path("copy.json").read_bytes() == Path("solved.json").read_bytes()
    assert command("data validate sample --set engine=local --optima").code == 0


def interrupted_partial() -> bytes:
    """Give what an interrupted `data solve` leaves when all is solved but nothing written."""

    def stop(n_done: int, n_all: int) -> None:
        if n_done == n_all:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_file(SAMPLE, Path("x.json"), on_progress=stop)
    return Path("x.json.partial").read_bytes()


def test_solving_goes_on_from_its_partial_file_cut_at_any_line(command: Command) -> None:
    partial = interrupted_partial().splitlines(keepends=True)
    command("data solve sample -o whole.json")
    for n_lines in range(len(partial) + 1):
        for torn in (b"", b'{"id":"evid' if n_lines else b'{"evidence'):
            Path("part.json.partial").write_bytes(b"".join(partial[:n_lines]) + torn)
            found = command("data solve sample -o part.json --overwrite --json").json
            assert found["n_resumed"] == max(0, n_lines - 1)
            assert Path("part.json").read_bytes() == Path("whole.json").read_bytes()


@pytest.mark.parametrize("damage", ["in a line", "of other data"])
def test_a_partial_file_that_cannot_be_used_is_a_clear_error(damage: str, command: Command) -> None:
    partial = interrupted_partial()
    changed = partial.replace(SAMPLE.sha256.encode(), b"0" * 64) if damage == "of other data" else partial
    changed = changed.replace(b'"optimal"', b"}optimal", 1) if damage == "in a line" else changed
    Path("x.json.partial").write_bytes(changed)
    assert command("data solve sample -o x.json").refusal.startswith("error: x.json.partial: ")
    assert Path("x.json.partial").read_bytes() == changed


def test_a_catalogue_name_whose_file_is_not_here_names_the_command_that_fetches_it(command: Command) -> None:
    for arguments in ("data stats train", "run bm25 --data train -o run.jsonl", "data validate train"):
        assert "evidencebench data download train" in command(arguments).refusal
    assert not Path("run.jsonl").exists()


def test_a_mirror_is_asked_instead_and_its_file_is_used_at_once(command: Command) -> None:
    write_dataset("as_dev.json", as_many_as("dev"))
    with hostile_server(Path("as_dev.json").read_bytes()) as server:
        found = command(f"data download dev --mirror {server.address('mirror')}")
    assert (found.code, found.err) == (0, "")
    assert [asked.path for asked in server.log] == ["/mirror/evidencebench_dev_set.json"]
    assert open_dataset("as_dev.json").sha256 in found.out
    assert "licence: CC-BY-NC-SA" in found.out
    assert command("data stats dev --json").json["n_instances"] == 37
    assert command("data list --json").json[2]["path"] == "data/evidencebench_dev_set.json"


def test_a_folder_of_human_judgments_becomes_data_that_work_as_any_other(command: Command) -> None:
    folder = write_trial_folder(Path("folder"))
    found = command(f"data convert {folder} ei.json --from txt")
    assert found.out.startswith(
        "ei.json: 4 instances of 2 papers, read from txt\n"
        "  placed 7 of 12 (58.3 %) valid annotations\n"
        "  of those in running text, 7 of 9 (77.8 %)\n"
        "  annotations left out:"
    )
    assert all(len(line) <= 80 for line in found.out.splitlines())
    kept = json.loads(Path("ei.json.placement.json").read_bytes())
    assert command(f"data convert {folder} ei.json --from txt --overwrite --json").json == kept
    assert kept["annotations_left_out"]["in a table"] == 1
    assert command("data validate ei.json --optima").code == 0
    assert command("data stats ei.json --json").json["n_papers"] == 2
    assert command("run bm25 --data ei.json -o run.jsonl").code == 0
    assert command("score run.jsonl --data ei.json --task er_at_optimal").code == 0
    assert command("report run.jsonl --data ei.json -o report.html").code == 0
    assert command(f"data convert {folder} ei.json").refusal.startswith("error: ei.json: exists;")
    assert command("data convert sample copy.json --from txt").code == 2
    assert json.loads(command(f"data convert {folder} - --json --set progress=none").err)["n_instances"] == 4
    assert command("data convert sample copy.json --json").json == {"output": "copy.json", "n_instances": 10}


needs_columns = pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs the extra 'parquet'")
FORMS = ("data.json", "data.parquet", "shards", "shards/*")
COMMANDS = (
    "data validate {} --optima --json",
    "data stats {} --json",
    "data show {} evidencebench_sample_id_3 --json",
    "controls lead --data {} --control wrong_hypothesis --set draws=10 --json",
)


@pytest.fixture
def _forms(command: Command) -> None:
    """Make the sample in all forms."""
    for words in ("sample data.json", "sample data.parquet", "data.parquet shards/data.parquet --shard-size 4"):
        assert command(f"data convert {words}").code == 0


def without_names(text: str) -> Any:
    """Return a JSON text without names and checksums of data."""
    return json.loads(
        re.sub(r"data\.json|data\.parquet|shards(/\*)?|(?<=sha256:)\w{12}|\b[0-9a-f]{64}\b", "DATA", text)
    )


@needs_columns
@pytest.mark.usefixtures("_forms")
def test_every_form_of_data_gives_the_same_and_goes_back_to_the_same_json(command: Command) -> None:
    for words in COMMANDS:
        first, *others = (without_names(command(words.format(form)).out) for form in FORMS)
        assert all(other == first for other in others), words
    answers, scores = [], []
    for number, form in enumerate(FORMS):
        assert command(f"data convert {form} back{number}.jsonl").code == 0
        assert Path(f"back{number}.jsonl").read_bytes() == Path("back0.jsonl").read_bytes()
        assert command(f"data solve {form} -o solved{number}.json").code == 0
        assert command(f"run lead --data {form} -o run{number}.jsonl -j 2").code == 0
        answers.append(Path(f"run{number}.jsonl").read_text().splitlines()[1:])
        scores.append(without_names(command(f"score run{number}.jsonl --data {form} --set draws=10 --json").out))
        assert command(f"leaderboard run{number}.jsonl --data {form} --set draws=10").code == 0
        assert command(f"report run{number}.jsonl --data {form} -o page{number}.html").code == 0
        assert Path(f"solved{number}.json").read_bytes() == Path("solved0.json").read_bytes()
    assert all(one == answers[0] for one in answers)
    assert all(one == scores[0] for one in scores)


@needs_columns
@pytest.mark.usefixtures("_forms")
def test_shards_are_not_mixed_with_those_of_before(command: Command) -> None:
    refusal = command("data convert sample shards/data.parquet --shard-size 5").refusal
    assert "shards/data-00000-of-00003.parquet: exists" in refusal
    found = command("data convert sample shards/data.parquet --shard-size 5 --overwrite --json")
    assert found.json["shards"] == [f"shards/data-0000{number}-of-00002.parquet" for number in (0, 1)]
    assert sorted(path.name for path in Path("shards").iterdir()) == [Path(one).name for one in found.json["shards"]]
    assert command("data convert sample - --shard-size 5").code == 2
    refusal = command("data convert sample no/shards/data.parquet --shard-size 5").refusal
    assert refusal.startswith("error: no/shards: ")


@needs_columns
@pytest.mark.usefixtures("runs")
def test_a_run_goes_to_parquet_and_back(command: Command) -> None:
    Path("lead.jsonl").rename("run.jsonl")
    assert command("export run run.jsonl -o run.parquet").out == "run.parquet: 10 answers\n"
    assert command("export run run.parquet -o again.jsonl --json").json == {"output": "again.jsonl", "n_answers": 10}
    assert Path("again.jsonl").read_bytes() == Path("run.jsonl").read_bytes()
    shown = [command(f"leaderboard {one} --data sample --set draws=10").out for one in ("run.parquet", "run.jsonl")]
    assert shown[0] == shown[1]
    assert "run.parquet: exists" in command("export run run.jsonl -o run.parquet").err
    assert ".parquet or .jsonl" in command("export run run.jsonl -o run.csv").err
    Path("plain.json").write_text('{"evidencebench_sample_id_0": [1]}')
    assert "expected a run of evidencebench" in command("export run plain.json -o plain.parquet").err
    found = command("run lead --data sample -o new.parquet")
    assert (found.code, Path("new.parquet").exists()) == (2, False)
    assert "'evidencebench export run' makes Parquet" in found.err
    assert "run.parquet: is a run, not data" in command("data stats run.parquet").err
    assert command("data convert sample data.parquet").code == 0
    assert "data.parquet: is a data file, not a run" in command("score data.parquet --data sample").err


@needs_columns
@pytest.mark.usefixtures("runs")
def test_the_scores_of_each_instance_are_a_table_in_parquet_and_csv(command: Command) -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    for name in ("scores.parquet", "scores.csv"):
        found = command(f"score lead.jsonl --data sample --set draws=10 --json --per-instance {name}").json
    tables = [pandas.read_parquet("scores.parquet"), pandas.read_csv("scores.csv")]
    for table in tables:
        assert {*table["system"]} == {"lead"}
        for task, fields in found.items():
            rows = table[table["task"] == task]
            assert dict(zip(rows["id"], rows["aspect_recall"], strict=True)) == fields["per_instance"]
            assert rows["regret"].mean() == pytest.approx(fields["regret"]["mean"])
            assert rows["cluster"].nunique() == fields["aspect_recall"]["n_clusters"]
    assert tables[0].columns.tolist() == tables[1].columns.tolist()
    refused = command("score lead.jsonl --data sample --per-instance scores.xls")
    assert ".parquet or .csv" in refused.err
