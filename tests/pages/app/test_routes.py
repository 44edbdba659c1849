"""The app's responses, against the records of the viewer."""

import json
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doors import BackgroundScan, SearchIndex, ViewerData, sample_path, viewer_data_of
from evidencebench import Dataset, execute, load_sample, open_dataset, task_named
from kit.asking_app import Running, running
from kit.patience import MOST_SECONDS

SAMPLE = load_sample()


def records(viewed: ViewerData) -> tuple[Any, Any]:
    """Return all rows and all instances as JSON values."""
    numbered = list(enumerate(viewed.dataset))
    rows = [viewed.row(position, instance) for position, instance in numbered]
    instances = [viewed.record(position, instance) for position, instance in numbered]
    return json.loads(msgspec.json.encode(rows)), json.loads(msgspec.json.encode(instances))


def test_it_answers_with_the_records_of_what_is_viewed_and_nothing_beyond_the_end(
    app: Running, sample_viewed: ViewerData
) -> None:
    rows, instances = records(sample_viewed)
    assert app.ask("/api/overview").json == json.loads(msgspec.json.encode(sample_viewed.overview()))
    found = app.ask("/api/rows").json
    assert found == {
        "n_found": len(SAMPLE),
        "n_without_results": sum(row["n_results"] == 0 for row in rows),
        "means": [None, None, None],
        "n_means": 0,
        "found": [],
        "rows": rows,
        "n_searched": len(SAMPLE),
        "n_scored": len(SAMPLE),
        "n_instances": len(SAMPLE),
    }
    for position, instance_id in enumerate(SAMPLE.ids):
        assert app.ask("/api/instances", id=instance_id).json == instances[position]
        assert app.ask("/api/instances", position=position).json == instances[position]
    assert app.ask("/api/rows", offset=999_999_999).json["rows"] == []


def test_means_and_counts_of_the_list_are_those_of_its_rows(app: Running, sample_viewed: ViewerData) -> None:
    rows, instances = records(sample_viewed)
    names = [system.record.label for system in sample_viewed.systems]
    task, lead, oracle = 1, names.index("lead"), names.index("oracle")
    assert [shown.record.is_counted for shown in sample_viewed.systems] == [name != "oracle" for name in names]
    counted = [place for place in range(len(names)) if place != oracle]
    by_number = [0] * (len(counted) + 1)
    for row, instance in zip(rows, instances, strict=True):
        of_row = [0] * len(by_number)
        for aspect in instance["aspects"]:
            selected = [{*instance["answers"][place][task]["certain"]} for place in counted]
            of_row[sum(not held.isdisjoint(aspect["sentences"]) for held in selected)] += bool(aspect["sentences"])
        assert row["found"][task] == of_row[: len(row["found"][task])]
        assert not any(of_row[len(row["found"][task]) :])
        by_number = [one + other for one, other in zip(by_number, of_row, strict=True)]
    found = app.ask("/api/rows", task=task, a=lead).json
    assert found["found"] == by_number
    recalls = [[row["recalls"][place][task] for row in rows] for place in (lead, oracle)]
    means = [sum(of_system) / len(rows) for of_system in recalls]
    assert found["means"] == [pytest.approx(means[0]), None, pytest.approx(means[1])]
    assert found["n_means"] == len(rows)
    missed = [row["position"] for row in rows if row["found"][task][0]]
    assert [row["position"] for row in app.ask("/api/rows", task=task, found=0).json["rows"]] == missed


def test_a_run_counts_once_beside_the_control_of_its_name_and_changed_queries_do_not_count(tmp_path: Path) -> None:
    execute("lead", SAMPLE, tmp_path / "first.jsonl")
    execute("oracle", SAMPLE, tmp_path / "best.jsonl")
    execute("bm25", SAMPLE, tmp_path / "wrong.jsonl", control="wrong_hypothesis")
    systems = viewer_data_of([tmp_path / f"{name}.jsonl" for name in ("first", "best", "wrong")], SAMPLE).systems
    counted = [(shown.record.label, shown.record.is_control) for shown in systems if shown.record.is_counted]
    assert counted == [("lead", False), ("abstract_backwards", True)]


def test_a_paper_without_an_answer_is_found_by_the_system_that_gave_none(tmp_path: Path) -> None:
    run = tmp_path / "mine.jsonl"
    answers = [{"id": SAMPLE.ids[0], "sentences": [1]}, {"id": SAMPLE.ids[1], "sentences": []}]
    answers += [{"id": SAMPLE.ids[2], "error": "timeout"}]
    run.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    with running(viewer_data_of([run], SAMPLE, [task_named("er_at_10")])) as app:
        app.scan.wait(MOST_SECONDS)
        found = app.ask("/api/rows", task=0, a=0, only="no_answer").json
    assert [row["position"] for row in found["rows"]] == list(range(1, len(SAMPLE)))


