"""Charts with a curve for each system, such as recall by budget; its name stands where the curve ends."""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from evidencebench.pages.figures.data import ChartLine, fit_text, is_number, shown_name, title_name, width_of
from evidencebench.pages.figures.drawing import (
    HEAD,
    MARGIN,
    WIDTH,
    Scale,
    chart,
    dash_of,
    line,
    look_of,
    marker,
    percent_lines,
    text,
    tick_names,
    ticks,
    upright_lines,
)
from evidencebench.pages.html import Node, node

_PLOT = 300
_LABEL = 16
_FOOT = 42
_LEFT = MARGIN + 34
_MOST_NAME = 190
_MARKERS = 12
_TAIL = 36
_GAP = 4


def line_chart(
    lines: Sequence[ChartLine], *, title: str, x_name: str, y_name: str, width: int = WIDTH, key: str | None = None
) -> Node:
    """Return a chart of curves on an axis from 0 to 100 %; each curve has its own marks and dashes, and its name.

    ``x_name`` and ``y_name`` say what the axes measure. ``title`` and ``key`` are those of `interval_chart`. ``width``
    is that of the chart, in units.
    """
    widest = max((width_of(_name(curve)) for curve in lines if not curve.is_context), default=0.0)
    right = width - MARGIN - _TAIL - min(_MOST_NAME, width / 3, widest)
    top = HEAD + 22
    bottom = top + max(_PLOT * min(1, width / 480), sum(not curve.is_context for curve in lines) * _LABEL)
    places = [x for curve in lines for stretch in _stretches(curve) for x, _ in stretch]
    across = Scale(low=min(places, default=0), high=max(places, default=1), start=_LEFT + 8, end=right - 8)
    up = Scale(low=0, high=1, start=bottom, end=top)
    numbered = [
        (position if curve.series is None else curve.series, curve)
        for position, curve in enumerate(lines)
        if not curve.is_context
    ]
    return chart(
        title,
        f"{title_name(y_name)} by {title_name(x_name)}: {'; '.join(map(_describe, lines))}",
        *_axes(across, up, x_name, y_name, right),
        *(_context(curve, across, up) for curve in lines if curve.is_context),
        *(_band(curve, series, across, up) for series, curve in numbered),
        *(_curve(curve, series, across, up) for series, curve in numbered),
        *_labels(numbered, across, up, right, width),
        height=round(bottom + _FOOT),
        width=width,
        key=key,
    )


def _name(curve: ChartLine) -> str:
    return shown_name(curve.name, " *" if curve.is_control else "")


def _axes(across: Scale, up: Scale, x_name: str, y_name: str, right: float) -> Iterator[Node]:
    yield from percent_lines(up, _LEFT, right, gap=6)
    named = _named_ticks(across)
    yield from upright_lines(across, named, up.end, up.start)
    yield from tick_names(across, named, up.start + 15)
    yield text((_LEFT + right) / 2, up.start + 32, fit_text(title_name(x_name), right - _LEFT), "chart-tick", "middle")
    yield text(MARGIN, up.end - 10, fit_text(title_name(y_name), right), "chart-tick")


def _named_ticks(across: Scale) -> list[tuple[float, str]]:
    """Return (number, name) of as many round numbers as fit, and of the axis's first number, such as 1, if it fits."""
    for most in (8, 6, 4, 3, 2):
        found = ticks(across.low, across.high, most=most)
        for chosen in ([across.low, *found], found):
            named = [(tick, f"{tick:g}") for tick in chosen]
            ends = [(across.at(tick), width_of(name) / 2) for tick, name in named]
            if all(right - left >= half + other + _GAP for (left, half), (right, other) in pairwise(ends)):
                return named
    return []


def _stretches(curve: ChartLine) -> list[list[tuple[float, float]]]:
    grouped = groupby(curve.points, key=lambda point: is_number(point[0]) and is_number(point[1]))
    return [list(points) for is_drawn, points in grouped if is_drawn]


