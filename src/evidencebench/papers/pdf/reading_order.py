"""The order in which the lines of a page are read: columns from left to right, each from top to bottom.

The order of the file is trusted within blocks, which are lines right below each other. Blocks are ordered by where they
stand: a region of the page is cut between columns where white space runs through it, else across.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from evidencebench.papers.pdf.lines import PrintedLine

_MOST_BLOCKS = 500  # a page with more holds no columns of text, and keeps the order of the file
_MOST_CUTS = 40
_GUTTER = 0.6  # the narrowest white space between columns, in sizes of type
_OVERFULL = 8  # of so many lines, one may reach into the next column
_CAPITALS, _BELOW = 0.75, 0.2  # how high capitals are, and how far letters reach below the line
_FARTHEST = 1.75  # from line to line of a block, in sizes of type


@dataclass(frozen=True, slots=True, kw_only=True)
class _PageBlock:
    lines: tuple[PrintedLine, ...]
    left: float
    right: float
    top: float
    bottom: float


def in_reading_order(lines: Sequence[PrintedLine]) -> list[PrintedLine]:
    """Return the lines of a page in reading order, each with its column."""
    blocks = _blocks(lines)
    if not blocks or len(blocks) > _MOST_BLOCKS:
        return list(lines)
    gutter = _GUTTER * sorted(line.size for line in lines)[len(lines) // 2]
    return _ordered(blocks, gutter, _edges(blocks), _MOST_CUTS)


def _blocks(lines: Sequence[PrintedLine]) -> list[_PageBlock]:
    groups: list[list[PrintedLine]] = []
    for line in lines:
        above = groups[-1][-1] if groups else line
        size = max(above.size, line.size)
        if (
            0.5 * size < line.baseline - above.baseline < _FARTHEST * size
            and abs(above.size - line.size) < 0.1 * size
            and min(above.right, line.right) > max(above.left, line.left)
        ):
            groups[-1].append(line)
        else:
            groups.append([line])
    return [
        _PageBlock(
            lines=tuple(group),
            left=min(line.left for line in group),
            right=sorted(line.right for line in group)[-1 - len(group) // _OVERFULL],
            top=min(line.baseline - _CAPITALS * line.size for line in group),
            bottom=max(line.baseline + _BELOW * line.size for line in group),
        )
        for group in groups
    ]


def _ordered(blocks: Sequence[_PageBlock], gutter: float, edges: tuple[float, float], n_cuts: int) -> list[PrintedLine]:
    if len(blocks) == 1 or not n_cuts:
        in_order = sorted(blocks, key=lambda block: (block.top, block.left))
        return [replace(line, column=edges) for block in in_order for line in block.lines]
    columns = _columns(blocks, gutter)
    if len(columns) > 1:
        return [line for column in columns for line in _ordered(column, gutter, _edges(column), n_cuts - 1)]
    strips = _joined_strips(_parted(blocks, attrgetter("top", "bottom"), lambda gap: gap >= 0), gutter)
    if len(strips) == 1:
        return _ordered(blocks, gutter, edges, 0)
    return [line for strip in strips for line in _ordered(strip, gutter, edges, n_cuts - 1)]


def _edges(blocks: Sequence[_PageBlock]) -> tuple[float, float]:
    return min(block.left for block in blocks), max(block.right for block in blocks)


def _columns(blocks: Sequence[_PageBlock], gutter: float) -> list[list[_PageBlock]]:
    return _parted(blocks, attrgetter("left", "right"), lambda gap: gap > gutter)


def _parted(
    blocks: Sequence[_PageBlock], ends: Callable[[_PageBlock], tuple[float, float]], is_apart: Callable[[float], bool]
) -> list[list[_PageBlock]]:
    """Return the blocks, parted where white space runs through all of them."""
    parts: list[list[_PageBlock]] = []
    last = 0.0
    for block in sorted(blocks, key=lambda block: ends(block)[0]):
        start, stop = ends(block)
        if not parts or is_apart(start - last):
            parts.append([block])
            last = stop
        else:
            parts[-1].append(block)
            last = max(last, stop)
    return parts


def _joined_strips(strips: Sequence[list[_PageBlock]], gutter: float) -> list[list[_PageBlock]]:
    """Join strips that share the white space between their columns: each column is read to its end."""
    groups: list[list[list[_PageBlock]]] = []
    for strip in strips:
        above = [block for joined in groups[-1] for block in joined] if groups else []
        if above and len(_columns([*above, *strip], gutter)) > 1:
            groups[-1].append(strip)
            continue
        # A line alone between columns and what follows them is the heading of what follows, beside its columns too.
        last = groups[-1][-1] if groups and len(groups[-1]) > 1 else []
        if last and len(min(last, key=lambda block: block.left).lines) == 1:
            is_beside = len(last) > 1 and len(_columns([*last, *strip], gutter)) > 1
            groups += [[groups[-1].pop()]] if len(last) == 1 or is_beside else []
            if is_beside:
                groups[-1].append(strip)
                continue
        groups.append([strip])
    return [[block for strip in group for block in strip] for group in groups]
