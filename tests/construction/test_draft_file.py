"""Files of drafts: what is in them survives a kill, and a file made with other settings is not resumed."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import DRAFTS, DraftHeader, RunError, RunFormatError, RunMismatchError, UnreadableError, writing_drafts
from evidencebench import Draft, open_drafts
from kit.examples import examples

HEADER = DraftHeader(step="harvest", settings={"reviews": "abc"})
NEXT = DraftHeader(step="next", reads="a.jsonl")


def drafts(n: int) -> list[Draft]:
    return [Draft(id=f"d{k}", review_id="r", paper_id="p", dropped="no words" if k % 3 == 2 else "") for k in range(n)]


def write(path: Path, made: list[Draft], header: DraftHeader = HEADER, *, finished: bool = True) -> None:
    with writing_drafts(path, header) as writer:
        for one in made:
            if one.id not in writer.done:
                writer.append(one)
        if finished:
            writer.finish()


def test_what_was_written_is_read_and_what_was_dropped_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, drafts(3), finished=False)
    with pytest.raises(RunMismatchError, match=r"'harvest'.*run that step again"):
        open_drafts(path)
    growing = open_drafts(path, must_be_finished=False)
    write(path, drafts(7))
    found = open_drafts(path)
    assert (growing.is_finished, growing.header) == (False, found.header)
    assert [found[one] for one in found.offsets] == drafts(7)
    assert [one.id for one in found.drafts()] == ["d0", "d1", "d3", "d4", "d6"]
    assert (found.dropped, found.is_finished, DRAFTS.is_at(path)) == ({"no words": 2}, True, True)


@given(cut=st.integers(0, 10_000))
@examples(60)
def test_cut_at_any_byte_it_goes_on_and_ends_with_the_same_drafts(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("drafts") / "a.jsonl"
    write(path, drafts(9))
    whole = path.read_bytes()
    path.write_bytes(whole[: cut % len(whole)])
    write(path, drafts(9))
    assert sorted(path.read_bytes().splitlines()) == sorted(whole.splitlines())


def test_other_settings_are_told_and_overwrite_makes_it_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, drafts(3))
    other = DraftHeader(step="harvest", settings={"reviews": "xyz"})
    with pytest.raises(RunMismatchError, match=r"reviews.*'abc'.*'xyz'.*--overwrite"):
        write(path, drafts(3), other)
    with writing_drafts(path, other, overwrite=True) as writer:
        writer.finish()
    assert open_drafts(path).header == other


def made_of(source: Path, target: Path, header: DraftHeader = NEXT) -> list[str]:
    """Write what a step makes of each draft of a file that goes on; return which it made."""
    read, made = open_drafts(source, must_be_finished=False), []
    with writing_drafts(target, header, made_of=read.sums) as writer:
        for one in read.drafts():
            if one.id not in writer.done:
                writer.append(msgspec.structs.replace(one, summary=f"of {one.paper_id}"))
                made.append(one.id)
        if read.is_finished:
            writer.finish()
    return made


@pytest.mark.parametrize("finished", [True, False])
def test_a_draft_is_made_again_alone_where_the_line_before_it_says_something_else(
    tmp_path: Path, *, finished: bool
) -> None:
    first, second, third = (tmp_path / f"{name}.jsonl" for name in "abc")
    write(first, drafts(6), finished=finished)
    assert made_of(first, second) == made_of(second, third) == ["d0", "d1", "d3", "d4"]
    bytes_before = second.read_bytes()
    assert made_of(first, second) == []
    assert second.read_bytes() == bytes_before
    first.unlink()
    changed = [msgspec.structs.replace(one, **new) for one, new in zip(drafts(6), CHANGES, strict=True)]
    write(first, changed, finished=finished)
    assert open_drafts(second, must_be_finished=False).stale(open_drafts(first, must_be_finished=False).sums) == [
        "d1",
        "d3",
        "d4",
    ]
    assert made_of(first, second) == ["d1", "d3"]  # d4 is dropped now, so that it goes on nowhere
    assert made_of(second, third) == ["d1"]  # what was made of the other d3 says the same
    for path, n in ((second, 3), (third, 3)):
        found = open_drafts(path, must_be_finished=finished)
        assert ([one.id for one in found], found.is_finished) == (["d0", "d1", "d3"][:n], finished)
    assert open_drafts(third, must_be_finished=False)["d1"].summary == "of q"


CHANGES: list[dict[str, str]] = [{}, {"paper_id": "q"}, {}, {"summary": "another"}, {"dropped": "no words"}, {}]


@given(st.binary(min_size=1, max_size=3), st.integers(0, 10_000), st.integers(0, 3))
@examples(200)
def test_a_line_that_was_changed_by_hand_is_refused_and_made_again_where_it_is_deleted(
    tmp_path_factory: pytest.TempPathFactory, said: bytes, at: int, n_cut: int
) -> None:
    path = tmp_path_factory.mktemp("drafts") / "a.jsonl"
    write(path, drafts(2))
    whole = path.read_bytes()
    header, line, other, last = whole.splitlines()
    place = at % len(line)
    changed = line[:place] + said + line[place + n_cut :]
    path.write_bytes(b"\n".join([header, changed, other, last, b""]))
    try:
        found = open_drafts(path, must_be_finished=False)
    except RunFormatError:
        path.write_bytes(b"\n".join([header, other, last, b""]))
        assert not open_drafts(path, must_be_finished=False).is_finished
        write(path, drafts(2))
        found = open_drafts(path)
    else:
        assert line in changed.split(b"\n")
    assert list(found) == drafts(2)


def test_what_was_edited_with_an_editor_names_where_edits_belong(tmp_path: Path) -> None:
    write(path := tmp_path / "a.jsonl", drafts(1))
    path.write_bytes(path.read_bytes().replace(b'"paper_id":"p"', b'"paper_id":"q"'))
    with pytest.raises(RunFormatError, match=r"a\.jsonl: line 2: .*'d0'.*delete.*edits\.jsonl"):
        open_drafts(path)


def test_another_file_is_refused_with_its_line_and_one_that_is_not_there_or_holds_something_else_is_told(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.jsonl").write_bytes(msgspec.json.encode(HEADER) + b"\n{}\n")
    with pytest.raises(RunFormatError, match=r"line 2: .*without an id"):
        open_drafts(tmp_path / "a.jsonl")
    with pytest.raises(UnreadableError):
        open_drafts(tmp_path / "none.jsonl")
    path = tmp_path / "notes.jsonl"
    path.write_text("my notes")
    with pytest.raises(RunError, match="something else"):
        write(path, [])
    assert path.read_text() == "my notes"
