"""``evidencebench construct aspects``."""

import click

from evidencebench.cli.asking import Asking
from evidencebench.cli.construct.stepping import Stepping, run_model_step, step_options
from evidencebench.construction.steps.aspects import ASPECTS


@click.command(name="aspects")
@step_options
@click.pass_context
def command(ctx: click.Context, *, stepping: Stepping, asking: Asking) -> None:
    """Split each summary into aspects, and verify them.

    Reads WORK/hypotheses.jsonl, writes WORK/aspects.jsonl. One sentence of a
    paper can match an aspect, and no aspect says more than the summary.

    \b
    Example: evidencebench construct aspects work \\
               --model openai/gpt-4o-mini --max-cost-usd 1
    """
    ctx.exit(run_model_step("aspects", lambda _: ASPECTS, stepping, asking))