def test_a_search_says_where_its_words_are(app: Running) -> None:
    word = max(SAMPLE[3].query.sentences[4].split(), key=len).strip(".,")
    row = next(row for row in app.ask("/api/rows", q=word).json["rows"] if row["position"] == 3)
    holding = [index for index, text in enumerate(SAMPLE[3].query.sentences) if word.lower() in text.lower()]
    assert row["hits"] == {"n": len(holding), "index": holding[0], "text": SAMPLE[3].query.sentences[holding[0]]}
    assert all("hits" not in row for row in app.ask(f"/api/rows?in=hypothesis&q={word}").json["rows"])
    assert all("hits" not in row for row in app.ask("/api/rows").json["rows"])


def test_rows_are_the_same_before_they_are_known(sample_viewed: ViewerData, app: Running) -> None:
    known = app.ask("/api/rows", n=5, offset=3).json
    with running(sample_viewed, is_scanned=False) as unknown:
        found = unknown.ask("/api/rows", n=5, offset=3).json
    assert found["rows"] == known["rows"]
    assert (found["n_scored"], found["n_searched"]) == (0, 0)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"n": 0x7FFFFFFFFF}, "Expected `int` <= 200 - at `$.n`"),
        ({"n": "0"}, "Expected `int` >= 1 - at `$.n`"),
        ({"n": "\uff11"}, "Expected `int`, got `str` - at `$.n`"),
        ({"offset": "1.5"}, "Expected `int`, got `str` - at `$.offset`"),
        ({"task": 99}, "task: expected a number below 5"),
        ({"a": 3}, "a, b: expected numbers below 3"),
        ({"b": ""}, "at `$.b`"),
        ({"sort": "id"}, "Invalid enum value 'id' - at `$.sort`"),
        ({"in": "title"}, "Invalid enum value 'title' - at `$.in`"),
        ({"found": "-1"}, "Expected `int` >= 0 - at `$.found`"),
        ({"q": "a" * 1001}, "Expected `str` of length <= 1000 - at `$.q`"),
    ],
)
def test_what_is_asked_wrongly_is_answered_in_words(app: Running, asked: dict[str, Any], said: str) -> None:
    reply = app.ask("/api/rows", **asked)
    assert reply.status == 400
    assert reply.error.endswith(said)


def test_errors_are_json_in_words_and_tell_nothing_of_the_machine(app: Running) -> None:
    unknown = app.ask("/api/instances", id="<script>")
    assert (unknown.status, unknown.error) == (404, "there is no paper '<script>' in sample.json")
    assert app.ask("/api/instances").error.startswith("expected the id of a paper, or a position below")
    wrong_way = app.post("/api/rows", {})
    assert (wrong_way.status, wrong_way.error) == (405, "this page cannot be asked in that way")
    for reply in (unknown, wrong_way, app.ask("/api/instances", id=str(sample_path()) * 20)):
        assert b"Traceback" not in reply.body
        assert b"site-packages" not in reply.body


def changed(tmp_path: Path, *, instance_id: str | None = None, **fields: Any) -> Dataset:
    """Return the sample with its third instance changed."""
    data = json.loads(sample_path().read_text())
    third = SAMPLE.ids[2]
    changed_id = instance_id or third
    data = {(changed_id if name == third else name): fields_of for name, fields_of in data.items()}
    data[changed_id] |= fields
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(data))
    return open_dataset(path)


def test_an_instance_that_cannot_be_read_is_said_to_be_so_and_the_others_are_shown(tmp_path: Path) -> None:
    dataset = changed(tmp_path, paper_as_candidate_pool=7)
    with running(viewer_data_of([], dataset)) as app:
        app.scan.wait(MOST_SECONDS)
        found = app.ask("/api/rows").json
        assert (found["n_searched"], found["n_scored"], found["n_found"]) == (len(SAMPLE),) * 3
        assert found["rows"][2]["hypothesis"] == "(this paper cannot be shown)"
        assert found["rows"][3]["id"] == SAMPLE.ids[3]
        broken = app.ask("/api/instances", id=SAMPLE.ids[2])
        assert broken.status == 500
        assert "paper_as_candidate_pool" in broken.error
        assert str(tmp_path) not in broken.error
        assert "changed.json" in broken.error


HOSTILE = "</script><script>alert(1)</script>\u202e\x00😀 & \"'"


