"""The forest plot of a task: every system in order, its interval, and which systems cannot be told apart."""

from collections.abc import Iterator, Sequence
from itertools import count, islice, product
from string import ascii_lowercase

from evidencebench.data.tasks import Task
from evidencebench.pages.figures import RowAxis, row_axis, row_mark
from evidencebench.pages.markup import Child, Node, node
from evidencebench.pages.report.blocks import framed, isolated_name, note
from evidencebench.pages.report.findings import Findings
from evidencebench.pages.task_title import task_title
from evidencebench.scoring.compare import holm_text
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.leaderboard import Standing
from evidencebench.scoring.score_texts import percent
from evidencebench.scoring.significance import ALPHA

_TICKS = tuple((tick / 100, str(tick)) for tick in (0, 25, 50, 75, 100))


def forest(findings: Findings, task: Task) -> list[Node]:
    """Return the plot as a table, a row for each system, with the ceiling as a line; and what explains it."""
    board = findings.boards[task.name]
    ceiling = next((row for row in board.standings if row.is_control and CONTROLS[row.system].knows_labels), None)
    axis = RowAxis(low=0.0, high=1.0, ticks=_TICKS, rule=None if ceiling is None else ceiling.recall.mean)
    rows = [row for row in board.standings if row is not ceiling]
    groups = [tuple(map(rows.index, group)) for group in board.level_groups()]
    letters = list(islice(_letters(), len(groups)))
    name = f"Chart: mean aspect recall, {task_title(task)}"
    head = node(
        "tr",
        None,
        node("th", {"scope": "col", "class": "forest-ranks"}, "ranks"),
        node("th", {"scope": "col"}, "system"),
        node(
            "th",
            {"scope": "col", "class": "forest-plot"},
            node("span", {"class": "visually-hidden"}, "plot"),
            row_axis(axis),
        ),
        node("th", {"scope": "col"}, "aspect recall, %"),
        node("th", {"scope": "colgroup", "colspan": len(groups)}, "level") if groups else None,
    )
    body = (
        node(
            "tr",
            None,
            node("td", {"class": "forest-ranks"}, row.rank_text.replace("-", "–")),
            node("th", {"scope": "row", "class": "forest-name"}, *system_name(findings, row)),
            node("td", {"class": "forest-plot"}, row_mark(axis, findings.bar(row))),
            node("td", {"class": "forest-value"}, *_value(row)),
            *(_level(place, group, letter) for group, letter in zip(groups, letters, strict=True)),
        )
        for place, row in enumerate(rows)
    )
    table = node("table", {"class": "forest"}, node("thead", None, head), node("tbody", None, *body))
    return [framed(name, table), note(*_explanation(findings, task, ceiling, has_groups=bool(groups)))]


def system_name(findings: Findings, row: Standing) -> list[Child]:
    """Return a system's name with its marks, and how much it answered where that is not all."""
    seen = "\u00a0†" if row.trained_on_it else ""
    few = node("span", {"class": "muted"}, f" ({row.unfinished} done)") if row.unfinished else None
    return [isolated_name(findings.name_of(row)), seen, few]


def _value(row: Standing) -> list[Child]:
    mean, _, ends = percent(row.recall, alone="").partition(" ")
    return [mean, " " if ends else None, node("span", {"class": "muted"}, ends) if ends else None]


def _level(place: int, group: Sequence[int], letter: str) -> Node:
    """Return a row's cell in the column of a group: its letter on a bar, or the line between two members."""
    looks = ["level"]
    if place in group:
        looks += [
            "level-in",
            *(["level-first"] if place == min(group) else []),
            *(["level-last"] if place == max(group) else []),
        ]
    elif min(group) < place < max(group):
        looks.append("level-between")
    return node("td", {"class": " ".join(looks)}, node("span", None, letter) if place in group else None)


def _letters() -> Iterator[str]:
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def _explanation(findings: Findings, task: Task, ceiling: Standing | None, *, has_groups: bool) -> list[Child]:
    board = findings.boards[task.name]
    told = []
    if has_groups:
        told.append(
            f"Two systems on one bar, with its letter, cannot be told apart: p is at least {ALPHA} by sign flips of "
            f"papers ({holm_text(board.pairs)}). Two without one differ significantly."
        )
    recall = board.standings[0].recall
    told.append(f"Lines: {100 * findings.resampling.level:g} % intervals over {recall.extent}.")
    if ceiling is not None:
        told.append(f"Dashed: the ceiling, {100 * ceiling.recall.mean:.1f} %.")
    if any(row.unfinished for row in board.standings):
        told.append("Hollow with a dashed line: unfinished; what has no answer counts as 0.")
    if any(row.is_control for row in board.ranked):
        told.append("* A control, computed here.")
    return [" ".join(told)]
