"""Charts show any names as text and any numbers at their places, and no other elements."""

import os
import re
import struct
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from colorsys import rgb_to_hls
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET
from xml.parsers import expat

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from doors import (
    BOLD_SIZE,
    FONT_SIZE,
    LONGEST_SHOWN,
    NEEDED,
    RENDERERS,
    TITLE_SIZE,
    WIDTH,
    DataError,
    Estimate,
    Group,
    Mark,
    MissingExtraError,
    Node,
    Series,
    Table,
    as_html,
    colours_of,
    line_chart,
    png_file,
    replace_forbidden,
    require_png,
    row_chart,
    size_of,
    svg_file,
    terminal_bars,
    title_name,
    width_of,
)
from doors import style as page_style

HOSTILE = [
    "<script>alert(1)</script>",
    "</style></svg>]]>&amp;&#0;<!--",
    "nul\0 bell\x07 \ud800 \ufffe",
    "right\u202eto\u2066left\u200f",
    "\" onload='alert(1)'",
    "W" * 1_000,
    "漢字" * 50,
    "",
    "e" + "\u0301" * 300,
    "two\nlines\tand a tab",
]
names = st.sampled_from(HOSTILE) | st.text(max_size=60)
shares = st.floats(0, 1)
plain_names = st.text("abcdefghkopqrsuvxyz0123456789_", min_size=1, max_size=20)


