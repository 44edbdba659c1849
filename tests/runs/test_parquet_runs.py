"""A run as Parquet is the same run: the way back gives the same bytes, and scores are the same."""

import json
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import Failure, RunFormatError, encode_answer, lines_from_parquet, score_runs, write_run
from evidencebench import Ranking, execute, open_run
from kit.command_line import SAMPLE

pa = pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra 'parquet'")

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
INDICES = st.lists(st.integers(-3, 2**40), max_size=9, unique=True).map(tuple)


@pytest.fixture(scope="module")
def run_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run.jsonl"
    execute("bm25", SAMPLE, path)
    return path


def test_a_run_comes_back_to_the_byte_and_scores_the_same(run_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    content = run_path.read_bytes()
    assert write_run(path, content, run_path) == len(SAMPLE)
    assert lines_from_parquet(path, path.read_bytes()) == content
    run = open_run(path)
    assert run.header == open_run(run_path).header
    assert run.sha256 == open_run(run_path).sha256
    first, second = (score_runs([one], SAMPLE, "er_at_10").scores for one in (run_path, path))
    assert [one["er_at_10"].recalls.tolist() for one in first.values()] == [
        one["er_at_10"].recalls.tolist() for one in second.values()
    ]
    assert set(pq.read_table(path).column_names) >= {"id", "task", "sentences", "scores", "error"}
    spaced = [json.dumps(json.loads(line) | {"own": 1.5}) for line in content.splitlines()]  # by another program
    write_run(path, "\n".join(spaced).encode(), run_path)
    assert [open_run(path).answer(*key) for key in run.done] == [run.answer(*key) for key in run.done]


@st.composite
def answer_lines(draw: st.DrawFn) -> bytes:
    notes = draw(st.dictionaries(TEXTS, st.integers(0, 99), max_size=2))
    task = draw(st.none() | st.just("er_at_10"))
    if draw(st.booleans()):
        line = encode_answer(draw(TEXTS), task, Failure(error=draw(TEXTS), notes=notes))
    else:
        sentences = draw(INDICES)
        scores = tuple(
            sorted((draw(st.floats(allow_nan=False, allow_infinity=False)) for _ in sentences), reverse=True)
        )
        answer = Ranking(
            sentences=sentences, scores=draw(st.sampled_from([None, scores])), ordered=draw(st.booleans()), notes=notes
        )
        line = encode_answer(draw(TEXTS), task, answer)
    return line


@given(st.lists(answer_lines(), min_size=1, max_size=5))
def test_whatever_a_line_holds_it_comes_back(lines: list[bytes]) -> None:
    content = b"".join(line + b"\n" for line in lines)
    try:
        found = there_and_back(content)
    except RunFormatError as error:
        assert "a second answer" in str(error)  # noqa: PT017 - which answers are drawn twice is not known before
        return
    assert found == content


def there_and_back(content: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.parquet"
        write_run(path, content, Path("run.jsonl"))
        return lines_from_parquet(path, path.read_bytes())


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"id": ["a"], "hypothesis": ["b"]}, "is a data file, not a run"),
        ({"id": ["a"]}, r"run\.parquet: has no column sentences; expected a run"),
        ({"id": ["a"], "sentences": ["b"], "error": ["c"]}, "cannot be read"),
        ({"id": [None], "sentences": [[1]], "error": [None]}, "`id`"),
        ({"id": ["a"], "sentences": [[None]], "error": [None]}, "`null`"),
        ({"id": ["a"], "sentences": [None], "error": [None]}, "line 1: .*'sentences'"),
        ({"id": ["a", "a"], "sentences": [[1], [2]], "error": [None, None]}, "line 2: .*second answer"),
    ],
)
def test_columns_that_are_no_run_say_so(columns: dict[str, list[object]], words: str, tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    pq.write_table(pa.table(columns), path)
    with pytest.raises(RunFormatError, match=words):
        open_run(path)


def test_two_columns_of_one_name_say_so(run_path: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "run.parquet", run_path.read_bytes(), run_path)
    twice = pq.read_table(tmp_path / "run.parquet")
    pq.write_table(twice.append_column("id", twice.column("id")), tmp_path / "twice.parquet")
    with pytest.raises(RunFormatError, match="2 times"):
        open_run(tmp_path / "twice.parquet")


def test_a_table_of_another_program_is_a_run_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    sentences = pa.array([[1, 4], None], pa.large_list(pa.int32()))
    pq.write_table(pa.table({"id": ["a", "b"], "sentences": sentences, "error": [None, "it broke"]}), path)
    run = open_run(path)
    assert run.header is None
    assert run.answer("a", None) == Ranking(sentences=(1, 4))
    assert run.answer("b", None) == Failure(error="it broke")


def test_a_damaged_file_never_gives_other_answers(run_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    write_run(path, run_path.read_bytes(), run_path)
    content, rng = path.read_bytes(), random.Random(0)
    answers = run_path.read_bytes().splitlines()[1:]
    for _ in range(300):
        place = rng.randrange(len(content))
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :])
        try:
            found = lines_from_parquet(path, path.read_bytes())
        except RunFormatError:
            continue
        assert found.splitlines()[-len(answers) :] == answers, place
    path.write_bytes(content[:-20])
    with pytest.raises(RunFormatError):
        open_run(path)


def test_columns_of_ids_and_sentences_alone_are_read_as_the_same_lines_are(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a", "b"], "sentences": [[2, 4], [1]]}), tmp_path / "run.parquet")
    (tmp_path / "run.jsonl").write_text('{"id":"a","sentences":[2,4]}\n{"id":"b","sentences":[1]}\n')
    parquet, lines = (open_run(tmp_path / name) for name in ("run.parquet", "run.jsonl"))
    assert [parquet.answer(name, None) for name in "ab"] == [lines.answer(name, None) for name in "ab"]


@pytest.mark.parametrize("line", ['{"id":"a","sentences":[1],"scores":[NaN]}', '{"id":"a","sentences":[NaN]}'])
def test_a_line_with_what_is_no_number_is_named(line: str, tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text(f'{line}\n{{"id":"b","sentences":[1]}}\n')
    with pytest.raises(RunFormatError, match=r"run\.jsonl: line 1") as raised:
        open_run(tmp_path / "run.jsonl")
    assert "Extra data" not in str(raised.value)
