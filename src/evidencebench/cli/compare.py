"""``evidencebench compare``."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import click

from evidencebench.cli.comparison_tables import SEEN, matrices, matrix_note, print_comparisons
from evidencebench.cli.output import print_json, print_prose, print_signatures, print_table
from evidencebench.cli.plotting import comparison_chart, write_picture
from evidencebench.cli.progress import progress
from evidencebench.cli.scoring_options import ScoringOptions, scoring_options
from evidencebench.scoring.compare import Pair, compare_pairs
from evidencebench.scoring.controls import knows_labels
from evidencebench.scoring.score_fields import comparison_fields
from evidencebench.scoring.signature import signature_of, signature_of_all


@click.command
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN RUN...")
@scoring_options(
    click.option("--details", is_flag=True, help="Of several pairs: tables for each, after the matrix of all.")
)
@click.pass_context
def command(ctx: click.Context, *, runs: tuple[Path, ...], details: bool, scoring: ScoringOptions) -> None:
    """Compare runs on the same instances, pair by pair.

    Differences are first - second in points of aspect recall. p is from sign
    flips of each paper's difference (exact where they are few), adjusted by Holm
    over the pairs of runs that differ in an answer, task by task. The detectable difference is what this data would
    find at the 5 % level with 80 % power. Of more than two runs, a matrix of
    differences is shown first, and each pair's tables with --details.

    \b
    Example: evidencebench compare bm25.jsonl lead.jsonl --data sample
    """
    if len(runs) < 2:  # noqa: PLR2004 - a pair
        raise click.UsageError("expected at least two runs to compare")
    scored, cautions = scoring.score(runs, with_controls=False, with_selections=True)
    labels, table_format = list(scored.runs), scoring.table_format
    pairs = list(combinations(labels, 2))
    resampling = scoring.resampling
    ceilings = [label for label, run in scored.runs.items() if knows_labels(run)]
    compared: list[Pair[str]] = []
    with progress("comparing", scoring.progress_style) as on_progress:
        for number, task in enumerate(scored.tasks, 1):
            scores = {label: scored.scores[label][task.name] for label in labels}
            compared += compare_pairs(scores, pairs, ceilings, resampling=resampling)
            on_progress(number, len(scored.tasks))
    found = sorted(compared, key=lambda pair: pairs.index((pair.first, pair.second)))
    if scoring.plot:
        write_picture(scoring.plot, comparison_chart(found, scored.dataset.name, resampling))
    if scoring.as_json:
        rows = [
            {
                "first": pair.first,
                "second": pair.second,
                "task": pair.comparison.task.name,
                **comparison_fields(pair.comparison),
                "p_value_holm": pair.p_value,
                "trained_on_it": [scored.trained_on_it(label) for label in (pair.first, pair.second)],
                "signatures": [
                    signature_of(scored, label, pair.comparison.task, resampling) for label in (pair.first, pair.second)
                ],
            }
            for pair in found
        ]
        warnings = [str(caution) for caution in cautions]
        print_json({"data": str(scored.dataset.path), "warnings": warnings, "pairs": rows})
        ctx.exit(scoring.exit_code(scored))
    known = [label for label in labels if scored.trained_on_it(label)]
    if len(pairs) > 1 and table_format != "csv":
        notes = [matrix_note(found), *([SEEN] if known else [])]
        for table in matrices(found, known):
            print_table(table if table_format == "text" else replace(table, notes=notes), table_format)
        if table_format == "text":
            print_prose(notes[0])
            click.echo("\n".join([*notes[1:], ""]))
    if len(pairs) == 1 or details or table_format == "csv":
        print_comparisons(found, table_format, known)
        signatures = (signature_of(scored, label, task, resampling) for label in labels for task in scored.tasks)
        print_signatures(signatures, table_format)
    else:
        print_signatures((signature_of_all(scored, label, resampling) for label in labels), table_format)
        if table_format == "text":
            click.echo("\n--details shows every pair: intervals, p, overlap, instances better and worse")
    ctx.exit(scoring.exit_code(scored))
