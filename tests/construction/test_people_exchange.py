"""What is exported to a tool and filled in there as the tool writes it comes back as it was meant."""

import csv
import io
import json
import re
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.construction.people.answers import AnnotationFolder, TaskAnnotation
from evidencebench.construction.people.exchange import TOOLS, collect_annotations
from evidencebench.construction.people.tasks import (
    AnnotationTask,
    Criterion,
    FileDigest,
    TasksFile,
    TasksHeader,
    read_tasks,
    write_tasks,
)
from evidencebench.errors import RunFormatError, RunMismatchError, UnreadableError
from evidencebench.query import Kind
from examples import examples

HOSTILE = (
    *('=HYPERLINK("http://x")', "+1", "-1", "@SUM(A1)", "\t=1", "<script>alert(1)</script>", 'a "b", c;d\te'),
    *("two\nlines\r\nhere", "𝛽-blockers 😀 Ödön", "]]>&amp;", "", "NA", "00012", "1e5"),
)

Marked = dict[str, tuple[int, ...]]
"""Task id -> the sentences that a person marks."""


def tasks_at(folder: Path, texts: tuple[str, ...] = HOSTILE, *, rates: bool = False) -> TasksFile:
    criteria = (Criterion(name="valuable", question='Is it "worth" <it>?'), Criterion(name="relevant", question="?"))
    header = TasksHeader(sort="sentences", seed=0, data=FileDigest(name="d", sha256="00"))
    if rates:
        header = msgspec.structs.replace(header, sort="hypotheses", criteria=criteria)
    task = AnnotationTask(
        id="",
        instance_id="i",
        paper_id="p",
        hypothesis=texts[0],
        aspect="" if rates else f"aspect {texts[1]}",
        sentences=texts,
        kinds=(Kind.BODY,) * len(texts),
    )
    tasks = [msgspec.structs.replace(task, id=f"task_{number}") for number in range(3)]
    write_tasks(folder / "tasks.jsonl", header, tasks)
    return read_tasks(folder / "tasks.jsonl")


def exported(tasks: TasksFile, tool: str) -> bytes:
    made = next(iter(TOOLS[tool].values()))(tasks)
    return made.encode() if isinstance(made, str) else made


def fill_sheet(tasks: TasksFile, marked: Marked, *, delimiter: str = ",") -> bytes:
    rows = list(csv.reader(io.StringIO(exported(tasks, "csv").decode("utf-8-sig"), newline="")))
    target = io.StringIO()
    writer = csv.writer(target, delimiter=delimiter)
    writer.writerow(rows[0])
    task, number, cell = map(rows[0].index, ("task", "number", "is_source"))
    for row in rows[1:]:
        if row[task] in marked:
            row[cell] = "x" if int(row[number]) in marked[row[task]] else "0"
        writer.writerow(row)
    return target.getvalue().encode()


def fill_label_studio(tasks: TasksFile, marked: Marked) -> bytes:
    """Fill in as https://labelstud.io/guide/task_format has it: a region is words of one sentence or several."""
    items = json.loads(exported(tasks, "label-studio"))
    for number, item in enumerate(items):
        span = {"startOffset": 0, "endOffset": 1, "paragraphlabels": ["source"], "text": "x"}
        region = {"id": "r", "type": "paragraphlabels", "from_name": "marks", "to_name": "paper", "origin": "manual"}
        task = item["data"]["evidencebench_task"]
        regions = [
            region | {"value": {"start": str(index), "end": str(index), **span}} for index in marked.get(task, ())
        ]
        result = {"id": number, "result": regions, "was_cancelled": False, "updated_at": "2026-11-22T10:00:00Z"}
        result |= {"completed_by": {"id": 4, "email": "Ada", "first_name": "A"}, "lead_time": 3.5}
        item |= {"id": number, "annotations": [result] if task in marked else [], "predictions": [], "meta": {}}
    return json.dumps(items).encode()


FILLED: dict[str, Callable[[TasksFile, Marked], bytes]] = {"csv": fill_sheet, "label-studio": fill_label_studio}


def read_back(folder: Path, tasks: TasksFile, content: bytes) -> Marked:
    path = folder / "Ada"
    path.write_bytes(content)
    found = collect_annotations([path], tasks)[0].by_annotator
    assert set(found) <= {"Ada"}
    return {task: one.sentences or () for task, one in found.get("Ada", {}).items() if one.is_done}


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=9) | st.sampled_from(HOSTILE)


