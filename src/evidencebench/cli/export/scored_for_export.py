"""The options by which commands that export scores compute them, and the scoring."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evidencebench.cli import options
from evidencebench.cli.output import print_cautions
from evidencebench.cli.progress import progress
from evidencebench.data.dataset import open_dataset
from evidencebench.data.tasks import Task
from evidencebench.scoring.cautions import cautions_of
from evidencebench.scoring.resampling import Resampling
from evidencebench.scoring.score_runs import ScoredRuns, score_runs
from evidencebench.scoring.selection import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportScoring:
    """The values of the options; each field has its option's name."""

    data: str
    tasks: tuple[Task, ...]
    rules: Rules
    limit: int | None
    resampling: Resampling
    progress_style: str

    def score(self, runs: Sequence[Path]) -> ScoredRuns:
        """Score runs, and print the cautions about them on standard error."""
        dataset = open_dataset(self.data)
        with progress("scoring", self.progress_style) as on_progress:
            scored = score_runs(
                runs,
                dataset,
                self.tasks,
                rules=self.rules,
                with_controls=False,
                limit=self.limit,
                on_progress=on_progress,
            )
        print_cautions(cautions_of(scored))
        return scored


export_scoring = options.bundled_as(
    "scoring",
    ExportScoring,
    options.data,
    options.tasks,
    options.rules,
    options.limit,
    options.resampling,
    options.progress_style,
)
"""Adds the options to a command, which gets them as ``scoring``."""
