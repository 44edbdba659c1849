"""What the desk's server tells whom: the table, a cell, pictures of pages, exports."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from doors import SECURITY_HEADERS, Address, ReviewTable, review_tasks
from kit.desks import cell_of, filled, make_folder

URL = "http://127.0.0.1:8642"


class Browser:
    """A browser in which a person is signed in at a desk."""

    def __init__(self, table: ReviewTable, name: str, *, is_blind: bool = False) -> None:
        app = review_tasks(table.desk, is_blind=is_blind).make_app(Address())
        self.client = TestClient(app, base_url=URL, headers={"Origin": URL})
        self.name = name
        self.client.post("/api/people/session", json={"name": name}).raise_for_status()

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(f"/api/people/{path}", params={"person": self.name, "list": "review", **query})

    def put(self, in_list: str = "review", **answer: object) -> Any:
        body = {"person": self.name, "list": in_list, "answer": answer}
        return self.client.put("/api/people/answer", json=body)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> ReviewTable:
    return filled(make_folder(tmp_path_factory.mktemp("desk") / "papers"))


def test_a_cell_is_opened_decided_and_told_since_a_stamp(table: ReviewTable) -> None:
    ada, cell = Browser(table, "Ada"), cell_of(table, "printed.pdf", 1)
    queue = ada.get("queue").json()
    task = ada.get("task", id=cell).json()["task"]

    assert len(queue["cells"]) == queue["progress"]["of"] == 6
    assert task["found"]["evidence"][0]["message"].startswith(("Coffee", "Results", "paragraph"))
    assert task["paper"]["kinds"] == "hhbbb"
    ((width, height),) = task["paper"]["pages"]
    assert all(
        0 < left < right < width and 0 < low < top < height for _, left, low, right, top in task["paper"]["boxes"]["2"]
    )
    kept = ada.put(task=cell, of=task["of"], decision="increase", accepted=[2], revision=1, tab="t").json()["answer"]
    assert (kept["decision"], kept["revision"], kept["task"]) == ("increase", 1, cell)
    changed = ada.get("queue", since=queue["stamp"]).json()["cells"]
    assert [(f"{row}.{column}", shown["decision"]) for row, column, shown in changed] == [(cell, "increase")]

    late = ada.put(task=cell, decision="decrease", revision=1)
    assert (late.status_code, late.json()["answer"]["decision"]) == (409, "increase")
    assert ada.put(task=cell, of="moved", decision="decrease", revision=2).status_code == 400
    assert ada.put(task=cell, decision="much", revision=2).status_code == 400
    assert ada.get("task", id="7.7").status_code == 400
    assert ada.get("task", id=cell_of(table, "scan.pdf")).status_code == 400


def test_disputes_are_resolved_by_anybody_and_hidden_while_blind(tmp_path: Path) -> None:
    table = filled(make_folder(tmp_path / "papers"), "bm25")
    ada, bo, cy = (Browser(table, name) for name in ("Ada", "Bo", "Cy"))
    ada.put(task="0.0", decision="increase", accepted=[2])
    bo.put(task="0.0", decision="decrease", accepted=[3], note="see the table")

    (row,) = cy.get("disputes").json()
    assert [(side["person"], side["decision"]) for side in row["sides"]] == [("Ada", "increase"), ("Bo", "decrease")]
    assert [one["id"] for one in cy.get("queue", list="agreed").json()["rows"]] == ["0.0"]
    assert len(cy.get("task", list="agreed", id="0.0").json()["task"]["others"]) == 2
    assert cy.put("agreed", task="0.0", decision="decrease", accepted=[3]).status_code == 200
    assert cy.get("disputes").json()[0]["agreed"]["decided_by"] == "Cy"
    assert next(shown["agreed"] for _, _, shown in ada.get("queue").json()["cells"]) == "decrease"

    blind = Browser(table, "Ada", is_blind=True)
    assert blind.get("disputes").json() == []
    assert blind.get("queue", list="agreed").json()["rows"] == []
    assert blind.get("task", id="0.0").json()["task"]["others"] == []
    assert blind.get("task", id="0.0", list="agreed").status_code == 400
    assert blind.put("agreed", task="0.0", decision="decrease", revision=2).status_code == 400
    assert not any(shown["agreed"] or shown["disputed"] for _, _, shown in blind.get("queue").json()["cells"])
    assert blind.get("export", format="csv").status_code == 403


def test_exports_are_attachments_and_pages_are_pictures(table: ReviewTable) -> None:
    ada = Browser(table, "Ada")
    book = ada.get("export", format="xlsx")
    assert book.headers["content-disposition"] == 'attachment; filename="review.xlsx"'
    assert "xl/workbook.xml" in zipfile.ZipFile(io.BytesIO(book.content)).namelist()
    assert ada.get("export", format="exe").status_code == 404

    row = cell_of(table, "printed.pdf").partition(".")[0]
    picture = ada.get("page", paper=row, n=1, scale=0.5)
    assert picture.headers["content-type"] == "image/png"
    assert picture.content.startswith(b"\x89PNG")
    assert int.from_bytes(picture.content[16:20]) == 298  # half of A4's width
    assert {name: picture.headers[name] for name in SECURITY_HEADERS} == SECURITY_HEADERS
    wrong = [
        {"paper": row, "n": 2},
        {"paper": row, "n": 0},
        {"paper": row, "n": 1, "scale": 99},
        {"paper": row, "n": "nan", "scale": 1},
    ]
    assert [ada.get("page", **one).status_code for one in wrong] == [422, 422, 422, 400]
    assert ada.get("page", paper=row, n=1, scale="nan").status_code == 422
    assert ada.get("page", paper=99, n=1).status_code == ada.get("page", paper=-1, n=1).status_code == 404
    assert ada.get("page", paper=cell_of(table, "paper_0.txt").partition(".")[0], n=1).status_code == 404


def test_nobody_is_told_anything_without_having_signed_in(table: ReviewTable) -> None:
    distractor = TestClient(review_tasks(table.desk, is_blind=False).make_app(Address()), base_url=URL)
    for path in ("queue", "task", "disputes", "page", "export"):
        found = distractor.get(f"/api/people/{path}", params={"person": "Ada", "list": "review", "format": "csv"})
        assert found.status_code == 401, path
    assert (
        distractor.get("/api/people/export?person=Ada&format=csv", headers={"Sec-Fetch-Site": "cross-site"}).status_code
        == 403
    )


def test_the_page_is_the_desk(table: ReviewTable) -> None:
    ada = Browser(table, "Ada")
    assert "<title>Review of papers</title>" in ada.client.get("/").text
    about = ada.client.get("/api/people/session").json()
    assert [one["name"] for one in about["kinds"]] == ["effect", "number", "text", "yes/no", "choice"]
    assert about["formats"] == ["csv", "xlsx", "ris", "docx", "pdf", "data"]
