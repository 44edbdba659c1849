"""``evidencebench construct judge``."""

from pathlib import Path

import click

from evidencebench.cli import options
from evidencebench.cli.asking import Asking
from evidencebench.cli.construct.stepping import Stepping, run_model_step, step_options
from evidencebench.construction.paper_files import PaperFolder
from evidencebench.construction.steps.judge import JudgeSettings, judge_step
from evidencebench.construction.steps.model_step import ModelStep
from evidencebench.execution.rewriting import asker_from
from evidencebench.models.llm.client import ChatClient


@click.command(name="judge")
@click.option(
    "--papers",
    required=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="The papers.",
)
@options.number("--window", default=10, help="Sentences judged together.")
@options.number("--overlap", least=0, default=5, help="Of them, shown again in the next window.")
@click.option("--at-once", is_flag=True, help="Ask for all aspects of a summary in one request.")
@options.number("--votes", default=1, help="Times that each window is asked; the majority decides.")
@click.option("--second-model", metavar="MODEL", help="Decides where windows of the first disagree.")
@step_options
@click.pass_context
def command(
    ctx: click.Context,
    *,
    papers: Path,
    window: int,
    overlap: int,
    at_once: bool,
    votes: int,
    second_model: str | None,
    stepping: Stepping,
    asking: Asking,
) -> None:
    """Judge which sentences of each paper hold which aspects.

    Reads WORK/aspects.jsonl, writes WORK/judgments.jsonl. Sentences are judged in
    windows that overlap, so that nearly every one is judged twice; it holds the
    aspect if either window says so. Both votes are kept.

    \b
    Example: evidencebench construct judge work --papers papers \\
               --model openai/gpt-4o-mini --batch --max-cost-usd 20
    """
    if overlap >= window:
        raise click.UsageError(f"--overlap: expected less than the window of {window}, got {overlap}")
    settings = JudgeSettings(window=window, overlap=overlap, at_once=at_once, votes=votes)
    folder = PaperFolder(papers)

    def make(client: ChatClient | None) -> ModelStep:
        second = None if second_model is None else asker_from(second_model, client=client)
        return judge_step(settings, folder, second=second)

    ctx.exit(run_model_step("judge", make, stepping, asking))
