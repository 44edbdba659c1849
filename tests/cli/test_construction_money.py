"""What would end a construction at a late step is said before its first request, and nothing is paid in vain."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import Command
from evidencebench import open_dataset
from evidencebench.construction.assembly.leakage import BY_ID, BY_TEXT
from evidencebench.construction.demo import expected_instances
from evidencebench.construction.draft import open_drafts
from evidencebench.data.dataset import write_dataset
from evidencebench.data.instance import Instance, Labels
from served_constructions import served_construction


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("[assemble]", '[assemble]\nagainst = ["nope"]', "nope"),
        ("[assemble]", "[assemble]\nagainst = [7]", "Expected `str`, got `int` - at `$.assemble.against[0]`"),
        ("[judge]", '[judge]\nsecond_model = "nope/any"', "expected provider/name with one of the providers"),
        ("[judge]", '[judge]\nmodel = "nope"', "expected provider/name"),
        ("[judge]", '[judge]\nmodel = "local/any"', "base_url: expected an address, got none"),
        ("[judge]", '[judge]\nmodel = "local/any,base_url=ftp://x"', "base_url"),
        ("[judge]", '[judge]\nsecond_model = "openai/gpt-4o,key_env=NO_SUCH_KEY"', "NO_SUCH_KEY"),
        (
            "name =",
            'licences = ["ccby"]\nname =',
            "licences: expected one or more of cc0, public-domain, cc-by",
        ),
        ("name =", 'licences = ["cc-by", "CC0"]\nname =', "got ['cc-by', 'CC0']"),
        ("name =", "licences = []\nname =", "licences: expected one or more of cc0"),
        ("test = 1.0", "test = nan", "Expected `float` >= 0.0 - at `$.assemble.shares[...]`"),
        ("test = 1.0", "test = inf", "Expected `float` <= 1.0 - at `$.assemble.shares[...]`"),
        ("[assemble]", "[filter]\nleast_covered = nan\n[assemble]", "filter: expected least_covered in 0 to 1"),
    ],
)
def test_what_a_late_step_would_refuse_is_refused_before_the_first_request(
    tmp_path: Path, command: Command, before: str, after: str, why: str
) -> None:
    config = tmp_path / "construction.toml"
    with served_construction(tmp_path) as server:
        config.write_text(config.read_text().replace(before, after, 1))
        found = command(f"construct run {config}")
        asked = server.log_entries()
    assert (found.code, len(asked)) == (2, 0), found.err
    assert why in found.err


@pytest.mark.usefixtures("own_cache")
def test_a_folder_in_the_place_of_the_data_set_is_told_before_the_first_request(
    tmp_path: Path, command: Command
) -> None:
    (tmp_path / "work" / "dataset").mkdir(parents=True)
    (tmp_path / "work" / "dataset" / "notes.txt").write_text("mine")
    with served_construction(tmp_path) as server:
        found = command(f"construct run {tmp_path / 'construction.toml'}")
        assert (found.code, server.log_entries()) == (2, [])
    assert "dataset: holds something else, which would be lost" in found.err


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("same", ["id", "text"])
def test_papers_of_other_data_sets_are_left_out_before_anything_is_asked_of_them(
    tmp_path: Path, command: Command, same: str
) -> None:
    config, work = tmp_path / "construction.toml", tmp_path / "work"
    one, *others = expected_instances()
    query = replace(one.query, hypothesis="Another one.", paper_id="another")
    if same == "id":
        query = replace(one.query, hypothesis="Another one.", sentences=("One.", "Two."), kinds=one.query.kinds[:2])
    theirs = Instance(query=query, labels=Labels(aspects=("a",), sources={"a": (0,)}))
    write_dataset(tmp_path / "theirs.json", [theirs])
    with served_construction(tmp_path, at_once=False) as server:
        config.write_text(config.read_text().replace("[assemble]", '[assemble]\nagainst = ["theirs.json"]'))
        found = command(f"construct run {config}")
        asked = Counter(entry["key"] for entry in server.log_entries())
        text = " ".join(command(f"construct status {work} --json").out.split())
        again = command(f"construct run {config}")
        assert (again.code, len(server.log_entries())) == (0, asked.total()), again.err
    reason = {"id": BY_ID, "text": BY_TEXT}[same]
    assert found.code == 0, found.err
    assert open_drafts(work / "summaries.jsonl").dropped[reason] == 1
    assert f"dropped: {reason}" in found.out
    assert f'"{reason}": 1' in text
    made = [one.query.hypothesis for one in open_dataset(str(work / "dataset" / "test.json"))]
    assert sorted(made) == sorted(one.query.hypothesis for one in others)
    dropped = open_drafts(work / "summaries.jsonl")
    left_out = next(one for one in map(dropped.__getitem__, dropped.offsets) if one.dropped == reason)
    assert left_out.sources_of == {}
    assert left_out.detail.startswith(f"{one.id} of theirs.json: ")
