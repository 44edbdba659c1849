"""``evidencebench llm``: the commands about language models that are no runs.

The files: `examples`, `providers`, `rewrite`, `serve_fake`, `show`.
"""

from evidencebench.cli.main import LazyGroup

command = LazyGroup(
    "llm",
    package=__name__,
    lines={
        "examples": "Draw examples for the prompt of llm_icl from labelled data.",
        "providers": "List who serves models, and which of their keys are set.",
        "rewrite": "Have a model negate or paraphrase the hypotheses, for 'controls'.",
        "serve-fake": "Serve a fake language model for trials.",
        "show": "Show what a model was asked for an instance, and its replies.",
    },
    help="""List providers, show prompts and replies, serve a fake model.

And draw examples, and rewrite hypotheses. To ask a model, run a strategy:
evidencebench run llm_base:model=openai/NAME
""",
)
