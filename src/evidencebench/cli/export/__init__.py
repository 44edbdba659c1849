"""``evidencebench export``: data and runs in the forms that other tools read, one command a file.

`hf` writes data, `trec` data and runs, `run` and `inspect` runs; `every_eval_ever` and `hub_results` write scores,
which `scored_for_export` computes.
"""

import click

from evidencebench.cli.groups import LazyGroup

_COMMANDS = {
    "inspect": "Write RUN, scored, as a log of inspect_ai, for its viewer.",
    "run": "Write a run in the form that FILE's suffix names.",
    "hf": "Write data as a folder that load_dataset of Hugging Face opens.",
    "every-eval-ever": "Write scores of RUNs as records of Every Eval Ever.",
    "hub-results": "Write scores of RUN as .eval_results of a model on the Hub.",
    "trec": "Write D and RUNs as TREC topics, diversity qrels and runs.",
}


@click.group(cls=LazyGroup, package=__name__, lines=_COMMANDS)
def command() -> None:
    """Write data and runs in the forms that other tools read."""
