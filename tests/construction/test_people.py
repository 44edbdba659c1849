"""What people are asked is drawn fairly and blind, and comes back as it was meant, also from other tools."""

import csv
import io
import json
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import (
    TOOLS,
    Annotation,
    Annotations,
    AnnotationTask,
    AnswerFolder,
    AspectLabels,
    CitedPassage,
    Criterion,
    DataError,
    FileDigest,
    Judging,
    JudgingRound,
    MarksAnswer,
    PeopleError,
    RatingsAnswer,
    RunFormatError,
    RunMismatchError,
    StaleError,
    TasksFile,
    TasksHeader,
    TaskSort,
    UnreadableError,
    WindowVote,
    annotation_folder,
    draw_tasks,
    keep_answers,
    read_labels,
    read_tasks,
    write_tasks,
)
from evidencebench import Draft, Instance, Kind, open_dataset, write_dataset
from kit.examples import examples
from kit.labelled_papers import marked_papers, paper
from kit.trial_constructions import write_drafts


def data_at(folder: Path, papers: list[Instance]) -> str:
    """Write papers, and return where they are."""
    folder.mkdir(exist_ok=True)
    write_dataset(folder / "papers.json", papers)
    return str(folder / "papers.json")


def drafts_of(papers: list[Instance], votes: Mapping[str, tuple[WindowVote, ...]] = {}) -> list[Draft]:
    """Return the drafts that the papers were made of; ``votes`` are those of aspects, by their text."""
    drafts = []
    for one in papers:
        texts = tuple(one.labels.texts.values())
        voted = JudgingRound(model="m", prompt="p", votes=tuple(votes.get(text, ()) for text in texts))
        judging = Judging(
            paper_sha256="",
            n_sentences=8,
            window=10,
            overlap=5,
            rounds=(voted,),
            sources=tuple(one.labels.sources[aspect] for aspect in one.labels.aspects),
        )
        draft = Draft(
            id=one.id,
            review_id="r",
            paper_id=one.query.paper_id,
            summary=f"a summary of {one.query.paper_id}",
            hypothesis=one.query.hypothesis,
            aspects=texts,
            judging=judging,
        )
        drafts.append(draft)
    return drafts


def test_each_paper_is_drawn_once_with_one_aspect_and_all_its_sentences(tmp_path: Path) -> None:
    papers = [*marked_papers(6), paper(7, paper_id="p1", text="reports")]  # two instances of one paper
    source = data_at(tmp_path, papers)
    header, tasks = draw_tasks(source, n=6, seed=3)
    dataset = open_dataset(source)
    assert sorted(task.paper_id for task in tasks) == ["p1", "p2", "p3", "p4", "p5", "p6"]
    assert [task.id for task in tasks] == [f"task_{number}" for number in range(1, 7)]
    for task in tasks:
        instance = dataset[task.instance_id]
        assert task.sentences == instance.query.sentences
        assert task.aspect == instance.labels.texts[task.aspect_id]
    assert header.population == {"papers": 6}
    assert len(draw_tasks(source, n=99)[1]) == 6


def test_papers_and_their_aspects_are_equally_likely(tmp_path: Path) -> None:
    source = data_at(tmp_path, marked_papers(4))
    drawn = Counter(
        (task.paper_id, task.aspect_id) for seed in range(800) for task in draw_tasks(source, n=1, seed=seed)[1]
    )
    assert len(drawn) == 8
    assert all(60 < n < 140 for n in drawn.values()), "100 are expected of each, with a standard deviation of 9.4"


