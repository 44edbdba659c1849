"""The options by which commands that export scores compute them, and the scoring."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evidencebench.cli import options
from evidencebench.cli.scoring_options import score_with_cautions
from evidencebench.data.tasks import Task
from evidencebench.scoring.resampling import Resampling
from evidencebench.scoring.score_runs import ScoredRuns
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
        scored, _ = score_with_cautions(
            runs, self.data, self.tasks, self.progress_style, rules=self.rules, with_controls=False, limit=self.limit
        )
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
