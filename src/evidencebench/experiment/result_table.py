"""`ResultTable`: the answer to one question about scored runs, in all forms of tables, and as a chart."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Generic, TypeVar

from evidencebench.files.disk import PathText
from evidencebench.integrations.frames import Frame, frame_of
from evidencebench.pages.figures.charts import line_chart, row_chart
from evidencebench.pages.figures.data import Group, Series, bar_of
from evidencebench.pages.figures.files import write_chart
from evidencebench.pages.html import Node
from evidencebench.query import AspectScope
from evidencebench.scoring.compare import Pair
from evidencebench.scoring.leaderboard import Standing
from evidencebench.scoring.measures import MEASURES, MeasureOrName
from evidencebench.scoring.resampling import Estimate, Resampling
from evidencebench.scoring.score_runs import ScoredRuns
from evidencebench.tables import WIDTH, Table, as_csv, as_html, as_latex, as_markdown, as_text

Found = TypeVar("Found")
Curves = Mapping[AspectScope, Sequence[Estimate]]
"""Scope of aspects -> aspect recall at the budgets 1, 2, 3, ..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTable(Generic[Found]):
    """Tables of one question. ``print(result)`` shows them as text, a notebook as HTML.

    Attributes
    ----------
    found
        The results that the tables are made of, such as a `Board` for each task.
    tables
        The tables for readers: rounded, and in percent.
    figures
        One table of every figure with all its digits, shares in 0..1: the CSV and the data frame.
    fields
        What ``--json`` prints.
    signatures
        What decides each score, on a line each, so that it can be repeated.
    """

    found: Found
    tables: tuple[Table, ...]
    figures: Table
    fields: Any
    signatures: tuple[str, ...] = ()
    chart: Callable[[], Node] | None = None  # makes what `plot` draws

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return "\n".join(map(as_html, self.tables))

    def text(self, width: int = WIDTH) -> str:
        """Return the tables as text of at most ``width`` columns."""
        return "\n\n".join(as_text(table, width) for table in self.tables)

    def markdown(self) -> str:
        """Return the tables in Markdown."""
        return "\n\n".join(map(as_markdown, self.tables))

    def latex(
        self, *, heads: Mapping[str, str] | None = None, caption: str | None = None, label: str | None = None
    ) -> str:
        r"""Return the tables in LaTeX, for the package booktabs.

        Parameters
        ----------
        heads
            Head of a column -> the head to print in its place, such as ``{"er_at_10": "ER@10"}``.
        caption
            What stands in ``\caption``, in place of the sentences that explain the marks.
        label
            What ``\ref`` finds the table by; of several tables, the first.

        Raises
        ------
        ValueError
            If no column has such a head.

        Examples
        --------
        >>> from evidencebench import Experiment
        >>> table = Experiment(["bm25"], "sample", tasks="er_at_10", controls=()).table()
        >>> print(table.latex(heads={"er_at_10": "ER@10"}, label="tab:recall").splitlines()[-7])
        system & ER@10 \\
        """
        heads = heads or {}
        known = dict.fromkeys(head for table in self.tables for head in table.columns)
        if unknown := next((head for head in heads if head not in known), None):
            raise ValueError(f"heads: no column '{unknown}'; expected some of {', '.join(filter(None, known))}")
        first, *others = (
            replace(table, columns=[heads.get(head, head) for head in table.columns]) for table in self.tables
        )
        first = replace(first, caption=first.caption if caption is None else caption, label=label or "")
        return "\n\n".join(map(as_latex, [first, *others]))

    def csv(self) -> str:
        """Return every figure as CSV."""
        return as_csv(self.figures)

    def frame(self, *, backend: str | None = None) -> Frame:
        """Return every figure as a data frame; ``backend`` and the errors are those of `instances_frame`."""
        return frame_of(self.figures, backend)

    def plot(self, path: PathText) -> Path:
        """Draw means in percent with intervals, grouped by task or by pair, as ``.svg`` or ``.png`` (extra ``plot``).

        Raises
        ------
        ValueError
            If there is no chart of this result, a mean is outside 0..1, or the name ends otherwise.
        DataError, MissingExtraError
            If the file cannot be written; if this machine cannot draw a PNG.

        Examples
        --------
        >>> from evidencebench import Experiment
        >>> experiment = Experiment(["bm25"], "sample", tasks="er_at_10", controls=())
        >>> experiment.leaderboard().plot(experiment.folder / "board.svg").name
        'board.svg'
        """
        if self.chart is None:
            raise ValueError("plot: no chart of this; leaderboard() has one, and compare() of two systems or more")
        return write_chart(Path(path), self.chart())


