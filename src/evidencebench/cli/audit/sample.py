"""``evidencebench audit sample``."""

from pathlib import Path
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import print_json, print_table, refuse_existing, require_file
from evidencebench.construction.audit import sample_misses
from evidencebench.construction.people.tasks import MissesHeader, write_misses
from evidencebench.data.dataset import open_dataset
from evidencebench.data.tasks import TASKS
from evidencebench.tables import Table
from evidencebench.wording import counted


@options.command
def command(
    *,
    run: Annotated[Path, argument()],
    data: options.Data,
    tasks: options.Tasks,
    n_misses: Annotated[int, options.number("-n N", "How many misses to draw.")] = 50,
    seed: options.Seed,
    rules: options.RulesChoice,
    output: Annotated[Path, options.output("FILE", "The misses, as JSON Lines.")],
    overwrite: Annotated[bool, option("--overwrite", "Replace the file where it exists.")],
    as_json: options.AsJson,
) -> None:
    """Draw misses of RUN for people to look at.

    A miss is an aspect that counts in the task (er_at_optimal) and that some
    sentence covers, but no selected one. The chance to be drawn is what the miss
    takes from the score, spread over papers and strata: whether the nearest selected
    sentence is within 2 sentences of a source, in its section, or elsewhere.

    \b
    Examples:
      evidencebench audit sample bm25.jsonl --data dev -o misses.jsonl
      evidencebench audit sample llm.jsonl -d test -t er_at_10 -n 100 -o m.jsonl
    """
    if len(tasks) > 1:
        raise click.UsageError("expected one --task: misses are those of one task")
    require_file(output, "cannot be read by 'audit review'")
    refuse_existing(output, overwrite=overwrite)
    task = tasks[0] if tasks else TASKS["er_at_optimal"]
    header, misses = sample_misses(run, open_dataset(data), task, n=n_misses, seed=seed, rules=rules)
    write_misses(output, header, misses)
    has_texts = all(miss.aspect for miss in misses)
    if not has_texts:
        click.echo("warning: the data has no texts of aspects, so that auditors see only their sources", err=True)
    if as_json:
        print_json({"output": str(output), "n_drawn": len(misses), "has_texts": has_texts, "header": header})
        return
    print_table(_strata(header))
    click.echo(f"{output}: {counted(len(misses), 'miss', 'misses')} of {header.n_misses:,}")
    click.echo(f"next: evidencebench audit review {output} --folder audit")


def _strata(header: MissesHeader) -> Table:
    rows = [
        (stratum.name, stratum.n_misses, 100 * stratum.loss, stratum.n_drawn)
        for stratum in header.strata
        if stratum.n_misses
    ]
    total = ("all", header.n_misses, 100 * header.loss, sum(stratum.n_drawn for stratum in header.strata))
    return Table(
        columns=("nearest selected sentence", "misses", "points lost", "drawn"),
        rows=[*rows, total],
        title=f"Misses on {header.task}, aspect recall {100 * header.score:.1f}",
        notes=("points lost: what these misses take from the mean aspect recall, in points of 100",),
    )
