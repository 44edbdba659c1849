"""``evidencebench export``: data and runs in the forms that other tools read.

The files: `every_eval_ever`, `hf`, `hub_results`, `inspect`, `run`, `scored_for_export`, `trec`.
"""

from evidencebench.cli.main import LazyGroup

command = LazyGroup(
    "export",
    package=__name__,
    lines={
        "inspect": "Write RUN, scored, as a log of inspect_ai, for its viewer.",
        "run": "Write a run in the form that FILE's suffix names.",
        "hf": "Write data as a folder that load_dataset of Hugging Face opens.",
        "every-eval-ever": "Write scores of RUNs as records of Every Eval Ever.",
        "hub-results": "Write scores of RUN as .eval_results of a model on the Hub.",
        "trec": "Write D and RUNs as TREC topics, diversity qrels and runs.",
    },
    help="Write data and runs in the forms that other tools read.",
)
