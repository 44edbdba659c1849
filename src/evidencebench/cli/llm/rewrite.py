"""``evidencebench llm rewrite``."""

from pathlib import Path
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.asking import Asking, opened_client, print_estimate, tell_asked, totals_fields
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import json_text, refuse_existing, tell_written
from evidencebench.data.dataset import open_dataset
from evidencebench.data.hypotheses import require_suffix, write_hypotheses
from evidencebench.execution.changes import FROM_FILE
from evidencebench.execution.rewriting import asker_from, rewrite_all
from evidencebench.tables import printable
from evidencebench.wording import counted


@options.command
def command(
    *,
    how: Annotated[str, argument(type=click.Choice(FROM_FILE))],
    data: options.Data,
    model: options.Model,
    output: Annotated[Path | None, options.output("FILE", "Where to: a file with the suffix .jsonl.")],
    limit: options.Limit,
    seed: options.Seed,
    overwrite: Annotated[bool, option("--overwrite", "Replace the file where it exists.")],
    asking: Asking,
) -> int:
    """Have a model negate or paraphrase the hypotheses, for 'controls'.

    Each line of the file has an instance's id, the new hypothesis, and its own one
    beside it: read them before you use them. Hypotheses that were not rewritten are
    listed and missing in the file; add them by hand, since 'controls' needs all.

    \b
    Example: evidencebench llm rewrite negated --data train \\
               --model openai/gpt-4o-mini -o negated.jsonl --max-cost-usd 0.10
             evidencebench controls cues --data train \\
               --control negated=negated.jsonl
    """
    own = {query.instance_id: query.hypothesis for query in open_dataset(data).queries(limit)}
    if asking.estimate:
        return print_estimate(
            asking,
            lambda client, shown: (
                rewrite_all(asker_from(model, seed=seed, client=client), own, how, on_progress=shown).rehearsal
            ),
        )
    if output is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    require_suffix(output)
    refuse_existing(output, overwrite=overwrite)
    with opened_client(asking, "asking", asks=True) as (client, waiting, shown):
        rewritten = rewrite_all(
            asker_from(model, seed=seed, client=client), own, how, waiting=waiting, on_progress=shown
        )
    tell_asked(client)
    write_hypotheses(output, rewritten.hypotheses, own)
    for instance_id, why in list(rewritten.failures.items()):
        click.echo(f"{instance_id}: {printable(why)}", err=True)
    if asking.as_json:
        tell_written(
            output,
            json_text({"output": str(output), "how": how, "failures": rewritten.failures, **totals_fields(client)}),
        )
    else:
        lacking = f"; {len(rewritten.failures)} of {len(own)} are missing" if rewritten.failures else ""
        tell_written(output, f"{output}: {counted(len(rewritten.hypotheses), 'hypothesis', 'hypotheses')}{lacking}")
    return 1 if rewritten.failures else 0
