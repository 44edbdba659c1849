"""The list as a CSV file: all that is found, every system on one task, and no cell that a spreadsheet runs."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from doors import ViewerData, viewer_data_of
from evidencebench import load_sample, open_dataset, write_dataset
from kit.asking_app import Reply, Running, running
from kit.patience import MOST_SECONDS

SAMPLE = load_sample()


def lines_of(reply: Reply) -> list[dict[str, str]]:
    assert reply.status == 200, reply
    assert reply.headers["content-type"].startswith("text/csv")
    assert "papers.csv" in reply.headers["content-disposition"]
    return list(csv.DictReader(reply.body.decode().splitlines()))


def test_it_has_what_the_list_has(app: Running, sample_viewed: ViewerData) -> None:
    app.scan.wait(MOST_SECONDS)
    asked = "task=1&a=0&sort=length&order=desc&only=has_results"
    rows = app.ask(f"/api/rows?n=200&{asked}").json["rows"]
    lines = lines_of(app.ask(f"/api/papers.csv?{asked}"))
    assert 0 < len(rows) < len(SAMPLE)
    assert [line["id"] for line in lines] == [row["id"] for row in rows]
    assert [line["hypothesis"] for line in lines] == [row["hypothesis"] for row in rows]
    task = sample_viewed.tasks[1].name
    for place, system in enumerate(sample_viewed.systems):
        shown = [line[f"{system.record.label}, {task}"] for line in lines]
        assert shown == [str(row["recalls"][place][1]) for row in rows]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", " =", "\t=", "\uff1d"])
def test_no_cell_is_a_formula(start: str, tmp_path: Path) -> None:
    texts = [f'{start}HYPERLINK("http://a.b","c")', 'plain, with "quotes"']
    queries = [replace(SAMPLE[0].query, instance_id=f"{start}1{n}", hypothesis=text) for n, text in enumerate(texts)]
    instances = [replace(SAMPLE[0], query=query, origin=None) for query in queries]
    write_dataset(tmp_path / "data.json", instances)
    with running(viewer_data_of([], open_dataset(tmp_path / "data.json"))) as app:
        app.scan.wait(MOST_SECONDS)
        lines = lines_of(app.ask("/api/papers.csv", task=0))
    assert [line["hypothesis"] for line in lines] == [f"'{texts[0]}", texts[1]]
    assert [line["id"] for line in lines] == [f"'{start}10", f"'{start}11"]


def test_a_list_that_is_not_complete_is_not_saved(sample_viewed: ViewerData) -> None:
    with running(sample_viewed, is_scanned=False) as app:
        reply = app.ask("/api/papers.csv", task=0)
    assert reply.status == 409
    assert "not all papers are read yet" in reply.error
