"""``evidencebench llm``: what language models need beside a run, one command a file."""

import click

from evidencebench.cli.llm import examples, providers, serve_fake, show


@click.group
def command() -> None:
    """List providers, show prompts and replies, serve a fake model.

    And draw examples. To ask a model, run a strategy:
    evidencebench run llm_base:model=openai/NAME
    """


for _module in (examples, providers, serve_fake, show):
    command.add_command(_module.command)
