"""``evidencebench construct summaries``."""

import click

from evidencebench.cli.asking import Asking
from evidencebench.cli.construct.stepping import Stepping, run_model_step, step_options
from evidencebench.construction.steps.summaries import SUMMARIES


@click.command(name="summaries")
@step_options
@click.pass_context
def command(ctx: click.Context, *, stepping: Stepping, asking: Asking) -> None:
    """Delimit passages, and keep those that report results.

    Reads WORK/passages.jsonl, writes WORK/summaries.jsonl. A model says which
    sentences are about the paper, then whether they report a result of it.

    \b
    Example: evidencebench construct summaries work \\
               --model openai/gpt-4o-mini --max-cost-usd 1
    """
    ctx.exit(run_model_step("summaries", lambda _: SUMMARIES, stepping, asking))
