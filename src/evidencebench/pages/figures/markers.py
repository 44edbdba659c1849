"""Eight ways to look, told apart by shape and dashes as well as by colour: in grey print too."""

from math import cos, pi, sin

from evidencebench.pages.markup import Node, node

_N_SERIES = 8
DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 5", "12 4", "2 6", "9 3 2 3 2 3")


def look_of(position: int, *, is_control: bool = False) -> str:
    """Return the classes that colour a series."""
    return "chart-control" if is_control else f"chart-series-{position % _N_SERIES}"


def dash_of(position: int) -> str:
    """Return the dashes of a series; beyond eight, other ones go with each colour."""
    return DASHES[(position + position // _N_SERIES) % _N_SERIES]


def marker(x: float, y: float, position: int = 0, *, size: float = 4.5) -> Node:
    """Return the mark of a series; what stands around it colours it."""
    shape = (position + position // _N_SERIES) % _N_SERIES
    attributes: dict[str, str | int | float] = {"class": "chart-marker"}
    if shape == 0:
        return node("circle", attributes | {"cx": x, "cy": y, "r": size})
    corners = " ".join(f"{x + size * dx:.1f},{y + size * dy:.1f}" for dx, dy in _SHAPES[shape - 1])
    return node("polygon", attributes | {"points": corners})


def _star(n_points: int, inner: float) -> list[tuple[float, float]]:
    """Return the corners of a star; with ``inner`` near 1 it is a polygon."""
    radii = [1.25, 1.25 * inner] * n_points
    angles = [pi * step / n_points - pi / 2 for step in range(2 * n_points)]
    return [(radius * cos(angle), radius * sin(angle)) for radius, angle in zip(radii, angles, strict=True)]


def _turned(corners: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return corners turned by an eighth."""
    half = 0.5**0.5
    return [(half * (x - y), half * (x + y)) for x, y in corners]


_SQUARE = [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]
_TRIANGLE = [(0.0, -1.15), (1.15, 0.85), (-1.15, 0.85)]
_PLUS = [
    *((-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4)),
    *((0.4, 1.2), (-0.4, 1.2), (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4)),
]
_SHAPES = (
    _SQUARE,
    _TRIANGLE,
    _turned([(1.1 * x, 1.1 * y) for x, y in _SQUARE]),
    [(x, -y) for x, y in _TRIANGLE],
    _PLUS,
    _star(5, 0.45),
    _turned(_PLUS),
)
