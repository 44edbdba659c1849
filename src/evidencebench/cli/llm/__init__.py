"""``evidencebench llm``: what language models need beside a run, one command a file."""

import click

from evidencebench.cli.llm import examples, providers, serve_fake


@click.group
def command() -> None:
    """List providers, draw examples, serve a fake model for trials.

    To ask a model, run a strategy: evidencebench run llm_base:model=...
    """


for _module in (examples, providers, serve_fake):
    command.add_command(_module.command)
