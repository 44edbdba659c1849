"""``evidencebench cache``: what is kept between runs.

The files: `list`, `prune`.
"""

from evidencebench.cli.main import LazyGroup

command = LazyGroup(
    "cache",
    package=__name__,
    lines={
        "list": "List what is kept: replies, embeddings, open batches.",
        "prune": "Remove what is kept, and give its space back.",
    },
    help="""List and prune what is kept between runs.

Replies of language models, which cost money, and embeddings, which cost
time, are kept in one folder: EVIDENCEBENCH_CACHE, by default
~/.cache/evidencebench; 'off' keeps nothing. Any number of processes may
use it at once.
""",
)