def _curve(curve: ChartLine, series: int, across: Scale, up: Scale) -> Node:
    parts: list[Node] = []
    for stretch in _stretches(curve):
        places = [(across.at(x), up.at(y)) for x, y in stretch]
        if len(places) > 1:
            dashes = {"stroke-dasharray": dash} if (dash := dash_of(series)) else {}
            parts.append(node("polyline", {"class": "chart-line", "points": _corners(places), **dashes}))
        every = max(1, -(-len(places) // _MARKERS))
        size = 3.5 if len(places) > 1 else 5
        parts += [marker(x, y, series, size=size) for x, y in [*places[:-1:every], places[-1]]]
    title = f"{title_name(curve.name)}{' (control)' if curve.is_control else ''}"
    return node("g", {"class": look_of(series, is_control=curve.is_control)}, node("title", None, title), *parts)


def _context(curve: ChartLine, across: Scale, up: Scale) -> Node:
    parts: list[Node] = []
    for stretch in _stretches(curve):
        places = [(across.at(x), up.at(y)) for x, y in stretch]
        if len(places) > 1:
            parts.append(node("polyline", {"class": "chart-line", "points": _corners(places)}))
        else:
            parts.append(marker(*places[0], size=2.5))
    return node("g", {"class": "chart-context"}, node("title", None, title_name(_name(curve))), *parts)


def _corners(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in places)


def _band(curve: ChartLine, series: int, across: Scale, up: Scale) -> Node | None:
    if curve.low is None or curve.high is None:
        return None
    ends = [
        (across.at(x), up.at(low), up.at(high))
        for (x, _), low, high in zip(curve.points, curve.low, curve.high, strict=True)
        if is_number(x) and is_number(low) and is_number(high)
    ]
    if len(ends) < 2:  # noqa: PLR2004 - an area needs two sides
        return None
    corners = [*((x, low) for x, low, _ in ends), *((x, high) for x, _, high in reversed(ends))]
    look = look_of(series, is_control=curve.is_control)
    return node("polygon", {"class": f"chart-band {look}", "points": _corners(corners)})


def _labels(
    numbered: Sequence[tuple[int, ChartLine]], across: Scale, up: Scale, right: float, width: int
) -> Iterator[Node]:
    """Yield each line's name at the right; names never overlap.

    A thin line leads to it from the curve's end, where the curve goes as far as the axis. The name of any other curve
    has its mark beside it, as all have.
    """
    ends = [stretches[-1][-1] if (stretches := _stretches(curve)) else None for _, curve in numbered]
    places = _spread([up.start if end is None else up.at(end[1]) for end in ends], up.end, up.start)
    x = right + _TAIL
    for (series, curve), end, y in zip(numbered, ends, places, strict=True):
        yield node(
            "g",
            {"class": look_of(series, is_control=curve.is_control)},
            node("title", None, title_name(curve.name)),
            line(across.at(end[0]) + 6, up.at(end[1]), x - 14, y, "chart-lead")
            if end and end[0] == across.high
            else None,
            marker(x - 8, y, series, size=3.5),
            text(x, y + 4, fit_text(_name(curve), width - MARGIN - x + 1), "chart-name"),
        )


def _spread(wanted: Sequence[float], top: float, bottom: float) -> list[float]:
    """Return heights near those wanted and in the same order, at least a line of text apart, within the bounds."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    found = list(wanted)
    least = top
    for position in order:
        found[position] = max(found[position], least)
        least = found[position] + _LABEL
    most = bottom
    for position in reversed(order):
        found[position] = min(found[position], most)
        most = found[position] - _LABEL
    return found


def _describe(curve: ChartLine) -> str:
    points = [point for stretch in _stretches(curve) for point in stretch]
    if not points:
        return f"{_name(curve)} has no points"
    (first_x, first_y), (last_x, last_y) = points[0], points[-1]
    return f"{_name(curve)} {100 * first_y:.1f} at {first_x:g}, {100 * last_y:.1f} at {last_x:g}"
