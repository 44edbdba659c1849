"""What a notebook shows of an object: a small table, its text escaped, that loads nothing and has no colour."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import Cell, excerpt_html
from evidencebench import BM25, Instance, Kind, Labels, Query, Ranking, RankingTask, compare, evaluate, load_sample


class Page(HTMLParser):
    """The tags of a page, their attributes, and its text by cell."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.cells: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self._open.append(tag)
        if tag in {"td", "th", "p"}:
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in {"td", "th", "p", "b"}:
            self.cells[-1] += data


HARMLESS = {"table", "thead", "tbody", "tr", "td", "th", "p", "b"}
STYLES = {("style", "text-align: left"), ("style", "text-align: right")}
HOSTILE = "<script>alert(1)</script>&amp;<img src='http://x.y/z.png' onerror=alert(1)>\x1b[2J\u202e\n"


def hostile_instance() -> Instance:
    texts: dict[str, Any] = dict.fromkeys(("instance_id", "paper_id", "hypothesis"), HOSTILE)
    query = Query(**texts, sentences=(HOSTILE,) * 9, kinds=(Kind.BODY,) * 9)
    return Instance(query=query, labels=Labels(aspects=(HOSTILE,), sources={HOSTILE: (0, 3)}, texts={HOSTILE: HOSTILE}))


def two_scores(n: int = 10) -> list[Any]:
    return [one["er_at_10"] for one in evaluate({"a": BM25(), "b": {}}, load_sample()[:n], "er_at_10").values()]


OBJECTS: dict[str, Callable[[], Any]] = {
    "a data set": load_sample,
    "an instance": lambda: load_sample()[0],
    "a query": lambda: load_sample()[0].query,
    "a ranking": lambda: BM25().rank(load_sample()[0].query, RankingTask(budget=3)),
    "a set": lambda: Ranking(sentences=(3, 1), ordered=False),
    "scores": lambda: two_scores()[0],
    "a comparison": lambda: compare(*two_scores()),
    "a comparison of one paper": lambda: compare(*two_scores(1)),
    "a hostile instance": hostile_instance,
    "a hostile query": lambda: hostile_instance().query,
}


def shown(name: str) -> str:
    view: str = OBJECTS[name]()._repr_html_()
    return view


@pytest.mark.parametrize("name", OBJECTS)
def test_a_view_is_small_has_no_colour_and_loads_nothing(name: str) -> None:
    page = Page(shown(name))
    assert "table" in page.tags
    assert set(page.tags) <= HARMLESS
    assert set(page.attributes) <= STYLES
    assert len(shown(name)) < 12_000
    assert repr(OBJECTS[name]())[:30] in page.cells[0]
    if "hostile" in name:
        assert any("<script>alert(1)</script>&amp;<img" in cell for cell in page.cells)
        assert not re.search(r"[\x1b\u202e]", shown(name))


def test_the_view_of_a_query_tells_no_label() -> None:
    for instance in load_sample():
        view = instance.query._repr_html_()
        assert not any(aspect in view for aspect in instance.labels.aspects)
        assert not any(text in view for text in instance.labels.texts.values())


def test_long_papers_are_cut_and_what_is_left_out_is_counted() -> None:
    page = Page(shown("a query"))
    assert page.tags.count("tr") == 9
    assert page.cells[-1] == "and 58 more"


CELLS: st.SearchStrategy[Cell] = st.one_of(
    st.text("<>&'\"a b\n|*", max_size=9),
    st.integers(0, 99),
    st.floats(0, 9),
    st.none(),
)


def plain_text(cell: Cell) -> str:
    if cell is None:
        return ""
    return f"{cell:.1f}" if isinstance(cell, float) else str(cell).replace("\n", " ")


@given(st.lists(st.tuples(CELLS, CELLS), max_size=4), st.text("<&a", min_size=1, max_size=5))
def test_html_has_the_cells_of_the_table(rows: list[tuple[Cell, Cell]], title: str) -> None:
    page = Page(excerpt_html(title, ["<a>", "b"], rows, len(rows) + 1))
    assert page.cells == [title, "<a>", "b", *map(plain_text, (cell for row in rows for cell in row)), "and 1 more"]