@pytest.mark.parametrize("tool", TOOLS)
@given(data=st.data())
@examples(60)
def test_marks_come_back_from_every_tool(tool: str, data: st.DataObject) -> None:
    sentences = tuple(data.draw(st.lists(texts, min_size=2, max_size=6)))
    marked: Marked = data.draw(
        st.dictionaries(
            st.sampled_from(["task_0", "task_1", "task_2"]),
            st.sets(st.integers(0, len(sentences) - 1)).map(lambda drawn: tuple(sorted(drawn))),
        )
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tasks = tasks_at(folder, sentences)
        assert read_back(folder, tasks, FILLED[tool](tasks, marked)) == marked


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_sheets_are_read_as_spreadsheets_of_any_country_save_them(tmp_path: Path, delimiter: str) -> None:
    tasks, marked = tasks_at(tmp_path), {"task_0": (2, 5), "task_1": ()}
    content = fill_sheet(tasks, marked, delimiter=delimiter)
    rows = list(csv.reader(io.StringIO(content.decode(), newline=""), delimiter=delimiter))
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]  # no formula
    assert len({len(row) for row in rows}) == 1
    assert read_back(tmp_path, tasks, content) == marked
    assert read_back(tmp_path, tasks, b"\xef\xbb\xbf" + content.replace(b"\r\n", b"\n")) == marked


@pytest.mark.parametrize("rates", [False, True])
def test_the_interface_is_xml_that_holds_no_text_of_papers(tmp_path: Path, *, rates: bool) -> None:
    tasks = tasks_at(tmp_path, rates=rates)
    text = str(TOOLS["label-studio"]["label-studio.xml"](tasks))
    root = ET.fromstring(text)  # noqa: S314 - our own
    assert root.tag == "View"
    assert "script" not in text
    shown = {tag.get("value") for tag in root.iter() if (tag.get("value") or "").startswith("$")}
    (first, *_) = json.loads(exported(tasks, "label-studio"))
    assert shown <= {f"${name}" for name in first["data"]}
    assert {"$paper", "$hypothesis"} <= shown


def test_ratings_come_back_from_every_tool(tmp_path: Path) -> None:
    tasks = tasks_at(tmp_path, rates=True)
    said = {"task_0": {"valuable": True, "relevant": False}, "task_1": {"valuable": True, "relevant": True}}
    rows = list(csv.DictReader(io.StringIO(exported(tasks, "csv").decode("utf-8-sig"), newline="")))
    sheet = io.StringIO()
    writer = csv.DictWriter(sheet, fieldnames=list(rows[0]))
    writer.writeheader()
    for row in rows:
        writer.writerow(row | {name: "yes" if met else "No" for name, met in said.get(row["task"], {}).items()})
    items = json.loads(exported(tasks, "label-studio"))
    for item in items:
        given = said.get(item["data"]["evidencebench_task"], {})
        choices = {name: {"choices": ["yes" if met else "no"]} for name, met in given.items()}
        result = [{"from_name": name, "type": "choices", "value": value} for name, value in choices.items()]
        item["annotations"] = [{"completed_by": 3, "result": result}]
    for content in (sheet.getvalue(), json.dumps(items)):
        (tmp_path / "Ada").write_text(content)
        ((_, found),) = collect_annotations([tmp_path / "Ada"], tasks)[0].by_annotator.items()
        assert {task: one.ratings for task, one in found.items() if one.is_done} == said


def test_the_last_of_two_submissions_counts_without_a_sentence_that_a_mark_only_touches_and_a_skipped_one_does_not(
    tmp_path: Path,
) -> None:
    tasks = tasks_at(tmp_path)
    items = json.loads(fill_label_studio(tasks, {"task_0": (1,), "task_1": (2,)}))
    later = json.loads(fill_label_studio(tasks, {"task_0": (3,)}))[0]["annotations"][0]
    items[0]["annotations"].insert(0, later | {"updated_at": "2026-11-23T00:00:00Z"})
    later["result"][0]["value"] |= {"end": "5", "endOffset": 0}
    items[1]["annotations"][0]["was_cancelled"] = True
    assert read_back(tmp_path, tasks, json.dumps(items).encode()) == {"task_0": (3, 4)}
    _, problems = collect_annotations([tmp_path / "Ada"], tasks)
    assert any("skipped: 1" in problem for problem in problems)
    assert any("nobody has submitted: 1" in problem for problem in problems)