def test_pairs_are_drawn_half_and_half_with_the_sentences_around_them(tmp_path: Path) -> None:
    source, shown = data_at(tmp_path, marked_papers(4)), Counter[tuple[str, str, bool]]()
    for seed in range(400):
        header, tasks = draw_tasks(source, sort="pairs", n=4, seed=seed)
        held = [task.aspect_id == f"a{task.number}" for task in tasks]
        assert sum(held) == 2
        for task, is_held in zip(tasks, held, strict=True):
            sentences = open_dataset(source)[task.instance_id].query.sentences if seed == 0 else ()
            if sentences:
                assert task.number is not None
                assert task.text == sentences[task.number]
                assert task.before == " ".join(sentences[max(0, task.number - 3) : task.number])
            assert is_held or abs(int(task.aspect_id[1:]) - (task.number or 0)) <= 2
            shown[task.paper_id, task.aspect_id, is_held] += is_held
    assert header.population == {"labelled": 8, "not labelled": 32}
    assert all(60 < n < 140 for (_, _, is_held), n in shown.items() if is_held), "100 are expected of each"


def test_a_doubtful_sentence_is_asked_about_as_well(tmp_path: Path) -> None:
    papers = [paper(1, sources=(1,), text="reports")]
    votes = {"reports a1": (WindowVote(0, (1, 7)), WindowVote(5, None))}
    write_drafts(tmp_path / "filtered.jsonl", drafts_of(papers, votes))
    data_at(tmp_path / "dataset", papers)
    _, tasks = draw_tasks(tmp_path, sort="pairs")
    assert {task.number for task in tasks} == {0, 1, 2, 3, 7}


def test_results_are_drawn_half_and_half(tmp_path: Path) -> None:
    header, tasks = draw_tasks(data_at(tmp_path, marked_papers(5)), sort="results", n=6)
    assert Counter(task.aspect_id for task in tasks) == {"a2": 3, "a5": 3}
    assert (header.population, tasks[0].sentences) == ({"labelled": 5, "not labelled": 5}, ())


def test_passages_come_from_the_drafts_that_were_kept(tmp_path: Path) -> None:
    kept, gone = drafts_of(marked_papers(2))
    passage = CitedPassage(review_file="r.xml", start=0, stop=9, marks=("[7]",), reference="B7")
    kept = msgspec.structs.replace(kept, context=f"Before. {kept.summary} After.", passage=passage)
    write_drafts(tmp_path / "passages.jsonl", [kept, gone], step="harvest")
    dropped = msgspec.structs.replace(gone, dropped="reports no results")
    write_drafts(tmp_path / "summaries.jsonl", [kept, dropped], step="summaries")
    header, (task,) = draw_tasks(tmp_path, sort="passages")
    assert [one.name for one in header.criteria] == ["about_paper", "reports_result"]
    assert (task.before, task.text, task.after, task.cited) == ("Before. ", kept.summary, " After.", "[7]")
    for context, before, after in (("a " * 400 + kept.summary, "…" + "a " * 250, ""), ("Some other text.", "", "")):
        changed = msgspec.structs.replace(kept, context=context)
        write_drafts(tmp_path / "summaries.jsonl", [changed, dropped], step="summaries")
        _, (task,) = draw_tasks(tmp_path, sort="passages")
        assert (task.before, task.after) == (before, after)
    with pytest.raises(DataError, match="work folder"):
        draw_tasks(data_at(tmp_path / "other", marked_papers(2)), sort="passages")


@pytest.mark.parametrize("sort", ["sentences", "results", "hypotheses", "aspects"])
def test_nothing_of_the_labels_is_in_the_tasks(tmp_path: Path, sort: TaskSort) -> None:
    """The same papers with other labels give tasks with the same fields; those of papers are the same tasks."""
    papers = marked_papers(5)
    others = [replace(one, labels=replace(one.labels, sources={"a2": (0, 1, 7)}, results=("a2",))) for one in papers]
    (_, drawn), (_, again) = (
        draw_tasks(data_at(tmp_path / name, found), sort=sort, n=5) for name, found in (("", papers), ("2", others))
    )
    if sort != "results":
        assert drawn == again
    assert set(msgspec.to_builtins(drawn[0])) == set(msgspec.to_builtins(again[0]))


