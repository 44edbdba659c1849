"""The options that commands that score share, the scoring they begin with, and bars in a terminal."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import click

from evidencebench.cli import options
from evidencebench.cli.options import option
from evidencebench.cli.output import print_warnings, progress, prose_width
from evidencebench.pages.figures.data import Series
from evidencebench.pages.figures.files import require_png
from evidencebench.pages.figures.terminal import NEEDED, Mark, terminal_bars
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.score_runs import ScoredRuns, is_complete, score_runs
from evidencebench.tables import printable


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringOptions:
    data: options.Data
    tasks: options.Tasks
    rules: options.RulesChoice
    limit: options.Limit
    ids: options.Ids
    resampling: options.ResamplingChoice
    progress_style: options.ProgressStyle

    place: options.WorkPlaceChoice
    require_complete: Annotated[
        bool, option("--require-complete", "Exit with code 1 if an answer failed or is missing.")
    ]
    as_json: options.AsJson
    table_format: options.TableFormat

    def score(self, runs: Sequence[Path], **how: Any) -> ScoredRuns:
        dataset, given = options.open_part(self.data, self.ids), {**self.place, **how}
        with progress("scoring", self.progress_style) as shown:
            return score_runs(runs, dataset, self.tasks, rules=self.rules, limit=self.limit, on_progress=shown, **given)

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
    option("--plot FILE", "Also draw a chart, .svg or .png (extra 'plot'); overwrites FILE.", _PictureType()),
]


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
