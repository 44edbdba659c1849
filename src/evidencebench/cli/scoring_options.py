"""The options that commands that score share, and the scoring they begin with."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from evidencebench.cli import options
from evidencebench.cli.options import option
from evidencebench.cli.output import print_cautions, progress
from evidencebench.data.dataset import open_dataset
from evidencebench.scoring.score_runs import ScoredRuns, cautions_of, is_complete, score_runs


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportScoring:
    data: options.Data
    tasks: options.Tasks
    rules: options.RulesChoice
    limit: options.Limit
    resampling: options.ResamplingChoice
    progress_style: options.ProgressStyle

    def score(self, runs: Sequence[Path], **how: Any) -> tuple[ScoredRuns, list[str]]:
        """Score runs, and print and return what to be careful about."""
        dataset = open_dataset(self.data)
        with progress("scoring", self.progress_style) as shown:
            scored = score_runs(runs, dataset, self.tasks, rules=self.rules, limit=self.limit, on_progress=shown, **how)
        warnings = list(map(str, cautions_of(scored)))
        print_cautions(warnings)
        return scored, warnings


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringOptions(ExportScoring):
    place: options.WorkPlaceChoice
    require_complete: Annotated[bool, option("--require-complete", "Exit with 1 where an answer failed or is missing.")]
    as_json: options.AsJson
    table_format: options.TableFormat

    def score(self, runs: Sequence[Path], **how: Any) -> tuple[ScoredRuns, list[str]]:
        return ExportScoring.score(self, runs, jobs=self.place.jobs, engine=self.place.engine, **how)

    def exit_code(self, scored: ScoredRuns) -> int:
        return 1 if self.require_complete and not is_complete(scored) else 0
