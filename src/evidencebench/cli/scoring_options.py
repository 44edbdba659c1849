"""The options that commands that score share, the scoring they begin with, and what they draw."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import click

from evidencebench.cli import options
from evidencebench.cli.options import option
from evidencebench.cli.output import print_warnings, progress, prose_width
from evidencebench.data.dataset import open_dataset
from evidencebench.files.atomic import write_whole
from evidencebench.pages.figures.charts import line_chart, row_chart
from evidencebench.pages.figures.data import Group, Series, bar_of
from evidencebench.pages.figures.files import png_file, require_png, svg_file
from evidencebench.pages.figures.terminal import NEEDED, Mark, terminal_bars
from evidencebench.pages.html import Node
from evidencebench.query import AspectScope
from evidencebench.scoring.compare import Pair
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.leaderboard import Standing
from evidencebench.scoring.resampling import Estimate, Resampling
from evidencebench.scoring.score_runs import ScoredRuns, is_complete, score_runs
from evidencebench.tables import printable


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportScoring:
    data: options.Data
    tasks: options.Tasks
    rules: options.RulesChoice
    limit: options.Limit
    resampling: options.ResamplingChoice
    progress_style: options.ProgressStyle

    def score(self, runs: Sequence[Path], **how: Any) -> ScoredRuns:
        dataset = open_dataset(self.data)
        with progress("scoring", self.progress_style) as shown:
            return score_runs(runs, dataset, self.tasks, rules=self.rules, limit=self.limit, on_progress=shown, **how)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringOptions(ExportScoring):
    place: options.WorkPlaceChoice
    require_complete: Annotated[bool, option("--require-complete", "Exit with 1 where an answer failed or is missing.")]
    as_json: options.AsJson
    table_format: options.TableFormat

    def score(self, runs: Sequence[Path], **how: Any) -> ScoredRuns:
        return ExportScoring.score(self, runs, **self.place, **how)

    @property
    def form(self) -> str:
        return "json" if self.as_json else self.table_format

    def finish(self, scored: ScoredRuns) -> int:
        """Print what was odd behind the results, unless they are JSON, which has it, and return the exit code."""
        if not self.as_json:
            print_warnings(scored.warnings)
        return 1 if self.require_complete and not is_complete(scored) else 0


class _PictureType(click.ParamType[Path]):
    """A path that a picture can be written to; a path that cannot be used is refused before anything is computed."""

    name = "picture"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(value)
        if path.suffix.lower() not in {".svg", ".png"}:
            self.fail(f"{printable(str(path))}: expected a name that ends in .svg or .png", param, ctx)
        if path.is_dir():
            self.fail(f"{printable(str(path))}: is a folder", param, ctx)
        if not path.absolute().parent.is_dir():
            self.fail(f"{printable(str(path))}: the folder it would lie in does not exist", param, ctx)
        if path.suffix.lower() == ".png":
            require_png()
        return path


PlotFile = Annotated[
    Path | None,
    option("--plot FILE", "Draw a picture too, as .svg or .png (extra 'plot'); overwrites FILE.", _PictureType()),
]


def write_picture(path: Path, chart: Node) -> None:
    write_whole(path, png_file(chart) if path.suffix.lower() == ".png" else svg_file(chart))


def print_bars(bars: Sequence[Series], marks: Sequence[Mark] = ()) -> None:
    """Print intervals as lines of characters, and an empty line; ASCII where standard output can hold no more."""
    try:
        NEEDED.encode(sys.stdout.encoding or "ascii")
        ascii_only = False
    except UnicodeEncodeError:
        ascii_only = True
    click.echo(f"{terminal_bars(bars, marks=marks, width=prose_width(), ascii_only=ascii_only)}\n")


def control_marks(controls: Sequence[Mapping[str, float]]) -> list[Mark]:
    names = dict.fromkeys(name for means in controls for name in means)
    return [
        Mark(letter=control.letter, name=control.short_name, values=[means.get(control.name) for means in controls])
        for control in map(CONTROLS.__getitem__, names)
    ]


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


def curve_chart(
    curves: Mapping[AspectScope, Sequence[Estimate]], scored: ScoredRuns, label: str, resampling: Resampling
) -> Node:
    lines = [
        Series(name="Results aspects" if scope == "results" else "all aspects", points=points, number=number)
        for number, (scope, points) in enumerate(curves.items())
    ]
    title, unit = f"{label} on {scored.dataset.name}, by budget", _unit(resampling)
    return line_chart(lines, title=title, x_name="sentences that count", y_name=unit, has_bands=True)


def board_chart(board: Mapping[str, Sequence[Standing]], data: str, resampling: Resampling) -> Node:
    groups = [Group(f"{task} on {data}", board_bars(rows)) for task, rows in board.items()]
    return _groups_chart(groups, f"Leaderboard on {data}", _unit(resampling))


def board_bars(rows: Sequence[Standing]) -> list[Series]:
    bars = []
    for row in rows:
        notes = [] if row.rank is None else [f"rank {row.rank_text}"]
        notes += ["saw this data"] if row.trained_on_it else []
        look = {"is_control": row.is_control, "unfinished": row.unfinished}
        bars.append(bar_of(row.system, row.recall, note=", ".join(notes), **look))
    return bars


def comparison_chart(compared: Sequence[Pair[str]], data: str, resampling: Resampling) -> Node:
    """Return a chart with a group for each pair of runs, and in it a row for each task, all on one scale."""
    pairs: dict[tuple[str, str], list[Series]] = {}
    for pair in compared:
        bar = bar_of(pair.comparison.task.name, pair.comparison.test.difference)
        pairs.setdefault((pair.first, pair.second), []).append(bar)
    groups = [
        Group(f"{first} − {second}, on {data}", bars, sides=(second, first)) for (first, second), bars in pairs.items()
    ]
    return _groups_chart(groups, f"Differences on {data}", _unit(resampling, "difference in aspect recall, points"))


def _groups_chart(groups: Sequence[Group], title: str, unit: str) -> Node:
    """Return a chart of all groups; that of a single one has its name as the title."""
    if len(groups) == 1:
        title, groups = groups[0].name, [groups[0]._replace(name="")]
    return row_chart(groups, title=title, unit=unit)


def _unit(resampling: Resampling, what: str = "aspect recall in %") -> str:
    return f"{what}, {100 * resampling.level:g} % intervals"