def test_what_is_missing_in_a_sheet_is_counted(tmp_path: Path) -> None:
    tasks = tasks_at(tmp_path, ("a", "b", "c"))
    lines = fill_sheet(tasks, {"task_0": (1,), "task_1": (0,)}).decode().splitlines(keepends=True)
    assert read_back(tmp_path, tasks, "".join(lines[:3] + lines[4:]).encode()) == {"task_1": (0,)}
    _, problems = collect_annotations([tmp_path / "Ada"], tasks)
    assert any("rows missing: left out: 1" in problem for problem in problems)
    assert any("without any filled cell: not done: 1" in problem for problem in problems)


def change(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("tool", "changed", "words"),
    [
        ("csv", change(",0,normal", ",99,normal"), "sentence '99': expected a number, and the paper has 0..2"),
        ("csv", change(",0,normal", f",{'0' * 5000},normal"), "expected a number"),
        ("csv", change("task_0", "task_77"), "no task 'task_77'"),
        ("csv", change(",x,", ",perhaps,"), "expected yes, no, 1, 0, x or nothing, got 'perhaps'"),
        ("csv", change(",1,normal", ",0,normal"), "sentence 0 of task 'task_0' occurs twice"),
        ("csv", change("is_source", "marks"), "with the column 'is_source'"),
        ("label-studio", change('"end": "1"', '"end": "7"'), "sentence 7: the paper has 0..2"),
        ("label-studio", change('"start": "1"', '"start": "-1"'), "Expected `int` >= 0"),
        ("label-studio", change("task_0", "task_77"), "task_77"),
        ("label-studio", change('"data"', '"dat"'), "export of Label Studio of the sort 'JSON'"),
    ],
)
def test_what_does_not_fit_the_tasks_is_refused(
    tmp_path: Path, tool: str, changed: Callable[[str], str], words: str
) -> None:
    tasks = tasks_at(tmp_path, ("a", "b", "c"))
    broken = changed(FILLED[tool](tasks, {"task_0": (1,)}).decode())
    with pytest.raises(RunFormatError, match=re.escape(words)):
        read_back(tmp_path, tasks, broken.encode())


@pytest.mark.parametrize("tool", TOOLS)
def test_answers_to_other_tasks_are_refused(tmp_path: Path, tool: str) -> None:
    tasks = tasks_at(tmp_path, ("a", "b"))
    content = FILLED[tool](tasks, {"task_0": (1,)})
    with pytest.raises(RunMismatchError, match="give the tasks that were exported to this tool"):
        read_back(tmp_path, tasks_at(tmp_path, ("a", "B")), content)


def test_a_folder_of_ours_and_exports_are_read_together_but_no_answer_twice(tmp_path: Path) -> None:
    tasks = tasks_at(tmp_path)
    ours = AnnotationFolder(tmp_path / "people", tasks)
    ours.append("Bo", TaskAnnotation(task="task_0", sentences=(0,), is_done=True))
    (tmp_path / "Ada.csv").write_bytes(fill_sheet(tasks, {"task_0": (1,)}))
    found, _ = collect_annotations([tmp_path / "people", tmp_path / "Ada.csv"], tasks)
    assert set(found.by_annotator) == {"Ada", "Bo"}
    with pytest.raises(RunFormatError, match="a second answer of 'Ada' to task 'task_0'; give each once"):
        collect_annotations([tmp_path / "Ada.csv"] * 2, tasks)
    with pytest.raises(RunFormatError, match="is one annotator's file; give its folder"):
        collect_annotations([ours.path_of("Bo")], tasks)
    with pytest.raises(UnreadableError, match="cannot be read"):
        collect_annotations([tmp_path / "nothing.csv"], tasks)


@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff", b"[", b"{", b"[[]]", b"a,b\n1,2", b'{"text": 1}', b"[" * 100_000]
)
def test_files_of_another_sort_are_refused(tmp_path: Path, content: bytes) -> None:
    tasks = tasks_at(tmp_path)
    (tmp_path / "x").write_bytes(content)
    with pytest.raises((RunFormatError, RunMismatchError, UnreadableError)):
        collect_annotations([tmp_path / "x"], tasks)
