"""What the server of tasks tells whom: people see their own answers, and disputes only of what they have done."""

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from doors import Address, AnnotationTask, FileDigest, TasksHeader, annotation_tasks, read_tasks, write_tasks
from evidencebench import Kind

URL = "http://127.0.0.1:8642"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with two tasks of three sentences."""
    header = TasksHeader(sort="sentences", seed=0, data=FileDigest(name="tea.json", sha256="ab" * 32))
    tasks = [
        AnnotationTask(
            id=f"task_{number}",
            instance_id="i",
            paper_id="p",
            hypothesis="Tea lowers blood pressure.",
            aspect="Pressure fell.",
            sentences=("Results", "Pressure fell.", "Pulse did not."),
            kinds=(Kind.HEADING, Kind.BODY, Kind.BODY),
        )
        for number in (1, 2)
    ]
    write_tasks(tmp_path / "tasks.jsonl", header, tasks)
    return tmp_path


class Browser:
    """A browser in which a person is signed in."""

    def __init__(self, folder: Path, name: str) -> None:
        app = annotation_tasks(read_tasks(folder / "tasks.jsonl"), folder / "people", source="work")
        self.client = TestClient(app.make_app(Address()), base_url=URL, headers={"Origin": URL})
        self.name = name
        self.client.post("/api/people/session", json={"name": name}).raise_for_status()

    def get(self, path: str, **query: str) -> Any:
        return self.client.get(f"/api/people/{path}", params={"person": self.name, **query})

    def put(self, answer: object, in_list: str = "tasks", **changed: str) -> Any:
        body = {"person": self.name, "list": in_list, "answer": answer, **changed}
        return self.client.put("/api/people/answer", json=body)

    def mark(self, task: str, *sentences: int, is_done: bool = True, revision: int = 1, **options: str) -> Any:
        answer = {"answer": "marks", "id": task, "sentences": sentences, "is_done": is_done, "revision": revision}
        return self.put(answer, **options)

    def disputes(self) -> list[str]:
        return [row["id"] for row in self.get("queue", list="adjudication").json()["rows"]]


def test_nobody_sees_the_answers_of_another(folder: Path) -> None:
    ada, bo = Browser(folder, "Ada"), Browser(folder, "Bo")
    assert ada.mark("task_1", 1).status_code == 200

    assert ada.get("task", list="tasks", id="task_1").json()["answer"]["sentences"] == [1]
    assert bo.get("task", list="tasks", id="task_1").json()["answer"] is None
    assert [row["status"] for row in ada.get("queue", list="tasks").json()["rows"]] == ["done", "open"]
    assert [row["status"] for row in bo.get("queue", list="tasks").json()["rows"]] == ["open", "open"]
    assert bo.client.get("/api/people/task?list=tasks&id=task_1&person=Ada").status_code == 401


def test_a_dispute_is_shown_to_those_who_are_done_with_its_task_and_to_those_who_annotate_nothing(folder: Path) -> None:
    ada, bo, cy, dee = (Browser(folder, name) for name in ("Ada", "Bo", "Cy", "Dee"))
    for task in ("task_1", "task_2"):
        ada.mark(task, 1)
        bo.mark(task, 2)
    cy.mark("task_2", 1)
    cy.mark("task_1", 1, is_done=False)

    assert ada.disputes() == bo.disputes() == dee.disputes() == ["task_1", "task_2"]
    assert cy.disputes() == ["task_2"]
    assert cy.get("task", list="adjudication", id="task_1").status_code == 404
    assert cy.mark("task_1", 1, in_list="adjudication").status_code == 404
    assert set(dee.get("task", list="adjudication", id="task_1").json()["task"]["said"]) == {"Ada", "Bo"}


def test_a_decision_names_who_decided_whatever_the_page_says(folder: Path) -> None:
    ada, bo = Browser(folder, "Ada"), Browser(folder, "Bo")
    ada.mark("task_1", 1)
    bo.mark("task_1", 2)
    answer = {"answer": "marks", "id": "task_1", "sentences": [1, 2], "is_done": True, "by": "Ada", "at": "1999-01-01"}

    kept = bo.put(answer, "adjudication").json()["answer"]
    assert (kept["by"], kept["at"][:2]) == ("Bo", "20")
    own = ada.put({**answer, "id": "task_2", "by": "another tool"}).json()["answer"]
    assert own["by"] == ""


def test_what_another_tab_has_changed_comes_back(folder: Path) -> None:
    ada = Browser(folder, "Ada")
    ada.mark("task_1", 1)
    late = ada.mark("task_1", 2)

    assert late.status_code == 409
    assert (late.json()["answer"]["sentences"], late.json()["answer"]["revision"]) == ([1], 1)
    assert "changed elsewhere" in late.json()["error"]


@pytest.mark.parametrize(
    ("answer", "status", "told"),
    [
        ({"answer": "marks", "id": "task_1", "sentences": [3]}, 400, "sentence 3: the paper has 0..2"),
        ({"answer": "marks", "id": "task_1", "sentences": ["1"]}, 400, "not what the page sends"),
        ({"answer": "ratings", "id": "task_1", "ratings": {"a": True}}, 400, "not what the page sends"),
        ({"answer": "marks", "id": "task_9", "sentences": []}, 404, "no such task"),
        ([], 400, "not what the page sends"),
    ],
)
def test_what_no_page_sends_is_refused(folder: Path, answer: object, status: int, told: str) -> None:
    found = Browser(folder, "Ada").put(answer)

    assert (found.status_code, told in found.json()["error"]) == (status, True), found.json()
    assert not (folder / "people").exists()


def test_nobody_signs_in_by_a_name_that_reports_give_another_rater(folder: Path) -> None:
    client = Browser(folder, "Ada").client
    for name in ("model", " people  together"):
        refused = client.post("/api/people/session", json={"name": name})
        assert (refused.status_code, "choose another name" in refused.json()["error"]) == (400, True)


def test_a_damaged_file_is_told_without_the_path_of_its_folder(folder: Path) -> None:
    ada = Browser(folder, "Ada")
    ada.mark("task_1", 1)
    (path,) = (folder / "people").glob("*.jsonl")
    path.write_text(path.read_text().replace('"task_1"', '"task_7"').replace("crc", "was"))
    found = ada.get("queue", list="tasks")

    assert found.status_code == 503
    assert f"people/{path.name}: line 2: no task 'task_7'" in found.json()["error"]
    assert str(folder) not in found.json()["error"]
    assert ada.get("queue", list="nothing").status_code == 404
