"""A specification of every system, so that the laws that hold for all are tested on all."""

from collections.abc import Mapping
from dataclasses import MISSING
from typing import Any

from evidencebench.execution.options import options_of
from evidencebench.execution.system_table import SYSTEMS
from evidencebench.system import KNOWING_SYSTEMS

NEEDING: Mapping[str, str] = {
    "dense": "dense:model={embedding_model},neighbours=1,title=true",
    "dense_api": "dense_api:model=tiny,base_url={embedding_server}",
    "fuse": "fuse:systems=[bm25:k1=1.2,b=0.5+structure+random],weights=[2+1+0.5]",
    "rerank": "rerank:system=bm25,model={cross_encoder},top=3",
    "selector": "selector:model={selector_model},hypothesis_weight=0.5",
    "best": "best:model={best_model},hypothesis_weight=0.5",
    "llm_base": "llm_base:model=local/fake,base_url={model_server}",
    "llm_icl": "llm_icl:examples={examples_file},n=2,model=local/fake,base_url={model_server}",
    "llm_sections": "llm_sections:model=local/fake,base_url={model_server},structured=true",
    "llm_rank": "llm_rank:model=local/fake,base_url={model_server}",
    "llm_vote": "llm_vote:systems=[llm_base:model=local/fake,base_url={model_server}],samples=2",
    "llm_rerank": "llm_rerank:system=bm25,top=3,model=local/fake,base_url={model_server}",
    "diverse": "diverse:system=[fuse:systems=[bm25+structure],method=zscore]",
}
"""Of the systems that do not stand alone: a specification; a name in braces is a fixture that gives a path."""


def has_required_options(factory: Any) -> bool:
    return any(option.default is MISSING for option in options_of(factory).values())


STANDALONE = [name for name, factory in SYSTEMS.items() if not has_required_options(factory)]
"""Names that are specifications."""

LABEL_FREE = [NEEDING.get(name, name) for name in SYSTEMS if name not in {*KNOWING_SYSTEMS, "stored"}]
"""A specification of every system that finds its own answers without the labels."""
