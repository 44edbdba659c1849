"""A specification of every system, so that the laws that hold for all are tested on all."""

from collections.abc import Mapping
from dataclasses import MISSING
from typing import Any

from doors import KNOWING_SYSTEMS, options_of
from evidencebench import SYSTEMS

NEEDING: Mapping[str, str] = {
    "exec": "exec:{word_program}",
    "dense": "dense:model={embedding_model},neighbours=1,title=true",
    "dense_api": "dense_api:model=tiny,base_url={embedding_server}",
    "fuse": "fuse:systems=[bm25:k1=1.2,b=0.5+structure+random],weights=[2+1+0.5]",
    "rerank": "rerank:system=bm25,model={cross_encoder},top=3",
    "diverse": "diverse:system=[fuse:systems=[bm25+structure],method=zscore]",
}
"""Of the systems that do not stand alone: a specification; a name in braces is a fixture that gives a path."""

CHAT = "model=local/fake,base_url={model_server}"
_OF_STRATEGIES = {
    "examples": "examples={examples_file},n=2",
    "system": "system=bm25,top={top}",
    "systems": f"systems=[llm_base:{CHAT}],samples=2",
}
"""Option that a strategy cannot do without -> its value."""


def strategy_specs(top: int = 3) -> dict[str, str]:
    """Return a specification of every strategy in the table of systems: its model, and what it cannot do without.

    Of another system's sentences it is shown the first ``top``.
    """
    found = {}
    for name, options in ((name, options_of(factory)) for name, factory in SYSTEMS.items() if name.startswith("llm_")):
        parts = [CHAT] if any(option.group == "chat" for option in options.values()) else []
        parts += [_OF_STRATEGIES[key] for key, one in options.items() if one.default is MISSING and one.group is None]
        found[name] = f"{name}:{','.join(parts)}".replace("{top}", str(top))
    return found


def has_required_options(factory: Any) -> bool:
    return any(option.default is MISSING for option in options_of(factory).values())


STANDALONE = [name for name, factory in SYSTEMS.items() if not has_required_options(factory)]
"""Names that are specifications."""

LABEL_FREE = [
    *({**NEEDING, **strategy_specs()}.get(name, name) for name in SYSTEMS if name not in {*KNOWING_SYSTEMS, "stored"}),
    "finder:model={finder_model}",
]
"""A specification of every system that finds its own answers without the labels."""
