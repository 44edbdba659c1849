"""``evidencebench leaderboard`` and ``evidencebench table``."""

from functools import partial
from typing import Annotated

from evidencebench.cli import options
from evidencebench.cli.options import option
from evidencebench.cli.output import print_result, progress
from evidencebench.cli.scoring_options import PlotFile, ScoringOptions, print_bars
from evidencebench.experiment.boards import Uncertainty, leaderboard_result, paper_result
from evidencebench.experiment.result_table import board_bars
from evidencebench.scoring.leaderboard import BEST


@options.command
def leaderboard(
    *,
    runs: options.Runs,
    published: Annotated[bool, option("--published", "Add the published figures (official test split).")],
    controls: options.Controls,
    plot: PlotFile,
    scoring: ScoringOptions,
) -> int:
    """Rank runs by aspect recall beside the controls.

    A rank is a range: from 1 + the number of significantly better systems to the
    number of all - the significantly worse ones (sign flips by paper, Holm over the
    pairs of runs of a task; pairs with a control are adjusted apart).

    \b
    Example: evidencebench leaderboard bm25.jsonl lead.jsonl --data sample
    """
    scored = scoring.score(runs, with_controls=controls)
    with progress("ranking", scoring.progress_style):
        result = leaderboard_result(scored, scoring.resampling, published=published)
    if plot:
        result.plot(plot)
    bars = [partial(print_bars, board_bars(board.merged.standings)) for board in result.found.values()]
    print_result(result, scoring.form, bars)
    return scoring.finish(scored)


@options.command
def table(
    *,
    runs: options.Runs,
    names: options.Names,
    uncertainty: Annotated[Uncertainty, option("--uncertainty", "What stands behind a mean.")],
    against: Annotated[str, option("--against SYSTEM", "Mark differences to a row, to the best, or 'none'.")] = BEST,
    published: Annotated[bool, option("--published", "Add the published figures (official test split).")],
    controls: Annotated[bool, option("--controls", "Add the label-free controls and the ceiling.")],
    scoring: ScoringOptions,
) -> int:
    """Print RUNs x tasks as one table for a paper.

    Cells are aspect recall in %, the best run in bold. A star marks a significant
    difference to the best, or to --against, by the tests of 'leaderboard' and
    'compare'. Systems trained on this data are marked, and neither best nor tested.
    LaTeX needs the package booktabs. CSV has shares with all digits, not %.

    \b
    Examples:
      evidencebench table bm25.jsonl lead.jsonl --data sample --format latex
      evidencebench table bm25.jsonl lead.jsonl --data sample --controls \\
          --name bm25.jsonl=BM25 --name lead.jsonl=Lead --against Lead
    """
    name_of = options.names_of(runs, names)
    scored = scoring.score(runs, with_controls=controls)
    by_label = {label: name_of[run.path] for label, run in scored.runs.items() if run.path in name_of}
    with progress("comparing", scoring.progress_style):
        result = paper_result(
            scored, scoring.resampling, names=by_label, uncertainty=uncertainty, against=against, published=published
        )
    print_result(result, scoring.form)
    return scoring.finish(scored)
