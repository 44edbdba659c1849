"""Files of drafts: what is in them survives a kill, and a file made with other settings is not resumed."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.construction.draft import DRAFTS, Draft, DraftHeader, open_drafts, set_aside, writing_drafts
from evidencebench.errors import RunError, RunFormatError, RunMismatchError, UnreadableError
from examples import examples

HEADER = DraftHeader(step="harvest", settings={"reviews": "abc"})


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
    with pytest.raises(RunMismatchError, match="'harvest' that writes it is not finished; run that step again"):
        open_drafts(path)
    growing = open_drafts(path, must_be_finished=False)
    write(path, drafts(7))
    found = open_drafts(path)
    assert (growing.is_finished, growing.sha256) == (False, found.sha256)  # steps behind it may go on while it grows
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
    with pytest.raises(RunMismatchError, match="reviews was 'abc', now 'xyz'; give --overwrite"):
        write(path, drafts(3), other)
    with writing_drafts(path, other, overwrite=True) as writer:
        writer.finish()
    assert open_drafts(path).header == other


def made_of(source: Path, target: Path, *, finished: bool = True, **more: bool) -> None:
    """Write what a step makes of each draft of a file."""
    read = open_drafts(source, must_be_finished=False)
    with writing_drafts(target, DraftHeader(step="next", source_sha256=read.sha256), source=read, **more) as writer:
        for one in read.offsets:
            if one not in writer.done:
                writer.append(msgspec.structs.replace(read[one], summary=f"of {read[one].paper_id}"))
        if finished:
            writer.finish()


def edit(path: Path, before: bytes = b'"paper_id":"p"', after: bytes = b'"paper_id":"q"') -> None:
    path.write_bytes(path.read_bytes().replace(before, after, 1))


@pytest.mark.parametrize("finished", [True, False])
def test_an_input_that_was_edited_by_hand_is_not_passed_over(tmp_path: Path, *, finished: bool) -> None:
    source, target = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write(source, drafts(4), finished=finished)
    made_of(source, target, finished=finished)
    edit(source)
    write(source, drafts(5))  # goes on behind the edit, which stays known
    n_behind = open_drafts(target, must_be_finished=False).n_behind(open_drafts(source))
    assert (open_drafts(source).n_edited, n_behind) == (1, 2 if finished else 1)  # a draft was added
    with pytest.raises(RunMismatchError, match=r"a\.jsonl was changed since; give --overwrite to make it and what is"):
        made_of(source, target)
    made_of(source, target, overwrite=True)
    assert [open_drafts(target)[one].summary for one in ("d0", "d1")] == ["of q", "of p"]
    assert (open_drafts(source).n_edited, open_drafts(target).n_edited) == (1, 0)


@pytest.mark.parametrize("rewritten", [False, True])
def test_a_file_that_was_edited_is_not_replaced_unasked_and_kept_where_it_is_asked(
    tmp_path: Path, *, rewritten: bool
) -> None:
    source, target = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write(source, drafts(4))
    made_of(source, target)
    edit(target, b'"summary":"of p"', b'"summary":"by hand"')
    if rewritten:  # by a program that spaces its JSON otherwise
        header, *lines = target.read_text().splitlines()
        target.write_text("\n".join([header, *(json.dumps(json.loads(line)) for line in lines)]) + "\n")
    edited = target.read_bytes()
    edit(source, b'"d1","review_id":"r"', b'"d1","review_id":"s"')
    if not rewritten:
        with pytest.raises(RunMismatchError, match=r"1 draft of it edited by hand would be lost; .* --from next'"):
            made_of(source, target, overwrite=True)
    assert target.read_bytes() == edited
    assert set_aside(target) == tmp_path / "b.jsonl.edited"
    made_of(source, target)
    assert (tmp_path / "b.jsonl.edited").read_bytes() == edited
    assert open_drafts(target).n_edited == 0
    assert set_aside(target) is None
    assert not target.exists()
    target.write_bytes(edited[:-40])  # nor is what nothing can read
    assert set_aside(target) == tmp_path / "b.jsonl.edited1"


@given(st.binary(min_size=1, max_size=3), st.integers(0, 10_000), st.integers(0, 3))
@examples(200)
def test_any_edit_of_a_draft_is_known(
    tmp_path_factory: pytest.TempPathFactory, said: bytes, at: int, n_cut: int
) -> None:
    path = tmp_path_factory.mktemp("drafts") / "a.jsonl"
    write(path, drafts(1))
    header, line, last = path.read_bytes().splitlines()
    place = at % len(line)
    changed = line[:place] + said + line[place + n_cut :]
    path.write_bytes(b"\n".join([header, changed, last, b""]))
    try:
        found = open_drafts(path, must_be_finished=False)
    except RunFormatError:  # it cannot be read any more
        return
    assert found.n_edited == sum(line not in changed.split(b"\n") for _ in found.offsets)


def test_another_file_is_refused_with_its_line_and_one_that_is_not_there_or_holds_something_else_is_told(
    tmp_path: Path,
) -> None:
    for lines, why in ((b"{}\n", "line 2: expected a draft, got an object without an id"),):
        (tmp_path / "a.jsonl").write_bytes(msgspec.json.encode(HEADER) + b"\n" + lines)
        with pytest.raises(RunFormatError, match=why):
            open_drafts(tmp_path / "a.jsonl")
    with pytest.raises(UnreadableError, match="cannot be read"):
        open_drafts(tmp_path / "none.jsonl")
    path = tmp_path / "notes.jsonl"
    path.write_text("my notes")
    with pytest.raises(RunError, match="holds something else, which would be lost"):
        write(path, [])
    assert path.read_text() == "my notes"