def estimate(mean: float, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(mean=mean, low=low, high=high, n=9, n_clusters=9)


def a_bar(name: str, mean: float = 0.5, low: float | None = None, high: float | None = None, **look: Any) -> Series:
    return Series(name=name, points=[estimate(mean, low, high)], **look)


def interval_chart(bars: Sequence[Series], *, title: str = "t", unit: str = "aspect recall, %") -> Node:
    return row_chart([Group("", bars)], title=title, unit=unit)


def difference_chart(bars: Sequence[Series], sides: tuple[str, str] = ("second", "first"), title: str = "t") -> Node:
    return row_chart([Group("", bars, sides=sides)], title=title, unit="points")


def grouped_chart(groups: Sequence[Group], *, title: str = "t", unit: str = "aspect recall, %") -> Node:
    return row_chart(groups, title=title, unit=unit)


@st.composite
def estimates(draw: st.DrawFn, of_number: st.SearchStrategy[float] = shares) -> Estimate:
    low, mean, high = sorted(draw(st.tuples(of_number, of_number, of_number)))
    return estimate(mean, low, high) if draw(st.booleans()) else estimate(mean)


def bars_of(of_name: st.SearchStrategy[str], of_number: st.SearchStrategy[float] = shares) -> st.SearchStrategy[Series]:
    return st.builds(
        Series,
        name=of_name,
        points=st.tuples(estimates(of_number)),
        note=st.just("") | of_name,
        is_control=st.booleans(),
        unfinished=st.sampled_from(["", "", "3 of 12"]),
        number=st.integers(0, 20),
    )


def curves_of(of_name: st.SearchStrategy[str]) -> st.SearchStrategy[Series]:
    points = st.lists(st.none() | estimates(), max_size=8)
    return st.builds(Series, name=of_name, points=points, is_control=st.booleans(), is_context=st.booleans())


def charts_of(of_name: st.SearchStrategy[str]) -> st.SearchStrategy[Node]:
    rows = st.lists(bars_of(of_name), max_size=8)
    differences = st.lists(bars_of(of_name, st.floats(-1, 1)), max_size=8)
    sides = st.tuples(of_name, of_name)
    groups = st.lists(st.builds(Group, of_name, st.lists(bars_of(of_name), max_size=4)), max_size=4)
    pairs = st.lists(st.builds(Group, of_name, differences, sides=sides), max_size=2)
    curves = st.lists(curves_of(of_name), max_size=6)
    return st.one_of(
        st.builds(interval_chart, rows, title=of_name, unit=of_name),
        st.builds(difference_chart, differences, sides=sides, title=of_name),
        st.builds(grouped_chart, groups | pairs, title=of_name, unit=of_name),
        st.builds(line_chart, curves, title=of_name, x_name=of_name, y_name=of_name),
    )


def parsed(text: str) -> Node:
    """Parse XML; fail at a document type or an entity declaration, as a cautious reader does."""

    def refuse(*_: object) -> None:
        raise AssertionError("a document type or an entity")

    careful = expat.ParserCreate()
    careful.StartDoctypeDeclHandler = careful.EntityDeclHandler = refuse
    careful.Parse(text.encode(), True)  # noqa: FBT003 - expat's signature
    return ET.fromstring(text)  # noqa: S314 - the cautious reader has read it


def tag_of(part: Node) -> str:
    return part.tag.partition("}")[2] or part.tag


def titles_in(chart: Node) -> list[str]:
    """Return the texts of all title elements (tooltips) in the order of the document, without the chart's own."""
    return [part.text or "" for part in chart.iter("title")][1:]


def of_look(chart: Node, look: str) -> list[Node]:
    return [part for part in chart.iter() if look in part.attrib.get("class", "").split()]


def places_in(chart: Node) -> Iterator[tuple[float, float]]:
    """Yield every point that the chart draws at."""
    for part in chart.iter():
        found = part.attrib
        for x, y in (("x", "y"), ("cx", "cy"), ("x1", "y1"), ("x2", "y2")):
            if x in found:
                yield float(found[x]), float(found[y])
        for corner in found.get("points", "").split():
            across, down = corner.split(",")
            yield float(across), float(down)


def extents_in(chart: Node) -> Iterator[tuple[float, float, float]]:
    """Yield (height, left, right) of every text, with the width that `width_of` returns."""
    for part in chart.iter("text"):
        words = part.text or ""
        look = part.attrib.get("class", "")
        width = width_of(words, {"chart-title": TITLE_SIZE, "chart-group": BOLD_SIZE}.get(look, FONT_SIZE))
        left = float(part.attrib["x"]) - {"end": width, "middle": width / 2}.get(part.attrib.get("text-anchor", ""), 0)
        yield float(part.attrib["y"]), left, left + width


@given(charts_of(names))
def test_any_chart_is_a_well_formed_file_without_styles_or_scripts_and_no_text_leaves_it_or_touches_another(
    chart: Node,
) -> None:
    text = svg_file(chart)
    assert {tag_of(part) for part in parsed(text).iter()} <= {
        *("svg", "title", "desc", "style", "rect", "g", "text", "line", "circle", "polygon", "polyline")
    }
    assert len(text) < 60_000
    assert not any(name == "style" or name.startswith("on") for part in chart.iter() for name in part.attrib)
    assert "<script" not in as_html(chart)
    on_line = defaultdict(list)
    for y, left, right in extents_in(chart):
        assert left >= -1
        assert right <= WIDTH + 1
        on_line[y].append((left, right))
    for neighbours in on_line.values():
        assert all(right <= left + 1 for (_, right), (left, _) in pairwise(sorted(neighbours)))


@given(charts_of(plain_names))
def test_everything_is_drawn_inside_the_chart_and_no_number_is_missing_by_name(chart: Node) -> None:
    width, height = size_of(chart)
    assert width == WIDTH
    assert all(0 <= x <= width and 0 <= y <= height for x, y in places_in(chart))
    text = as_html(chart)
    assert not re.search(r"\b(nan|inf|None)\b", text)


@given(st.lists(bars_of(plain_names), max_size=12))
def test_every_name_is_told_in_the_order_given(bars: list[Series]) -> None:
    for chart in (interval_chart(bars), grouped_chart([Group("g", bars)])):
        told = titles_in(chart)
        assert [title.partition(":")[0].removesuffix(" (baseline)") for title in told] == [bar.name for bar in bars]
        heights = [float(part.attrib["y"]) for part in of_look(chart, "chart-name")]
        assert heights == sorted(set(heights))
        assert len(heights) == len(bars)


@given(st.lists(bars_of(plain_names), max_size=12))
def test_every_mean_is_drawn_and_an_interval_where_there_is_one(bars: list[Series]) -> None:
    chart = interval_chart(bars)
    assert len(of_look(chart, "chart-marker")) == len(bars)
    assert len(of_look(chart, "chart-interval")) == 3 * sum(bool(bar.point.interval) for bar in bars)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_marks_stand_where_the_numbers_are(means: list[float]) -> None:
    chart = interval_chart([a_bar("s", mean, mean, 1) for mean in (0.0, 1.0, *means)])
    start, end, *others = (float(mark.attrib["cx"]) for mark in of_look(chart, "chart-marker"))
    assert end - start > 150
    assert others == pytest.approx([start + mean * (end - start) for mean in means], abs=0.1)
    grid = sorted(float(part.attrib["x1"]) for part in of_look(chart, "chart-grid"))
    assert grid == pytest.approx([start + share * (end - start) for share in (0, 0.25, 0.5, 0.75, 1)], abs=0.1)


@given(st.lists(st.lists(bars_of(plain_names, st.floats(-1, 1)), min_size=1, max_size=6), min_size=1, max_size=3))
def test_differences_lie_on_their_side_of_zero(pairs: list[list[Series]]) -> None:
    chart = grouped_chart([Group(str(n), bars, sides=("b", "a")) for n, bars in enumerate(pairs)])
    (zero,) = {float(part.attrib["x1"]) for part in of_look(chart, "chart-zero")}
    marks = of_look(chart, "chart-marker")
    for bar, mark in zip([bar for bars in pairs for bar in bars], marks, strict=True):
        points = [float(corner.split(",")[0]) for corner in mark.attrib.get("points", "").split()]
        away = (float(mark.attrib["cx"]) if "cx" in mark.attrib else (min(points) + max(points)) / 2) - zero
        assert away * bar.point.mean >= 0 or abs(away) < 0.2
        assert abs(away) > 0.1 or abs(bar.point.mean) < 0.01
    words = [part.text for part in of_look(chart, "chart-tick") if "better" in (part.text or "")]
    assert words == ["← b better", "a better →"] * len(pairs)


@pytest.mark.parametrize("name", [*HOSTILE, "W" * 1_000_000], ids=lambda name: ascii(name[:8]))
def test_a_hostile_name_is_text_cut_to_what_fits(name: str) -> None:
    chart = interval_chart([a_bar(name, is_control=True)], title=name)
    (title,) = titles_in(chart)
    assert title.startswith(replace_forbidden(title_name(name)))
    assert len(title) < 240
    (label,) = of_look(chart, "chart-name")
    assert len(label.text or "") <= LONGEST_SHOWN + 2
    assert not re.search("[\u202e\u2066\u200f\0]", as_html(chart))
    assert len(svg_file(chart)) < 10_000


def a_line(name: str, *, end: float, **look: Any) -> Series:
    return Series(name=name, points=[estimate(end * k / 20) for k in range(1, 21)], **look)


def lines_chart(lines: Sequence[Series]) -> Node:
    return line_chart(lines, title="t", x_name="k", y_name="y")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_names_of_lines_stand_apart_in_the_order_in_which_the_lines_end(ends: list[float]) -> None:
    chart = lines_chart([a_line(str(n), end=end) for n, end in enumerate(ends)])
    found = {part.text or "": float(part.attrib["y"]) for part in of_look(chart, "chart-name")}
    assert set(found) == {str(n) for n in range(len(ends))}
    heights = sorted(found.values())
    assert all(after - before >= 15.9 for before, after in pairwise(heights))
    assert heights[-1] <= size_of(chart)[1] - 37  # above the names of the ticks
    lowest_first = sorted(found, key=lambda name: -found[name])
    assert [ends[int(name)] for name in lowest_first] == pytest.approx(sorted(ends), abs=0.001)


def test_a_line_has_a_gap_where_there_is_no_point() -> None:
    means = (0.1, 0.2, None, 0.4, 0.5, None, 0.7)
    broken = Series(name="b", points=[None if mean is None else estimate(mean) for mean in means])
    chart = lines_chart([broken])
    assert [len(part.attrib["points"].split()) for part in of_look(chart, "chart-line")] == [2, 2]
    assert len(of_look(chart, "chart-marker")) == 5 + 1  # and the one beside the name


def test_a_band_is_drawn_from_the_low_ends_and_back_over_the_high_ones() -> None:
    line = Series(name="b", points=[estimate(0.5, 0.25, 0.75), estimate(0.6, 0.5, 1.0)])
    (band,) = of_look(lines_chart([line]), "chart-band")
    heights = [float(corner.split(",")[1]) for corner in band.attrib["points"].split()]
    top, bottom = heights[2], heights[0] + (heights[0] - heights[3]) / 2
    assert heights == pytest.approx([bottom + share * (top - bottom) for share in (0.25, 0.5, 1.0, 0.75)])


def test_lines_differ_by_more_than_their_colour() -> None:
    chart = lines_chart([a_line(str(n), end=n / 20, number=n) for n in range(16)])
    dashes = [part.attrib.get("stroke-dasharray") for part in of_look(chart, "chart-line")]
    assert len(set(dashes[:8])) == 8
    looks = [part.attrib["class"] for part in chart if part.tag == "g"][:16]
    assert len(set(zip(looks, dashes, strict=True))) == 16
    marks = [_shape(of_look(part, "chart-marker")[0]) for part in chart if part.tag == "g"][:8]
    assert len(set(marks)) == 8


def test_an_unfinished_run_is_hollow_dashed_and_says_how_many_it_answered() -> None:
    bars = [
        a_bar("n" * 200, 0.4, 0.3, 0.5, unfinished="3 of 12", note="rank 1-3"),
        a_bar("bm25", 0.5, 0.4, 0.6),
    ]
    for chart in (interval_chart(bars), grouped_chart([Group("g", bars)])):
        (row,) = of_look(chart, "chart-unfinished")
        assert (row.findtext("text") or "").endswith("n (3 of 12)")
        assert "unfinished: 3 of 12 done" in (row.findtext("title") or "")
        assert "hollow and dashed: unfinished" in as_html(chart)
    assert "unfinished" not in as_html(interval_chart(bars[1:]))
    rules = page_style(("figures",))
    assert ".chart .chart-unfinished .chart-interval { stroke-dasharray" in rules
    assert ".chart .chart-unfinished .chart-marker { fill: var(--paper); stroke-dasharray" in rules


def _shape(mark: Node) -> tuple[object, ...]:
    """Return a mark's corners around its middle."""
    corners = [tuple(map(float, corner.split(","))) for corner in mark.attrib.get("points", "").split()]
    middle = [sum(axis) / len(corners) for axis in zip(*corners, strict=True)] if corners else []
    return tuple((round(x - middle[0]), round(y - middle[1])) for x, y in corners)


def test_controls_are_hollow_grey_and_starred_and_the_star_is_explained() -> None:
    bars = [a_bar("bm25", 0.4, 0.3, 0.5), a_bar("lead", 0.5, 0.4, 0.6, is_control=True)]
    for chart in (
        interval_chart(bars),
        grouped_chart([Group("g", bars)]),
        lines_chart([a_line("bm25", end=1), a_line("lead", end=1, is_control=True)]),
    ):
        assert {part.text for part in of_look(chart, "chart-name")} == {"bm25", "lead *"}
        assert all("lead" in (part.findtext("title") or "") for part in of_look(chart, "chart-control"))
    assert ".chart .chart-control .chart-marker { fill: var(--paper); }" in page_style(("figures",))
    assert "* hollow mark: a baseline" in as_html(interval_chart(bars))
    assert "hollow" not in as_html(interval_chart(bars[:1]))


def test_a_system_of_a_number_looks_the_same_in_every_chart_and_place() -> None:
    bars = [a_bar(str(n), number=n) for n in (5, 2, 11)]
    lines = [Series(name=str(n), points=[estimate(0.5), estimate(0.5)], number=n) for n in (11, 5, 2)]
    charts = [interval_chart(bars), grouped_chart([Group("g", bars[1:]), Group("h", bars)]), lines_chart(lines)]
    found = {(name, part.attrib["class"]) for chart in charts for name, part in _series_in(chart)}
    assert found == {("5", "chart-series-5"), ("2", "chart-series-2"), ("11", "chart-series-3")}
    shapes = {(name, _shape(of_look(part, "chart-marker")[0])) for chart in charts for name, part in _series_in(chart)}
    assert len(shapes) == 6  # rows and lines have marks of their own size
    dashes = {part.attrib["stroke-dasharray"] for part in of_look(charts[2], "chart-line")}
    assert len(dashes) == 3
    alone = lines_chart(lines[2:])
    (drawn,) = of_look(alone, "chart-line")
    assert drawn.attrib["stroke-dasharray"] == of_look(charts[2], "chart-line")[2].attrib["stroke-dasharray"]


def _series_in(chart: Node) -> list[tuple[str, Node]]:
    """Return the parts that belong to a series, each with the series' name."""
    return [((part.findtext("title") or "").partition(":")[0], part) for part in chart if part.tag == "g"]


LONG = [f"my_very_long_system_name_with_many_parts_and_a_date_20261121_{end}" for end in "abcde"]


def test_long_names_that_differ_at_their_ends_are_told_apart_in_every_picture() -> None:
    bars = [a_bar(name, 0.5, 0.4, 0.6, note="rank 1-5", is_control=name == LONG[0]) for name in LONG]
    lines = [a_line(name, end=0.5) for name in LONG]
    charts = [interval_chart(bars), grouped_chart([Group("g", bars)]), lines_chart(lines)]
    for chart in charts:
        shown_names = [part.text or "" for part in of_look(chart, "chart-name")]
        assert len(set(shown_names)) == len(LONG)
        assert all(name.startswith("my_very_l") for name in shown_names)
    rows = [row.partition("  ")[0] for row in terminal_bars(bars).split("\n")[1:]]
    assert len(set(rows)) == len(LONG)
    assert rows[0].endswith("_a *")
    table = RENDERERS["text"](Table(columns=["system", "means"], rows=[[name, "1" * 60] for name in LONG]))
    firsts = [row.partition(" ")[0] for row in table.split("\n")[2:]]
    assert [name[-2:] for name in firsts] == ["_a", "_b", "_c", "_d", "_e"]


def test_a_pair_of_long_names_keeps_the_ends_of_both() -> None:
    pairs = [f"{first} − {second}" for first in LONG for second in LONG]
    chart = difference_chart([a_bar(pair, 0.1, 0, 0.2, note="p = 0.0123") for pair in pairs])
    shown_names = [part.text or "" for part in of_look(chart, "chart-name")]
    assert len(set(shown_names)) == len(pairs)
    for name, pair in zip(shown_names, pairs, strict=True):
        first, second = pair.split(" − ")
        ends = name.split(" − ")
        assert [ends[0][-2:], ends[1][-2:]] == [first[-2:], second[-2:]]


@pytest.mark.parametrize(("n_groups", "n_bars"), [(1, 60), (20, 10)])
def test_many_rows_make_a_chart_taller_not_denser(n_groups: int, n_bars: int) -> None:
    bars = [a_bar(f"system {n}", n / n_bars, 0, 1) for n in range(n_bars)]
    chart = grouped_chart([Group(str(n), bars) for n in range(n_groups)])
    heights = sorted(float(part.attrib["y"]) for part in of_look(chart, "chart-name"))
    assert len(heights) == n_groups * n_bars
    assert min(after - before for before, after in pairwise(heights)) >= 20
    assert len([part for part in of_look(chart, "chart-tick") if part.text == "50"]) == 2  # above and below


def test_a_chart_has_a_name_and_the_numbers_in_words_for_those_who_do_not_see_it() -> None:
    bars = [a_bar("bm25", 0.37, 0.29, 0.439), a_bar("x", 0.5)]
    chart = interval_chart(bars, title="er_at_10")
    assert chart.attrib["role"] == "img"
    by_id = {part.attrib["id"]: part.text for part in chart.iter() if "id" in part.attrib}
    assert by_id[chart.attrib["aria-labelledby"]] == "er_at_10"
    assert by_id[chart.attrib["aria-describedby"]] == "aspect recall, %: bm25 37.0 [29.0, 43.9]; x 50.0"
    assert "width" not in chart.attrib  # so that it scales with what it stands in
    curve = line_chart([a_line("bm25", end=0.8)], title="t", x_name="budget", y_name="recall")
    assert curve.findtext("desc") == "recall by budget: bm25 4.0 at 1, 80.0 at 20"
    grouped = grouped_chart([Group("er_at_5", bars[1:]), Group("er_at_10", bars)])
    assert grouped.findtext("desc") == "aspect recall, %. er_at_5: x 50.0. er_at_10: bm25 37.0 [29.0, 43.9]; x 50.0"


def test_files_have_the_colours_of_the_page() -> None:
    tokens = (files("evidencebench.pages") / "assets" / "tokens.css").read_text(encoding="utf-8")
    used = set(re.findall(r"var\(--([a-z0-9-]+)\)", page_style(("figures",)))) - {"font"}
    assert {"ink", "series-7", "control"} <= used
    file = svg_file(interval_chart([]))
    assert "var(" not in file
    light, dark = file.split("prefers-color-scheme: dark")
    of_page = {name: colours for name, *colours in re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\);", tokens)}
    for name in used:
        assert of_page[name][0] in light
        assert of_page[name][1] in dark


def hue_of(colour: str) -> float:
    return 360 * rgb_to_hls(*_parts(colour))[0]


def luminance_of(colour: str) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in _parts(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _parts(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_series_and_the_focus_have_colours_of_their_own_and_the_focus_can_be_seen(theme: Any) -> None:
    colours = colours_of(theme)

    def apart(one: str, other: str) -> float:
        return abs((hue_of(colours[one]) - hue_of(colours[other]) + 180) % 360 - 180)

    assert len({colours[f"series-{number}"] for number in range(8)}) == 8
    for other in ("accent", "system-a", "system-b"):
        assert apart("focus", other) > 45
        for one in (f"series-{number}" for number in range(7)):  # the eighth is grey
            assert colours[one] != colours[other]
            # The orange of B is told from red and brown by its lightness and by its square.
            assert other == "system-b" or apart(one, other) > 18, (one, other)
    for ground in ("paper", "panel"):
        lights = sorted(luminance_of(colours[name]) + 0.05 for name in ("focus", ground))
        assert lights[1] / lights[0] >= 3


def _png(chart: Node) -> bytes:
    try:
        return png_file(chart)
    except (MissingExtraError, DataError) as error:
        pytest.skip(str(error))


def test_a_png_is_twice_the_chart_light_and_shows_what_differs() -> None:
    resvg_py = pytest.importorskip("resvg_py", reason="needs resvg_py, extra 'plot'")
    first, again, other = (_png(interval_chart([a_bar(name, 0.4, 0.3, 0.5)])) for name in ("bm25", "bm25", "lead"))
    assert first.startswith(b"\x89PNG\r\n\x1a\n")
    chart = interval_chart([a_bar("bm25", 0.4, 0.3, 0.5)])
    assert struct.unpack(">II", first[16:24]) == tuple(2 * side for side in size_of(chart))
    assert first == again
    assert first != other
    light, dark = re.split(r"(?=@media)", svg_file(chart))
    without_dark = light + dark[dark.index("</style>") :]
    assert first == bytes(resvg_py.svg_to_bytes(svg_string=without_dark, zoom=2, background="#ffffff"))
    hostile = [a_bar(name, 0.5, 0.25, 0.75, note=name) for name in HOSTILE]
    assert _png(interval_chart(hostile, title=HOSTILE[1])).startswith(b"\x89PNG")


def test_a_png_without_its_extra_names_the_command_that_installs_it_also_before_anything_is_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)  # as where it is not installed
    with pytest.raises(MissingExtraError, match=r"pip install 'evidencebench\[plot\]'"):
        png_file(interval_chart([]))
    with pytest.raises(MissingExtraError, match="SVG needs nothing"):
        require_png()


@pytest.mark.skipif(sys.platform != "linux", reason="fonts can be hidden by fontconfig only")
def test_a_png_on_a_machine_without_fonts_says_what_to_install(tmp_path: Path) -> None:
    _png(interval_chart([]))
    (tmp_path / "fonts.conf").write_text(f"<fontconfig><dir>{tmp_path}</dir></fontconfig>")
    code = "from doors import require_png; require_png()"
    environment = os.environ | {"FONTCONFIG_FILE": str(tmp_path / "fonts.conf"), "HOME": str(tmp_path)}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert found.returncode == 1
    assert f"{DataError.__name__}: pictures as PNG: this machine has none of the fonts" in found.stderr
    assert "fonts-dejavu-core" in found.stderr


@st.composite
def terminal_pictures(draw: st.DrawFn) -> tuple[list[Series], list[Mark]]:
    bars = draw(st.lists(bars_of(names), max_size=6))
    column = st.lists(st.none() | shares, min_size=len(bars), max_size=len(bars))
    return bars, [
        Mark(letter=letter, name=draw(names), values=draw(column)) for letter in draw(st.sets(st.sampled_from("rla^")))
    ]


@given(terminal_pictures(), st.integers(0, 120))
def test_a_terminal_picture_fits_its_columns_and_is_ascii_where_it_must_be(
    picture: tuple[list[Series], list[Mark]], width: int
) -> None:
    bars, marks = picture
    for ascii_only in (False, True):
        text = terminal_bars(bars, marks=marks, width=width, ascii_only=ascii_only)
        assert all(cell_len(line) <= max(width, 40) for line in text.split("\n"))
        assert text.isascii() or not ascii_only
        assert len(text) < 200 * (len(bars) + 2 + len(marks))


@given(st.lists(bars_of(plain_names), max_size=8))
def test_a_terminal_picture_has_a_row_a_bar_with_a_dot_and_its_number(bars: list[Series]) -> None:
    _, *rows = terminal_bars(bars).split("\n")
    if any(bar.unfinished for bar in bars):
        assert rows.pop().strip() == "◌ unfinished: missing answers count as 0"
    assert len(rows) == len(bars)
    for bar, row in zip(bars, rows, strict=True):
        assert row.startswith(f"{bar.name}{bar.suffix} " if len(bar.name) + len(bar.suffix) <= 24 else bar.name[:1])
        assert f"{bar.suffix} " in row
        drawn = [character for character in row if character in "●○◌"]
        mark = "○" if bar.is_control else "◌" if bar.unfinished else "●"
        assert drawn == [mark]
        assert row.endswith(f" {100 * bar.point.mean:.1f}")


def test_a_terminal_picture_marks_what_every_row_has_beside_its_own() -> None:
    bars = [
        a_bar("er_at_10", 0.5, 0.25, 0.75),
        a_bar("er_at_5", 0.75),
        a_bar("control", 0.0, 0.0, 0.0, is_control=True),
    ]
    marks = [
        Mark(letter="r", name="random", values=[0.125, 0.5, None]),
        Mark(letter="l", name="lead", values=[0.625, 0.5, None]),
        Mark(letter="^", name="ceiling", values=[1.0, 0.75, 1.0]),
        Mark(letter="n", name="nothing", values=[None, None, None]),
    ]
    assert terminal_bars(bars, marks=marks, width=60).split("\n") == [
        "           0        25        50        75       100",
        "er_at_10   ·    r    ├─────────●────l────┤         ^   50.0",
        "er_at_5    ·         ·         +         ◉         ·   75.0",
        "control *  ○         ·         ·         ·         ^    0.0",
        "           r random  l lead  ^ ceiling  + several of them",
        "           ◉ a reference value that equals the mean",
    ]


def test_a_terminal_picture_in_ascii_says_the_same() -> None:
    bars = [
        a_bar("bm25", 0.5, 0.25, 0.75),
        a_bar("lead", 0.5, 0.5, 0.5, is_control=True),
        a_bar("Ada", 0.5, 0.25, 0.75, unfinished="3 of 12"),
    ]
    drawn, typed = (terminal_bars(bars, ascii_only=ascii_only) for ascii_only in (False, True))
    assert drawn.translate(str.maketrans(NEEDED, "||-ox?@..")) == typed


def test_a_name_that_holds_a_plus_needs_no_word_about_several_marks() -> None:
    bars = [a_bar("cues+bm25 ◉")]
    assert "several" not in terminal_bars(bars)
    assert "one of them" not in terminal_bars(bars)