def label_of(measure: MeasureOrName) -> str:
    """Return what tables call a measure; the key of one of the user's own stands for itself."""
    known = MEASURES.get(measure) if isinstance(measure, str) else measure
    return str(measure) if known is None else known.label


def head_of(scored: ScoredRuns) -> dict[str, Any]:
    """Return how the JSON of every question begins."""
    return {"data": str(scored.dataset.path), "warnings": [row.fields() for row in scored.warnings]}


def score_chart(scored: ScoredRuns, label: str, resampling: Resampling) -> Node:
    groups = []
    for task in scored.tasks:
        bars = [bar_of(label, scored.scores[label][task.name].estimate(resampling=resampling))]
        bars += [
            bar_of(name, scores[task.name].estimate(resampling=resampling), is_control=True, number=number)
            for number, (name, scores) in enumerate(scored.controls.items(), 1)
            if task.name in scores
        ]
        groups.append(Group(task.name, bars))
    return row_chart(groups, title=f"{label} on {scored.dataset.name}", unit=_unit(resampling))


def curve_chart(curves: Curves, scored: ScoredRuns, label: str, resampling: Resampling) -> Node:
    lines = [
        Series(name="Results aspects" if scope == "results" else "all aspects", points=points, number=number)
        for number, (scope, points) in enumerate(curves.items())
    ]
    title, unit = f"{label} on {scored.dataset.name}, by budget", _unit(resampling)
    return line_chart(lines, title=title, x_name="sentences that count", y_name=unit)


def board_chart(board: Mapping[str, Sequence[Standing]], data: str, label: str, resampling: Resampling) -> Node:
    groups = [Group(f"{task} on {data}", board_bars(rows)) for task, rows in board.items()]
    return _groups_chart(groups, f"Leaderboard on {data}", _unit(resampling, f"{label} in %"))


def board_bars(rows: Sequence[Standing]) -> list[Series]:
    bars = []
    for row in rows:
        rank = "" if row.rank is None else f"rank {row.rank_text}"
        note = ", ".join(filter(None, [rank, "saw this data" if row.trained_on_it else ""]))
        bars.append(bar_of(row.name, row.recall, note=note, is_control=row.is_control, unfinished=row.unfinished))
    return bars


def comparison_chart(compared: Sequence[Pair[str]], data: str, label: str, resampling: Resampling) -> Node:
    groups = []
    for (first, second), pairs in groupby(compared, key=lambda pair: (pair.first, pair.second)):
        bars = [bar_of(pair.comparison.task.name, pair.comparison.test.difference) for pair in pairs]
        groups.append(Group(f"{first} − {second}, on {data}", bars, sides=(second, first)))
    return _groups_chart(groups, f"Differences on {data}", _unit(resampling, f"difference in {label}, points"))


def _groups_chart(groups: Sequence[Group], title: str, unit: str) -> Node:
    """Return a chart of all groups; that of a single one has its name as the title."""
    for bar in (bar for group in groups for bar in group.bars):
        if not -1 <= bar.point.mean <= 1:
            raise ValueError(f"plot: '{bar.name}': expected a share in 0..1, got {bar.point.mean:g}")
    if len(groups) == 1:
        title, groups = groups[0].name, [groups[0]._replace(name="")]
    return row_chart(groups, title=title, unit=unit)


def _unit(resampling: Resampling, what: str = "aspect recall in %") -> str:
    return f"{what}, {100 * resampling.level:g} % intervals"
