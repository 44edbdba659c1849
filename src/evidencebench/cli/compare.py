"""``evidencebench compare``."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import click

from evidencebench.cli.comparison_tables import SEEN, Compared, matrices, matrix_note, print_comparisons
from evidencebench.cli.options import (
    complete_option,
    data_option,
    format_option,
    json_option,
    limit_option,
    open_data,
    progress_option,
    resampling_options,
    rule_options,
    task_options,
)
from evidencebench.cli.output import print_cautions, print_json, print_signatures, print_table
from evidencebench.cli.plotting import comparison_chart, plot_option, write_picture
from evidencebench.cli.progress import progress
from evidencebench.data.tasks import Task
from evidencebench.scoring.cautions import cautions_of, is_complete
from evidencebench.scoring.compare import compare
from evidencebench.scoring.ranks import enough_draws, holm
from evidencebench.scoring.resampling import Resampling
from evidencebench.scoring.score_fields import comparison_fields
from evidencebench.scoring.score_runs import score_runs
from evidencebench.scoring.selection import Rules
from evidencebench.scoring.signature import signature_of, signature_of_all


@click.command
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN RUN...")
@data_option
@task_options
@rule_options
@limit_option
@click.option("--details", is_flag=True, help="Of several pairs: tables for each, after the matrix of all.")
@complete_option
@resampling_options
@plot_option
@json_option
@format_option
@progress_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    runs: tuple[Path, ...],
    data: str,
    tasks: tuple[Task, ...],
    rules: Rules,
    limit: int | None,
    details: bool,
    require_complete: bool,
    resampling: Resampling,
    plot: Path | None,
    as_json: bool,
    table_format: str,
    progress_style: str,
) -> None:
    """Compare runs on the same instances, pair by pair.

    Differences are first - second in points of aspect recall. p is from sign
    flips of each paper's difference (exact where they are few), adjusted by Holm
    over all pairs and tasks. The detectable difference is what this data would
    find at the 5 % level with 80 % power. Of more than two runs, a matrix of
    differences is shown first, and each pair's tables with --details.

    \b
    Example: evidencebench compare bm25.jsonl lead.jsonl --data sample
    """
    if len(runs) < 2:  # noqa: PLR2004 - a pair
        raise click.UsageError("expected at least two runs to compare")
    dataset = open_data(data)
    with progress("scoring", progress_style) as on_progress:
        graded = score_runs(
            runs,
            dataset,
            tasks,
            rules=rules,
            with_controls=False,
            with_selections=True,
            limit=limit,
            on_progress=on_progress,
        )
    cautions = cautions_of(graded)
    print_cautions(cautions)
    code = 1 if require_complete and not is_complete(graded) else 0
    pairs = list(combinations(graded.runs, 2))
    n_draws = max(resampling.n_draws, enough_draws(len(pairs) * len(graded.tasks)))
    resampling = replace(resampling, n_draws=n_draws)
    compared: list[Compared] = []
    with progress("comparing", progress_style) as on_progress:
        for first, second in pairs:
            for task in graded.tasks:
                a, b = graded.scores[first][task.name], graded.scores[second][task.name]
                compared.append((first, second, compare(a, b, resampling=resampling)))
                on_progress(len(compared), len(pairs) * len(graded.tasks))
    adjusted = holm([comparison.test.p_value for *_, comparison in compared])
    if plot:
        write_picture(plot, comparison_chart(compared, dataset.name, resampling))
    if as_json:
        rows = [
            {
                "first": first,
                "second": second,
                "task": found.task.name,
                **comparison_fields(found),
                "p_value_holm": p_value,
                "trained_on_it": [graded.trained_on_it(label) for label in (first, second)],
                "signatures": [signature_of(graded, label, found.task, resampling) for label in (first, second)],
            }
            for (first, second, found), p_value in zip(compared, adjusted, strict=True)
        ]
        print_json({"data": str(dataset.path), "warnings": [str(caution) for caution in cautions], "pairs": rows})
        ctx.exit(code)
    known = [label for label in graded.runs if graded.trained_on_it(label)]
    if len(pairs) > 1 and table_format != "csv":
        _print_matrices(compared, adjusted, known, table_format)
    if len(pairs) == 1 or details or table_format == "csv":
        print_comparisons(compared, adjusted, table_format, known)
        signatures = (signature_of(graded, label, task, resampling) for label in graded.runs for task in graded.tasks)
        print_signatures(signatures, table_format)
    else:
        print_signatures((signature_of_all(graded, label, resampling) for label in graded.runs), table_format)
        if table_format == "text":
            click.echo("\n--details shows every pair: intervals, p, overlap, instances better and worse")
    ctx.exit(code)


def _print_matrices(compared: list[Compared], adjusted: list[float], known: list[str], table_format: str) -> None:
    notes = [matrix_note(len(compared)), *([SEEN] if known else [])]
    for table in matrices(compared, adjusted, known):
        print_table(table if table_format == "text" else replace(table, notes=notes), table_format)
    if table_format == "text":
        click.echo("\n".join([*notes, ""]))
