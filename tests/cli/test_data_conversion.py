"""A folder of human judgments becomes a data set that every command takes."""

import json
from pathlib import Path

from command_line import Command
from trial_folder import write_trial_folder


def test_the_converted_data_work_as_any_other(command: Command) -> None:
    folder = write_trial_folder(Path("folder"))
    found = command(f"data convert {folder} ei.json --from txt")
    assert (
        found.out
        == (
            "ei.json: 4 instances of 2 papers, read from txt\n"
            "  placed 7 of 12 (58.3 %) valid annotations\n"
            "  of those in running text, 7 of 9 (77.8 %)\n"
        )
        + found.out[found.out.index("  annotations left out:") :]
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
    assert command(f"data convert {folder} ei.json").err.startswith("error: ei.json: exists;")
    assert command("data convert sample copy.json --from txt").code == 2
    assert "expected a file; standard output has the data set" in command(f"data convert {folder} - --json").err


def test_the_result_of_a_conversion_as_json(command: Command) -> None:
    found = command("data convert sample copy.json --json").json
    assert found == {"output": "copy.json", "n_instances": 10}