def test_instances_are_drawn_for_ratings(tmp_path: Path) -> None:
    source = data_at(tmp_path, marked_papers(5))
    header, tasks = draw_tasks(source, sort="hypotheses", n=3)
    assert [one.name for one in header.criteria] == ["valuable", "relevant"]
    assert all(task.sentences and not task.aspect for task in tasks)
    header, tasks = draw_tasks(source, sort="aspects", n=3)
    assert [one.name for one in header.criteria] == ["matchable"]
    assert all(task.aspect and not task.sentences for task in tasks)


def test_summaries_come_from_the_drafts(tmp_path: Path) -> None:
    papers = marked_papers(3)
    write_drafts(tmp_path / "filtered.jsonl", drafts_of(papers))
    with pytest.raises(DataError, match="'evidencebench construct run'"):
        draw_tasks(tmp_path, sort="aspects")
    data_at(tmp_path / "dataset", papers)
    header, tasks = draw_tasks(tmp_path, sort="aspects", n=3)
    assert [one.name for one in header.criteria] == ["faithful", "matchable"]
    assert all(task.summary == f"a summary of {task.paper_id}" for task in tasks)


def test_data_without_texts_of_aspects_is_told(tmp_path: Path) -> None:
    without = data_at(tmp_path, [paper(number) for number in range(1, 4)])
    with pytest.raises(DataError, match="'sentences'"):
        draw_tasks(without, n=2)
    assert len(draw_tasks(without, sort="hypotheses", n=2)[1]) == 2


def test_labels_are_those_of_the_newest_drafts(tmp_path: Path) -> None:
    papers = marked_papers(1)
    data_at(tmp_path / "dataset", papers)
    of_data = AspectLabels(sources=frozenset({5}), is_result=True, n_sentences=8)
    assert read_labels(tmp_path / "dataset" / "papers.json")["p1", "reports a5"] == of_data
    write_drafts(tmp_path / "judgments.jsonl", drafts_of(papers), step="judge")
    (changed,) = drafts_of([replace(papers[0], labels=replace(papers[0].labels, sources={"a2": (3,), "a5": ()}))])
    write_drafts(tmp_path / "results.jsonl", [msgspec.structs.replace(changed, results=(0,))], step="label-results")
    found = read_labels(tmp_path)
    assert {text: (set(labels.sources), labels.is_result) for (_, text), labels in found.items()} == {
        "reports a2": ({3}, True),
        "reports a5": (set(), False),
    }


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


def folder_at(path: Path, header: TasksHeader = MARKING) -> AnswerFolder[Annotation]:
    return annotation_folder(path / "people", tasks_at(path / "tasks.jsonl", header), clock=lambda: NOON)


def marks_in(answer: Annotation) -> tuple[int, ...]:
    assert isinstance(answer, MarksAnswer)
    return answer.sentences


def marked(*sentences: int, task: str = "task_1", revision: int = 1, is_done: bool = True) -> MarksAnswer:
    return MarksAnswer(id=task, sentences=sentences, revision=revision, is_done=is_done)


any_text = st.text(st.characters(codec="utf-8"), max_size=12)


@given(st.lists(st.tuples(any_text, st.lists(st.tuples(any_text, st.sampled_from(Kind)), max_size=4)), min_size=1))
@examples(50)
def test_tasks_come_back_as_they_were_written(drawn: list[tuple[str, list[tuple[str, Kind]]]]) -> None:
    tasks = []
    for number, (text, pairs) in enumerate(drawn):
        sentences, kinds = zip(*pairs, strict=True) if pairs else ((), ())
        fields = {"aspect": text, "summary": text, "sentences": sentences, "kinds": kinds}
        tasks.append(msgspec.structs.replace(TEA, id=f"task_{number}", **fields))
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
            folder.save(name, marked(*sorted(sentences), task=task.id, revision=revision))
            expected.setdefault(name, {})[task.id] = tuple(sorted(sentences))
        found = Annotations.read(folder).by_annotator
        assert {n: {task: marks_in(one) for task, one in by.items()} for n, by in found.items()} == expected
        assert all(one.at == NOON.isoformat() for by in found.values() for one in by.values())