def test_hostile_texts_come_through_as_they_are(tmp_path: Path) -> None:
    dataset = changed(tmp_path, hypothesis=HOSTILE, instance_id=f"{HOSTILE}/../%2e?#")
    with running(viewer_data_of([], dataset, title=HOSTILE)) as app:
        row = app.ask("/api/rows", offset=2, n=1).json["rows"][0]
        assert row["hypothesis"] == HOSTILE
        record = app.ask("/api/instances", id=row["id"]).json
        assert record["paper"]["id"] == f"{HOSTILE}/../%2e?#"
        page = app.ask("/")
        assert b"alert(1)</script>" not in page.body
        assert b"</script>" not in app.ask("/api/overview").body


def test_names_that_are_no_text_are_shown_all_the_same(sample_viewed: ViewerData) -> None:
    """A file name may hold bytes that are not UTF-8; Python reads them as lone surrogates."""
    record = msgspec.structs.replace(sample_viewed.systems[0].record, label="run\udcff.jsonl")
    systems = (replace(sample_viewed.systems[0], record=record), *sample_viewed.systems[1:])
    with running(replace(sample_viewed, systems=systems, title="data\udcff")) as app:
        assert app.ask("/").status == 200
        assert app.ask("/api/overview").json["systems"][0]["label"] == "run\udcff.jsonl"


def test_one_word_of_a_megabyte_is_a_word(tmp_path: Path) -> None:
    word = "a" * (1 << 20)
    dataset = changed(tmp_path, hypothesis=word, instance_id=word)
    with running(viewer_data_of([], dataset)) as app:
        app.scan.wait(MOST_SECONDS)
        found = app.ask("/api/rows", q="a" * 1000).json
        assert [row["position"] for row in found["rows"]] == [2]
        assert app.ask("/api/instances", position=2).json["paper"]["hypothesis"] == word


def test_a_data_file_that_is_cut_short_ends_neither_the_app_nor_the_scan(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dataset = changed(tmp_path)
    with running(viewer_data_of([], dataset), is_scanned=False) as app:
        assert app.ask("/api/rows", n=1).status == 200
        os.truncate(dataset.path, 0)
        for reply in (app.ask("/api/rows"), app.ask("/api/instances", id=SAMPLE.ids[0])):
            assert reply.status == 503
            assert reply.error == "the data file has changed since the app was started; start it again"
        app.scan.start()
        app.scan.wait(MOST_SECONDS)
        assert app.scan.columns.n_known == 1
    assert f"{dataset.path}: the data file has changed since it was opened; start again" in caplog.text


def test_a_data_file_that_is_cut_short_while_a_page_is_read_from_it_does_not_end_the_app(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    fields = json.loads(sample_path().read_bytes())[SAMPLE.ids[0]]
    path.write_text(json.dumps({"id": SAMPLE.ids[0], **fields, "note": "word " * 4_000_000}) + "\n")
    with running(viewer_data_of([], open_dataset(path)), is_scanned=False) as app, ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(app.ask, "/api/instances", position=0) for _ in range(12)]
        assert asked[0].result().status == 200
        os.truncate(path, 10_000)
        assert {reply.result().status for reply in asked} == {200, 503}
        assert app.ask("/api/overview").status == 200


def test_a_run_that_is_cut_short_is_shown_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "bm25.jsonl"
    execute("bm25", SAMPLE, path)
    with running(viewer_data_of([path], SAMPLE, [task_named("er_at_10")]), is_scanned=False) as app:
        os.truncate(path, 0)
        answers = app.ask("/api/instances", id=SAMPLE.ids[0]).json["answers"]
        assert answers[0][0]["status"] == "answered"
        assert app.ask("/api/rows").status == 200


def test_what_nobody_foresaw_is_told_on_the_terminal_only(
    sample_viewed: ViewerData, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError(str(sample_path()))

    monkeypatch.setattr(ViewerData, "record", fail)
    with running(sample_viewed) as app:
        reply = app.ask("/api/instances", id=SAMPLE.ids[0])
    assert (reply.status, reply.error) == (500, "the app failed; the terminal that it runs in says how")
    assert "ZeroDivisionError" in caplog.text
    assert "the app failed to answer /api/instances" in caplog.text


def test_a_scan_can_be_stopped_before_its_end() -> None:
    scan = BackgroundScan(viewer_data_of([], SAMPLE))
    scan.start()
    scan.close()
    assert scan.columns.n_known <= len(SAMPLE)


def test_where_the_disk_is_full_the_search_finds_what_it_has_and_the_scores_go_on(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(SearchIndex, "add", fail)
    with closing(BackgroundScan(viewer_data_of([], SAMPLE, [task_named("er_at_1")]))) as scan:
        scan.start()
        scan.wait(MOST_SECONDS)
        assert (scan.search.n_searched, scan.columns.n_known) == (0, len(SAMPLE))
    assert "the search finds the first 0 instances only: database or disk is full" in caplog.text
