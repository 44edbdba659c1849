"""``evidencebench construct``: make a benchmark from papers and reviews.

In reading order:

* `assemble`: cli/construct/assemble
* `demo`: cli/construct/demo
* `estimate`: cli/construct/estimate
* `harvest`: cli/construct/harvest
* `run`: cli/construct/run
* `status`: cli/construct/status
* `steps`: cli/construct/steps
"""

import click

from evidencebench.cli.main import LazyGroup

_COMMANDS = {
    "demo": "Run all steps on a synthetic review, against a server for trials.",
    "run": "Run all steps, and make the data set.",
    "estimate": "Price what is left of a construction.",
    "status": "Say where a construction stands.",
    "harvest": "Find the passages of reviews that speak of one paper each.",
    "summaries": "Delimit passages, and keep those that report results.",
    "hypotheses": "Write the hypothesis that each summary is evidence on.",
    "aspects": "Split each summary into aspects, and verify them.",
    "judge": "Judge which sentences of each paper hold which aspects.",
    "label-results": "Say which aspects are results.",
    "filter": "Drop drafts of which too few aspects have a source sentence.",
    "assemble": "Make the data set: splits, optima, datasheet.",
}
_STEPS = ("summaries", "hypotheses", "aspects", "judge", "label-results", "filter")


@click.group(cls=LazyGroup, package=__name__, lines=_COMMANDS, modules=dict.fromkeys(_STEPS, "steps"))
def command() -> None:
    """Make a benchmark from papers and reviews."""
