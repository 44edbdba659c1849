"""Tasks and annotations come back as they were written, and what does not belong together is refused."""

import tempfile
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.construction.people.answers import ADJUDICATED, AnnotationFolder, TaskAnnotation, read_annotations
from evidencebench.construction.people.tasks import (
    AnnotationTask,
    Criterion,
    FileDigest,
    TasksFile,
    TasksHeader,
    read_tasks,
    write_tasks,
)
from evidencebench.errors import PeopleError, RunFormatError, RunMismatchError, StaleError, UnreadableError
from evidencebench.query import Kind
from examples import examples

SOURCE = FileDigest(name="tea.json", sha256="ab" * 32)
MARKING = TasksHeader(sort="sentences", seed=7, data=SOURCE)
RATING = TasksHeader(sort="hypotheses", seed=7, data=SOURCE, criteria=(Criterion(name="valuable", question="Is it?"),))
TEA = AnnotationTask(
    id="task_1",
    instance_id="a",
    paper_id="p",
    hypothesis="Tea lowers blood pressure.",
    aspect_id="a_1",
    aspect="Pressure fell by 3 mmHg.",
    sentences=("Results", "Pressure fell."),
    kinds=(Kind.HEADING, Kind.BODY),
)
BREAD = msgspec.structs.replace(TEA, id="task_2", instance_id="b", paper_id="q")
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def tasks_at(path: Path, header: TasksHeader = MARKING) -> TasksFile:
    write_tasks(path, header, [TEA, BREAD])
    return read_tasks(path)


def folder_at(path: Path, header: TasksHeader = MARKING) -> AnnotationFolder:
    return AnnotationFolder(path / "people", tasks_at(path / "tasks.jsonl", header), clock=lambda: NOON)


def marked(*sentences: int, task: str = "task_1", revision: int = 1, is_done: bool = True) -> TaskAnnotation:
    return TaskAnnotation(task=task, sentences=sentences, revision=revision, is_done=is_done)


texts = st.text(st.characters(codec="utf-8"), max_size=12)


@given(
    st.lists(
        st.builds(
            lambda text, pairs: msgspec.structs.replace(
                TEA, aspect=text, summary=text, sentences=tuple(s for s, _ in pairs), kinds=tuple(k for _, k in pairs)
            ),
            texts,
            st.lists(st.tuples(texts, st.sampled_from(Kind)), max_size=4),
        ),
        min_size=1,
        max_size=4,
    )
)
@examples(50)
def test_tasks_come_back_as_they_were_written(drawn: list[AnnotationTask]) -> None:
    tasks = [msgspec.structs.replace(task, id=f"task_{number}") for number, task in enumerate(drawn)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tasks.jsonl")
        write_tasks(path, MARKING, tasks)
        found = read_tasks(path)
        write_tasks(path, MARKING, tasks)
        assert (found.header, list(found.records)) == (MARKING, tasks)
        assert read_tasks(path).sha256 == found.sha256


@given(st.lists(st.tuples(st.sampled_from(["Ada", "Bo"]), st.sampled_from([TEA, BREAD]), st.sets(st.integers(0, 1)))))
@examples(50)
def test_the_last_action_of_a_task_counts(actions: list[tuple[str, AnnotationTask, set[int]]]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = folder_at(Path(temporary))
        expected: dict[str, dict[str, tuple[int, ...]]] = {}
        for name, task, sentences in actions:
            revision = getattr(folder.answers_of(name).get(task.id), "revision", 0) + 1
            folder.append(name, marked(*sorted(sentences), task=task.id, revision=revision))
            expected.setdefault(name, {})[task.id] = tuple(sorted(sentences))
        found = folder.read().by_annotator
        assert {n: {task: one.sentences for task, one in by.items()} for n, by in found.items()} == expected
        assert all(one.at == NOON.isoformat() for by in found.values() for one in by.values())


def test_a_task_that_another_tab_changed_is_refused_and_one_sent_again_is_not_written_twice(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    folder.append("Ada", marked(1))
    with pytest.raises(StaleError, match="changed elsewhere"):
        folder.append("Ada", marked(0))
    folder.append("Ada", marked(1))
    assert len(folder.path_of("Ada").read_bytes().splitlines()) == 2


def test_a_torn_last_line_is_left_out_and_mended(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    folder.append("Ada", marked(1))
    path = folder.path_of("Ada")
    whole = path.read_bytes()
    folder.append("Ada", marked(0, task="task_2"))
    added = path.read_bytes()[len(whole) :]
    for n_bytes in range(len(added) - 1):
        path.write_bytes(whole + added[:n_bytes])
        assert set(folder.answers_of("Ada")) == {"task_1"}
    folder.append("Ada", marked(0, task="task_2"))
    assert path.read_bytes() == whole + added


def test_decisions_are_kept_apart_from_annotators(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    folder.append("adjudicated", marked(1))
    folder.decide("Cleo", marked(0))
    found = read_annotations(folder.folder, folder.tasks)
    assert set(found.by_annotator) == {"adjudicated"}
    assert (found.adjudicated["task_1"].sentences, found.adjudicated["task_1"].decided_by) == ((0,), "Cleo")
    assert (folder.folder / ADJUDICATED).exists()


def test_annotations_of_other_tasks_and_a_folder_without_any_are_refused(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    folder.append("Ada", marked(1))
    write_tasks(tmp_path / "tasks.jsonl", MARKING, [BREAD])
    with pytest.raises(RunMismatchError, match="give the tasks that it was begun with"):
        read_annotations(folder.folder, read_tasks(tmp_path / "tasks.jsonl"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableError, match="evidencebench agreement annotate"):
        read_annotations(tmp_path / "empty", read_tasks(tmp_path / "tasks.jsonl"))


@pytest.mark.parametrize(
    ("header", "annotation", "words"),
    [
        (MARKING, marked(2), "sentence 2: the paper has 0..1"),
        (MARKING, marked(-1), "sentence -1: the paper has 0..1"),
        (MARKING, marked(1, 0), "ascending, each once"),
        (MARKING, marked(1, task="task_9"), "no task 'task_9'"),
        (MARKING, TaskAnnotation(task="task_1", ratings={}), "expected marked sentences"),
        (RATING, marked(1), "expected ratings"),
        (RATING, TaskAnnotation(task="task_1", ratings={"nice": True}), "no criterion 'nice'"),
        (RATING, TaskAnnotation(task="task_1", ratings={}, is_done=True), "not rated: valuable"),
    ],
)
def test_an_annotation_that_names_what_is_not_there_is_refused(
    tmp_path: Path, header: TasksHeader, annotation: TaskAnnotation, words: str
) -> None:
    folder = folder_at(tmp_path, header)
    with pytest.raises(PeopleError, match=words):
        folder.append("Ada", annotation)
    assert not folder.folder.exists()


@pytest.mark.parametrize(
    ("header", "task", "words"),
    [
        (msgspec.structs.replace(RATING, criteria=()), TEA, "line 1: expected criteria for 'hypotheses' only"),
        (MARKING, msgspec.structs.replace(TEA, kinds=()), "line 2: expected a kind for each of 2 sentences, got 0"),
    ],
)
def test_a_file_whose_tasks_make_no_sense_is_refused(
    tmp_path: Path, header: TasksHeader, task: AnnotationTask, words: str
) -> None:
    path = tmp_path / "tasks.jsonl"
    write_tasks(path, header, [task])
    with pytest.raises(RunFormatError, match=words):
        read_tasks(path)
