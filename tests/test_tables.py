"""Tables fit a terminal, whatever stands in them, and say what their marks mean in every format."""

import csv
import fcntl
import io
import os
import pty
import re
import struct
import sys
import termios
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from doors import (
    Cell,
    Column,
    Table,
    as_csv,
    as_latex,
    as_markdown,
    as_text,
    cell_as_written,
    safe_cell,
    share_column,
    shortened_apart,
    table_for_csv,
    table_for_readers,
    terminal_width,
)

SIGNS = st.text("=+-@\t\r 1.e'\uff1d\uff20", max_size=8)
WORDS = st.text("ab(=,) _", min_size=1, max_size=150)
INTERVALS = st.just("100.0 [100.0, 100.0]")
CELLS: st.SearchStrategy[Cell] = st.one_of(WORDS, INTERVALS, st.integers(0, 10**6), st.floats(0, 100), st.none())


@st.composite
def tables(draw: st.DrawFn) -> Table:
    n = draw(st.integers(1, 14))
    names = draw(st.lists(st.sampled_from(["n", "recall", "ranks"]), min_size=n, max_size=n))
    rows = draw(st.lists(st.tuples(WORDS, *[CELLS] * (n - 1)), max_size=4))
    return Table(title=draw(WORDS), columns=names, rows=rows, notes=draw(st.lists(WORDS, max_size=2)))


@example(texts=["-.", "-1.", "-.5"], number=-1e-7)
@given(st.lists(SIGNS, min_size=1, max_size=3), st.floats(-9, 9))
def test_no_text_of_a_csv_is_a_formula_and_every_number_is_as_it_was(texts: list[str], number: float) -> None:
    table = Table(columns=texts, rows=[[*texts[1:], number]])
    heads, cells = csv.reader(io.StringIO(as_csv(table), newline=""))
    assert float(cells.pop()) == number
    for text, cell in zip([*texts, *texts[1:]], [*heads, *cells], strict=True):
        if re.fullmatch(r"[-+]?[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?", text):
            assert cell == text
        else:
            assert len(cell) == 1 or not cell.lstrip().startswith(("=", "+", "-", "@", "\uff1d", "\uff20"))


@pytest.mark.parametrize("text", ["=1+1", "@x", "-a", "-0.5", "+", "'", "plain", "\t1", ""])
def test_a_cell_that_is_read_back_is_what_was_written(text: str) -> None:
    assert cell_as_written(safe_cell(text)) == text


@given(tables(), st.integers(40, 200))
def test_no_line_of_a_table_is_wider_than_the_terminal(table: Table, width: int) -> None:
    assert max(map(len, as_text(table, width).splitlines())) <= width


def test_long_names_that_differ_in_their_middles_only_are_wrapped_and_not_cut_alike() -> None:
    names = [f"{'selector(model=' * 3}{middle}{',weight=1' * 4})" for middle in "xy"]
    rows = [[name, "45.0 [38.1, 51.9]", "1"] for name in names]
    shown = as_text(Table(columns=["system", "aspect recall", "ranks"], rows=rows), 60)
    firsts = [line[:36].strip() for line in shown.splitlines()[2:]]
    assert "".join(firsts).replace(" ", "") == "".join(names)
    of_spaces: list[list[Cell]] = [[" " * 50, 1], ["x" * 50 + "a" + "y" * 50, 2], ["x" * 50 + "b" + "y" * 50, 3]]
    assert max(map(len, as_text(Table(columns=["system", "n"], rows=of_spaces), 40).splitlines())) <= 40


@given(st.sets(st.text("ab", max_size=60), min_size=1, max_size=30), st.integers(8, 40))
@example({f"{'x' * 50}{one}{'y' * 50}{other}{'z' * 50}" for one in "12" for other in "34"}, 20)
def test_names_that_are_shortened_stay_different(names: set[str], most: int) -> None:
    shown = shortened_apart(sorted(names), most)
    assert len(set(shown.values())) == len(names)
    assert all(len(text) <= most and (text == name or len(name) > most) for name, text in shown.items())
    assert list(shown) == sorted(names)


def test_columns_without_room_stand_below_with_the_names_again() -> None:
    table = Table(columns=["run", *"ABCDEFGH"], rows=[["first", *[100.5] * 8], ["second", *[2.5] * 8]])
    above, below = as_text(table, 40).split("\n\n")
    assert [block.splitlines()[0].split() for block in (above, below)] == [["run", *"ABCDE"], ["run", *"FGH"]]
    assert [line.split()[0] for line in below.splitlines()[2:]] == ["first", "second"]


def test_marks_are_explained_below_the_table_in_every_format() -> None:
    table = Table(columns=["system", "n"], rows=[["lead *", 1], ["best †", 2]], notes=["* a control", "† 100 % seen"])
    assert as_text(table).splitlines()[-2:] == ["* a control", "† 100 % seen"]
    assert as_markdown(table).endswith("\n\n\\* a control\n\n† 100 % seen")
    assert r"best \textdagger{} & 2 \\" in as_latex(table)
    assert r"\multicolumn{2}{l}{\footnotesize \textdagger{} 100 \% seen} \\" in as_latex(table)


@pytest.mark.parametrize(("columns", "expected"), [(132, 132), (66, 66), (3, 40)])
def test_the_width_of_a_terminal_is_asked_for(columns: int, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with os.fdopen(ours, "rb"), os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        assert terminal_width() == expected
    with Path(os.devnull).open("w") as file:
        monkeypatch.setattr(sys, "stdout", file)
        assert terminal_width() == 80, "of what is no terminal"


def test_a_column_has_its_value_in_csv_and_its_text_for_readers() -> None:
    columns: list[Column[float]] = [
        share_column("recall", "recall, %", lambda share: share),
        Column("is_high", "", lambda share: share > 0.5),
        Column("", "mark", lambda share: share, lambda share: "*" if share > 0.5 else ""),
    ]
    assert as_csv(table_for_csv(columns, [0.25, 0.75])) == "recall,is_high\n0.25,false\n0.75,true"
    shown = table_for_readers(columns, [0.25, 0.75], title="title", notes=["note"])
    assert (shown.columns, shown.rows) == (["recall, %", "mark"], [[25.0, ""], [75.0, "*"]])
    assert (shown.title, shown.notes) == ("title", ["note"])
