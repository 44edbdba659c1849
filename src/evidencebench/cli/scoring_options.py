"""The options that ``score``, ``leaderboard``, ``table`` and ``compare`` share, and the scoring they begin with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evidencebench.cli import options
from evidencebench.cli.options import WorkPlace, work_place
from evidencebench.cli.output import print_cautions, progress
from evidencebench.cli.plots import plot_option
from evidencebench.data.dataset import open_dataset
from evidencebench.data.tasks import Task
from evidencebench.scoring.resampling import Resampling
from evidencebench.scoring.score_runs import Caution, ScoredRuns, cautions_of, is_complete, score_runs
from evidencebench.scoring.selection import Rules


def score_with_cautions(
    runs: Sequence[Path], data: str, tasks: Sequence[Task], progress_style: str, **how: Any
) -> tuple[ScoredRuns, tuple[Caution, ...]]:
    """Score runs as `score_runs` does, with progress; print the cautions about them on standard error."""
    dataset = open_dataset(data)
    with progress("scoring", progress_style) as on_progress:
        scored = score_runs(runs, dataset, tasks, on_progress=on_progress, **how)
    cautions = cautions_of(scored)
    print_cautions(cautions)
    return scored, cautions


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringOptions:
    """The values of the shared options; each field has its option's name."""

    data: str
    tasks: tuple[Task, ...]
    rules: Rules
    limit: int | None
    require_complete: bool
    resampling: Resampling
    as_json: bool
    table_format: str
    progress_style: str
    place: WorkPlace
    plot: Path | None = None

    def score(
        self, runs: Sequence[Path], *, with_controls: bool, with_selections: bool = False
    ) -> tuple[ScoredRuns, tuple[Caution, ...]]:
        """Score runs, and print the cautions about them on standard error."""
        return score_with_cautions(
            runs,
            self.data,
            self.tasks,
            self.progress_style,
            rules=self.rules,
            with_controls=with_controls,
            with_selections=with_selections,
            limit=self.limit,
            jobs=self.place.jobs,
            engine=self.place.engine,
        )

    def exit_code(self, scored: ScoredRuns) -> int:
        """Return 1 if `require_complete` is set and an answer failed or is missing, else 0."""
        return 1 if self.require_complete and not is_complete(scored) else 0


def scoring_options(*own: Callable[[Any], Any], pictured: bool = True) -> Callable[[options.Command], options.Command]:
    """Return a decorator that adds the options. The command gets them as ``scoring``, and ``own`` by their names.

    ``pictured`` says whether it can draw a picture.
    """
    return options.bundled_as(
        "scoring",
        ScoringOptions,
        options.data,
        options.tasks,
        options.rules,
        *own,
        options.limit,
        work_place,
        options.require_complete,
        options.resampling,
        *([plot_option] if pictured else []),
        options.as_json,
        options.table_format,
        options.progress_style,
    )
