"""``evidencebench leaderboard``."""

from functools import partial
from typing import Annotated

import click

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
    is_table: Annotated[bool, option("--table", "Print one table for a paper, RUNs x tasks, in the order given.")],
    names: options.Names,
    uncertainty: Annotated[Uncertainty, option("--uncertainty", "With --table: what to print after each mean.")],
    against: Annotated[
        str, option("--against SYSTEM", "With --table: system to compare with, 'best' or 'none'.")
    ] = BEST,
    published: Annotated[bool, option("--published", "Add the published figures (official test split).")],
    controls: Annotated[
        bool | None,
        option("--controls/--no-controls", "Show the baselines and the ceiling; with --table, off by default."),
    ] = None,
    plot: PlotFile,
    scoring: ScoringOptions,
) -> int:
    """Rank runs by aspect recall, together with the baselines.

    A rank is a range: from 1 + the number of significantly better systems to the
    number of all systems - the significantly worse ones (sign-flip test over
    papers, Holm over the pairs of runs of a task; pairs with a baseline are
    adjusted separately).

    --table prints aspect recall in %, with the best run in bold. A star marks a
    significant difference from the best, or from --against. Systems trained on this
    data are marked, and are neither best nor tested. LaTeX needs the package
    booktabs. CSV has unrounded shares, not %.

    \b
    Examples:
      evidencebench leaderboard bm25.jsonl lead.jsonl --data sample
      evidencebench leaderboard bm25.jsonl lead.jsonl --data sample --table \\
          --format latex --name bm25.jsonl=BM25 --against BM25
    """
    if is_table and plot:
        raise click.UsageError("--plot draws ranks: leave it or --table out")
    if not is_table and (uncertainty != "interval" or against != BEST):
        raise click.UsageError("--uncertainty and --against are for --table")
    name_of = options.names_of(runs, names)
    if is_table:
        scored = scoring.score(runs, with_controls=bool(controls))
        labels = {label: name_of[run.path] for label, run in scored.runs.items() if run.path in name_of}
        with progress("comparing", scoring.progress_style):
            table = paper_result(
                scored, scoring.resampling, names=labels, uncertainty=uncertainty, against=against, published=published
            )
        print_result(table, scoring.form)
        return scoring.finish(scored)
    scored = scoring.score(runs, with_controls=controls is not False, names=name_of)
    with progress("ranking", scoring.progress_style):
        ranked = leaderboard_result(scored, scoring.resampling, published=published)
    if plot:
        ranked.plot(plot)
    bars = [partial(print_bars, board_bars(board.merged.standings)) for board in ranked.found.values()]
    print_result(ranked, scoring.form, bars)
    return scoring.finish(scored)
