"""``evidencebench construct hypotheses``."""

import click

from evidencebench.cli.asking import Asking
from evidencebench.cli.construct.stepping import Stepping, run_model_step, step_options
from evidencebench.construction.steps.hypotheses import HYPOTHESES


@click.command(name="hypotheses")
@step_options
@click.pass_context
def command(ctx: click.Context, *, stepping: Stepping, asking: Asking) -> None:
    """Write the hypothesis that each summary is evidence on.

    Reads WORK/summaries.jsonl, writes WORK/hypotheses.jsonl. A model says why
    the evidence was extracted, then trims that to the central question. It must
    be one sentence of 5 to 50 words that gives no number or finding away.

    \b
    Example: evidencebench construct hypotheses work \\
               --model openai/gpt-4o-mini --max-cost-usd 1
    """
    ctx.exit(run_model_step("hypotheses", lambda _: HYPOTHESES, stepping, asking))