def test_a_task_that_another_tab_changed_is_refused_and_one_sent_again_is_not_written_twice(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    folder.save("Ada", marked(1))
    with pytest.raises(StaleError):
        folder.save("Ada", marked(0))
    folder.save("Ada", marked(1))
    assert len(folder.path_of("Ada").read_bytes().splitlines()) == 2


def test_a_torn_last_line_is_left_out_and_mended(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    folder.save("Ada", marked(1))
    path = folder.path_of("Ada")
    whole = path.read_bytes()
    folder.save("Ada", marked(0, task="task_2"))
    added = path.read_bytes()[len(whole) :]
    for n_bytes in range(len(added) - 1):
        path.write_bytes(whole + added[:n_bytes])
        assert set(folder.answers_of("Ada")) == {"task_1"}
    folder.save("Ada", marked(0, task="task_2"))
    assert path.read_bytes() == whole + added


def test_decisions_are_kept_apart_from_annotators(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    folder.save("adjudicated", marked(1))
    folder.agree("Cleo", marked(0))
    found = Annotations.read(folder)
    assert set(found.by_annotator) == {"adjudicated"}
    assert (marks_in(found.adjudicated["task_1"]), found.adjudicated["task_1"].by) == ((0,), "Cleo")
    assert (folder.folder / "adjudicated.jsonl").exists()


def test_annotations_of_other_tasks_are_refused(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    folder.save("Ada", marked(1))
    write_tasks(tmp_path / "tasks.jsonl", MARKING, [BREAD])
    with pytest.raises(RunMismatchError, match=r"ada\S*\.jsonl: .*checksum.*give the tasks"):
        Annotations.read(annotation_folder(folder.folder, read_tasks(tmp_path / "tasks.jsonl")))


@pytest.mark.parametrize(
    ("header", "annotation", "words"),
    [
        (MARKING, marked(2), r"sentence 2: .*0\.\.1"),
        (MARKING, marked(-1), "sentence -1"),
        (MARKING, marked(1, 0), "ascending"),
        (MARKING, marked(1, task="task_9"), "'task_9'"),
        (RATING, marked(1), "another form"),
        (RATING, RatingsAnswer(id="task_1", ratings={"nice": True}), "'nice'"),
        (RATING, RatingsAnswer(id="task_1", ratings={}, is_done=True), "not rated"),
    ],
)
def test_an_annotation_that_names_what_is_not_there_is_refused(
    tmp_path: Path, header: TasksHeader, annotation: Annotation, words: str
) -> None:
    folder = folder_at(tmp_path, header)
    with pytest.raises(PeopleError, match=words):
        folder.save("Ada", annotation)
    assert not folder.folder.exists()


@pytest.mark.parametrize(
    ("header", "task", "words"),
    [
        (msgspec.structs.replace(RATING, criteria=()), TEA, "line 1: .*criteria"),
        (MARKING, msgspec.structs.replace(TEA, kinds=()), "line 2: .*kind.* 2 .* 0"),
    ],
)
def test_a_file_whose_tasks_make_no_sense_is_refused(
    tmp_path: Path, header: TasksHeader, task: AnnotationTask, words: str
) -> None:
    path = tmp_path / "tasks.jsonl"
    write_tasks(path, header, [task])
    with pytest.raises(RunFormatError, match=words):
        read_tasks(path)


HOSTILE = (
    *('=HYPERLINK("http://x")', "+1", "-1", "@SUM(A1)", "\t=1", "<script>alert(1)</script>", 'a "b", c;d\te'),
    *("two\nlines\r\nhere", "𝛽-blockers 😀 Ödön", "]]>&amp;", "", "NA", "00012", "1e5"),
)

Marked = dict[str, tuple[int, ...]]
"""Task id -> the sentences that a person marks."""


def sheet_tasks(folder: Path, texts: tuple[str, ...] = HOSTILE, *, rates: bool = False) -> TasksFile:
    criteria = (Criterion(name="valuable", question='Is it "worth" <it>?'), Criterion(name="relevant", question="?"))
    header = msgspec.structs.replace(RATING, criteria=criteria) if rates else MARKING
    fields = {"hypothesis": texts[0], "sentences": texts, "kinds": (Kind.BODY,) * len(texts)}
    fields["aspect"] = "" if rates else f"aspect {texts[1]}"
    tasks = [msgspec.structs.replace(TEA, id=f"task_{number}", **fields) for number in range(3)]
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


def anew(folder: Path, tasks: TasksFile) -> AnswerFolder[Annotation]:
    """Return a folder that nobody has answered in."""
    return annotation_folder(Path(tempfile.mkdtemp(dir=folder)), tasks, clock=lambda: NOON)


def read_back(folder: Path, tasks: TasksFile, content: bytes) -> Marked:
    path, answers = folder / "Ada", anew(folder, tasks)
    path.write_bytes(content)
    keep_answers([path], tasks, answers)
    found = Annotations.read(answers).by_annotator
    assert set(found) <= {"Ada"}
    return {task: marks_in(one) for task, one in found.get("Ada", {}).items() if one.is_done}


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
        tasks = sheet_tasks(folder, sentences)
        assert read_back(folder, tasks, FILLED[tool](tasks, marked)) == marked


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_sheets_are_read_as_spreadsheets_of_any_country_save_them(tmp_path: Path, delimiter: str) -> None:
    tasks, marked = sheet_tasks(tmp_path), {"task_0": (2, 5), "task_1": ()}
    content = fill_sheet(tasks, marked, delimiter=delimiter)
    rows = list(csv.reader(io.StringIO(content.decode(), newline=""), delimiter=delimiter))
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]  # no formula
    assert len({len(row) for row in rows}) == 1
    assert read_back(tmp_path, tasks, content) == marked
    assert read_back(tmp_path, tasks, b"\xef\xbb\xbf" + content.replace(b"\r\n", b"\n")) == marked


@pytest.mark.parametrize("rates", [False, True])
def test_the_interface_is_xml_that_holds_no_text_of_papers(tmp_path: Path, *, rates: bool) -> None:
    tasks = sheet_tasks(tmp_path, rates=rates)
    text = str(TOOLS["label-studio"]["label-studio.xml"](tasks))
    root = ET.fromstring(text)  # noqa: S314 - our own
    assert root.tag == "View"
    assert "script" not in text
    shown = {tag.get("value") for tag in root.iter() if (tag.get("value") or "").startswith("$")}
    (first, *_) = json.loads(exported(tasks, "label-studio"))
    assert shown <= {f"${name}" for name in first["data"]}
    assert {"$paper", "$hypothesis"} <= shown


def test_ratings_come_back_from_every_tool(tmp_path: Path) -> None:
    tasks = sheet_tasks(tmp_path, rates=True)
    said = {"task_0": {"valuable": True, "relevant": False}, "task_1": {"valuable": True, "relevant": True}}
    rows = list(csv.DictReader(io.StringIO(exported(tasks, "csv").decode("utf-8-sig"), newline="")))
    assert [row["paper_id"] for row in rows] == [task.paper_id for task in tasks.records]  # of which one is asked
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
        answers = anew(tmp_path, tasks)
        keep_answers([tmp_path / "Ada"], tasks, answers)
        ((_, found),) = Annotations.read(answers).by_annotator.items()
        assert {t: one.ratings for t, one in found.items() if one.is_done and isinstance(one, RatingsAnswer)} == said


def test_the_last_of_two_submissions_counts_without_a_sentence_that_a_mark_only_touches_and_a_skipped_one_does_not(
    tmp_path: Path,
) -> None:
    tasks = sheet_tasks(tmp_path)
    items = json.loads(fill_label_studio(tasks, {"task_0": (1,), "task_1": (2,)}))
    later = json.loads(fill_label_studio(tasks, {"task_0": (3,)}))[0]["annotations"][0]
    items[0]["annotations"].insert(0, later | {"updated_at": "2026-11-23T00:00:00Z"})
    later["result"][0]["value"] |= {"end": "5", "endOffset": 0}
    items[1]["annotations"][0]["was_cancelled"] = True
    assert read_back(tmp_path, tasks, json.dumps(items).encode()) == {"task_0": (3, 4)}
    _, problems = keep_answers([tmp_path / "Ada"], tasks, anew(tmp_path, tasks))
    assert any("skipped: 1" in problem for problem in problems)
    assert any("nobody has submitted: 1" in problem for problem in problems)


def test_what_is_missing_in_a_sheet_is_counted(tmp_path: Path) -> None:
    tasks = sheet_tasks(tmp_path, ("a", "b", "c"))
    lines = fill_sheet(tasks, {"task_0": (1,), "task_1": (0,)}).decode().splitlines(keepends=True)
    assert read_back(tmp_path, tasks, "".join(lines[:3] + lines[4:]).encode()) == {"task_1": (0,)}
    _, problems = keep_answers([tmp_path / "Ada"], tasks, anew(tmp_path, tasks))
    assert any("rows missing: left out: 1" in problem for problem in problems)
    assert any("without any filled cell: not done: 1" in problem for problem in problems)


def change(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("tool", "changed", "words"),
    [
        ("csv", change(",0,normal", ",99,normal"), r"'99': .*0\.\.2"),
        ("csv", change(",0,normal", f",{'0' * 5000},normal"), "a number"),
        ("csv", change("task_0", "task_77"), "'task_77'"),
        ("csv", change(",x,", ",perhaps,"), "yes, no, .*'perhaps'"),
        ("csv", change(",1,normal", ",0,normal"), "'task_0' occurs twice"),
        ("csv", change("is_source", "marks"), "'is_source'"),
        ("label-studio", change('"end": "1"', '"end": "7"'), "sentence 7"),
        ("label-studio", change('"start": "1"', '"start": "-1"'), ">= 0"),
        ("label-studio", change("task_0", "task_77"), "task_77"),
        ("label-studio", change('"data"', '"dat"'), "'JSON'"),
    ],
)
def test_what_does_not_fit_the_tasks_is_refused(
    tmp_path: Path, tool: str, changed: Callable[[str], str], words: str
) -> None:
    tasks = sheet_tasks(tmp_path, ("a", "b", "c"))
    broken = changed(FILLED[tool](tasks, {"task_0": (1,)}).decode())
    with pytest.raises(RunFormatError, match=words):
        read_back(tmp_path, tasks, broken.encode())


@pytest.mark.parametrize("tool", TOOLS)
def test_answers_to_other_tasks_are_refused(tmp_path: Path, tool: str) -> None:
    tasks = sheet_tasks(tmp_path, ("a", "b"))
    content = FILLED[tool](tasks, {"task_0": (1,)})
    with pytest.raises(RunMismatchError, match=r"--sort.*--folder"):
        read_back(tmp_path, sheet_tasks(tmp_path, ("a", "B")), content)


@pytest.mark.parametrize("tool", TOOLS)
def test_answers_of_a_tool_are_kept_once_and_a_changed_one_is_a_revision(tmp_path: Path, tool: str) -> None:
    tasks, file = sheet_tasks(tmp_path), tmp_path / "Ada"
    answers = anew(tmp_path, tasks)

    def kept(marked: Marked) -> Counter[str]:
        file.write_bytes(FILLED[tool](tasks, marked))
        return keep_answers([file], tasks, answers)[0]

    first: Marked = {"task_0": (1,), "task_1": ()}
    assert kept(first) == {"new": 2, "changed": 0, "unchanged": 0}
    journal = answers.path_of("Ada").read_bytes()
    assert kept(first) == {"new": 0, "changed": 0, "unchanged": 2}
    assert answers.path_of("Ada").read_bytes() == journal
    assert kept({"task_0": (2,), "task_2": (0,)}) == {"new": 1, "changed": 1, "unchanged": 0}
    found = answers.answers_of("Ada")
    assert {task: (marks_in(one), one.revision) for task, one in found.items()} == {
        "task_0": ((2,), 2),
        "task_1": ((), 1),  # that a file leaves out stays
        "task_2": ((0,), 1),
    }
    assert {(one.at, bool(one.by), one.is_done) for one in found.values()} == {(NOON.isoformat(), True, True)}


def test_no_answer_that_was_given_in_the_app_is_replaced_and_then_nothing_of_the_file_is_kept(tmp_path: Path) -> None:
    tasks = sheet_tasks(tmp_path)
    answers, sheet = anew(tmp_path, tasks), tmp_path / "Ada.csv"
    answers.save("Ada", marked(0, task="task_0"))
    sheet.write_bytes(fill_sheet(tasks, {"task_0": (1,), "task_1": (1,)}))
    with pytest.raises(PeopleError, match=r"'Ada'.*'task_0'.*app; change it"):
        keep_answers([sheet], tasks, answers)
    assert set(answers.answers_of("Ada")) == {"task_0"}
    sheet.write_bytes(fill_sheet(tasks, {"task_0": (0,), "task_1": (1,)}))
    assert keep_answers([sheet], tasks, answers)[0] == {"new": 1, "changed": 0, "unchanged": 1}
    answers.save("Ada", marked(2, task="task_1", revision=2))  # in the app, behind the file
    with pytest.raises(PeopleError, match="'task_1'"):
        keep_answers([sheet], tasks, answers)


def test_files_that_contradict_each_other_or_name_another_rater_are_refused(tmp_path: Path) -> None:
    tasks = sheet_tasks(tmp_path)
    answers, files = anew(tmp_path, tasks), [tmp_path / name / "Ada.csv" for name in ("one", "other")]
    for number, file in enumerate(files):
        file.parent.mkdir()
        file.write_bytes(fill_sheet(tasks, {"task_0": (number,), "task_1": ()}))
    with pytest.raises(RunFormatError, match=r"second.*'Ada'.*'task_0'.*once"):
        keep_answers(files, tasks, answers)
    model = tmp_path / "model.csv"
    model.write_bytes(files[0].read_bytes())
    with pytest.raises(PeopleError, match="'model'"):
        keep_answers([files[0], model], tasks, answers)
    with pytest.raises(UnreadableError):
        keep_answers([tmp_path / "nothing.csv"], tasks, answers)
    (nobody := tmp_path / f"{tasks.path.stem}.csv").write_bytes(files[0].read_bytes())
    with pytest.raises(RunFormatError, match=r"line 2: .*name the file"):
        keep_answers([nobody], tasks, answers)
    assert Annotations.read(answers).by_annotator == {}
    assert keep_answers([files[0], files[0]], tasks, answers)[0]["new"] == 2


@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff", b"[", b"{", b"[[]]", b"a,b\n1,2", b'{"text": 1}', b"[" * 100_000]
)
def test_files_of_another_sort_are_refused(tmp_path: Path, content: bytes) -> None:
    tasks = sheet_tasks(tmp_path)
    (tmp_path / "x").write_bytes(content)
    with pytest.raises((RunFormatError, RunMismatchError, UnreadableError)):
        keep_answers([tmp_path / "x"], tasks, anew(tmp_path, tasks))
