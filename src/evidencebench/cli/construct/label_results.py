"""``evidencebench construct label-results``."""

import click

from evidencebench.cli.asking import Asking
from evidencebench.cli.construct.stepping import Stepping, run_model_step, step_options
from evidencebench.construction.steps.label_results import LABEL_RESULTS


@click.command(name="label-results")
@step_options
@click.pass_context
def command(ctx: click.Context, *, stepping: Stepping, asking: Asking) -> None:
    """Say which aspects are results.

    Reads WORK/judgments.jsonl, writes WORK/results.jsonl.

    \b
    Example: evidencebench construct label-results work \\
               --model openai/gpt-4o-mini --max-cost-usd 1
    """
    ctx.exit(run_model_step("label-results", lambda _: LABEL_RESULTS, stepping, asking))
