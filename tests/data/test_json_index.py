"""Indexing a file a value at a time finds the same as decoding it as a whole."""

import io
import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import Origin, Snapshot, json_format
from evidencebench import open_dataset

values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=4), st.sampled_from(['}, "a": {', '"', "\\"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=8,
)
spaces = st.sampled_from(["", " ", "\n\t ", "\r\n"])


@st.composite
def spelled(draw: st.DrawFn) -> tuple[dict[str, Any], bytes]:
    """Return an object and one of the ways to write it."""
    found = draw(st.dictionaries(st.text(max_size=4), values, min_size=1, max_size=5))
    is_ascii = draw(st.booleans())
    members = [
        f"{draw(spaces)}{json.dumps(key, ensure_ascii=is_ascii)}{draw(spaces)}:{draw(spaces)}"
        f"{json.dumps(value, ensure_ascii=is_ascii, indent=draw(st.sampled_from([None, 1])))}{draw(spaces)}"
        for key, value in found.items()
    ]
    return found, f"{draw(spaces)}{{{','.join(members)}}}{draw(spaces)}".encode()


def held(text: bytes) -> Snapshot:
    return Snapshot(path=Path("held.json"), size=len(text), unpacked=io.BytesIO(text))


def stepped(text: bytes) -> dict[str, bytes] | None:
    """Step through a text with windows of several sizes, which must all find the same."""
    step = json_format._step_through  # noqa: SLF001 - as for large files
    whole = step(held(text), 10_000)
    # A member longer than this many parts is left to a reader of the whole.
    stops = [0] if whole is None else sorted({0, *(span.stop for span in whole[0].values())})
    longest = max((stop - start for start, stop in pairwise(stops)), default=0)
    least = -(-longest // json_format._MOST_PARTS)  # noqa: SLF001
    found = [step(held(text), max(least, 9)), step(held(text), max(least, 50)), whole]
    assert found[0] == found[1] == found[2]
    return None if found[0] is None else {name: text[span.start : span.stop] for name, span in found[0][0].items()}


def whole(text: bytes) -> dict[str, bytes]:
    places, _ = json_format.index_json(held(text))
    return {
        name: bytes(place.raw) if isinstance(place, Origin) else text[place.start : place.stop]
        for name, place in places.items()
    }


@given(spelled())
def test_it_finds_every_value_where_it_stands(drawn: tuple[dict[str, Any], bytes]) -> None:
    found, text = drawn
    assert stepped(text) == whole(text)
    assert {name: json.loads(raw) for name, raw in whole(text).items()} == found


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"[1]",
        b"1",
        b'{"a": 1',
        b'{"a": 1,}',
        b'{"a": 1 "b": 2}',
        b'{"a": 1}}',
        b'{"a": 1} 2',
        b'{"a": 1}{"b": 2}',
        b',"a": 1}',
        b'{"a": tru}',
        b'{"\xff": 1}',
        b'{"a\\x": 1}',
        b'{"a": [}',
        b'{"a": 1, 2}',
        b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
)
def test_what_is_amiss_is_left_to_the_decoder_of_the_whole(text: bytes) -> None:
    assert stepped(text) is None


def test_an_id_that_stands_more_than_once_is_told_and_the_last_one_placed() -> None:
    text = b'{"a": 1, "b": 2, "b": 3, "c": 4, "a": 5}'
    assert whole(text) == {"a": b"5", "b": b"3", "c": b"4"}
    assert json_format.index_json(held(text))[1] == ("a", "b")


@given(spelled(), st.data())
def test_no_damage_is_taken_for_an_index(drawn: tuple[dict[str, Any], bytes], data: st.DataObject) -> None:
    _, text = drawn
    place = data.draw(st.integers(0, len(text) - 1))
    damaged = (
        text[:place] + data.draw(st.sampled_from([b"", b",", b"}", b"{", b'"', b"\x00", b"]"])) + text[place + 1 :]
    )
    found = stepped(damaged)
    if found is not None:  # as where a letter of a text was replaced
        decoded: dict[str, msgspec.Raw] = msgspec.json.decode(damaged, type=dict[str, msgspec.Raw])
        assert found == {name: bytes(raw) for name, raw in decoded.items()}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs a system that says how much memory a process had")
def test_a_large_file_is_never_in_memory_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    block = json.dumps({"text": "word " * 20_000})
    with path.open("w") as file:
        file.write("{" + ", ".join(f'"id_{number}": {block}' for number in range(2000)) + "}")
    size_mb = path.stat().st_size / 1e6
    code = (
        "import resource, sys; from evidencebench import open_dataset\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert len(open_dataset(sys.argv[1])) == 2000\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / 1e6)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert size_mb > 190
    assert float(done.stdout) < 80
    assert open_dataset(path).ids[-1] == "id_1999"
