"""``evidencebench export``: data and runs in the forms that other tools read, one command a file.

In reading order:

* `every_eval_ever`: cli/export/every_eval_ever
* `hf`: cli/export/hf
* `hub_results`: cli/export/hub_results
* `inspect`: cli/export/inspect
* `run`: cli/export/run
* `scored_for_export`: cli/export/scored_for_export
* `trec`: cli/export/trec
"""

import click

from evidencebench.cli.main import LazyGroup

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
