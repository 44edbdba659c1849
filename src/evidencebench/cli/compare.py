"""``evidencebench compare``."""

from pathlib import Path
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import print_result, progress
from evidencebench.cli.scoring_options import PlotFile, ScoringOptions
from evidencebench.experiment.pairs import comparison_result


@options.command
def compare(
    *,
    runs: Annotated[tuple[Path, ...], argument("RUN RUN...", required=True)],
    details: Annotated[bool, option("--details", "Also print the tables of each pair, after the matrix.")],
    plot: PlotFile,
    scoring: ScoringOptions,
) -> int:
    """Compare runs on the same instances, pair by pair.

    A difference is first - second, in points of aspect recall. p is from a
    sign-flip test over papers, adjusted (Holm) over the pairs of runs that differ
    in an answer, task by task. The detectable difference is what this data can show
    at the 5 % level with 80 % power. More than two runs are shown as a matrix.

    \b
    Example: evidencebench compare bm25.jsonl lead.jsonl --data sample
    """
    if len(runs) < 2:  # noqa: PLR2004 - a pair
        raise click.UsageError("expected at least two runs to compare")
    scored = scoring.score(runs, changed_apart=False, with_controls=False, with_selections=True)
    with progress("comparing", scoring.progress_style) as on_progress:
        result = comparison_result(scored, scoring.resampling, details=details, on_progress=on_progress)
    if plot:
        result.plot(plot)
    print_result(result, scoring.form)
    if len(runs) > 2 and not details and not scoring.as_json and scoring.table_format == "text":  # noqa: PLR2004 - a pair
        click.echo("\n--details shows every pair: intervals, p, overlap, and instances better or worse")
    return scoring.finish(scored)
