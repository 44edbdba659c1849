"""``evidencebench construct``: make a benchmark from papers and reviews.

The files: `assemble`, `demo`, `estimate`, `harvest`, `steps`.
"""

from evidencebench.cli.main import LazyGroup

command = LazyGroup(
    "construct",
    package=__name__,
    lines={
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
    },
    modules=dict.fromkeys(
        ("run", "status", "summaries", "hypotheses", "aspects", "judge", "label-results", "filter"), "steps"
    ),
    help="Make a benchmark from papers and reviews.",
)
