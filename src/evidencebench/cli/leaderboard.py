"""``evidencebench leaderboard`` and ``evidencebench table``."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
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
    bars = [partial(print_bars, board_bars(board.standings)) for board in result.found.values()]
    print_result(result, scoring.form, bars)
    return scoring.finish(scored)


@options.command
def table(
    *,
    runs: options.Runs,
    names: Annotated[tuple[str, ...], option("--name RUN=NAME", "Name of a run in the table; repeatable.")],
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
    name_of = _names(runs, names)
    scored = scoring.score(runs, with_controls=controls)
    by_label = {label: name_of[run.path] for label, run in scored.runs.items() if run.path in name_of}
    with progress("comparing", scoring.progress_style):
        result = paper_result(
            scored, scoring.resampling, names=by_label, uncertainty=uncertainty, against=against, published=published
        )
    print_result(result, scoring.form)
    return scoring.finish(scored)


def _names(runs: Sequence[Path], given: Sequence[str]) -> dict[Path, str]:
    """Return run -> name; a file's name may hold an equals sign, and so may the name behind it."""
    names: dict[Path, str] = {}
    for text in given:
        paths = [path for path in runs if text.startswith(f"{path}=") and text != f"{path}="]
        if not paths:
            files = ", ".join(f"'{path}'" for path in runs)
            raise click.UsageError(f"--name: expected RUN=NAME, where RUN is one of {files}, got '{text}'")
        path = max(paths, key=lambda path: len(str(path)))
        if path in names:
            raise click.UsageError(f"--name: '{path}' is named twice: '{names[path]}' and '{text}'")
        names[path] = text[len(f"{path}=") :]
    return names
