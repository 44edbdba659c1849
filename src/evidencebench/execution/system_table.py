"""The table of system names: a new system needs a file of its own and a line here.

The systems of installed packages follow them (see `plugins`).
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import MappingProxyType

from evidencebench.errors import SystemSpecError
from evidencebench.execution.plugins import Plugin, Plugins, installed_plugins
from evidencebench.models.model_card import SELECTORS_ARE_GONE
from evidencebench.system import KnowingSystem, System

Factory = Callable[..., System | KnowingSystem]

_PLACES = {
    "random": "systems.controls:RandomControl",
    "lead": "systems.controls:Lead",
    "lead_no_headings": "systems.controls:LeadNoHeadings",
    "abstract_first": "systems.controls:AbstractFirst",
    "abstract_backwards": "systems.controls:AbstractBackwards",
    "longest": "systems.controls:Longest",
    "most_digits": "systems.controls:MostDigits",
    "structure": "systems.controls:Structure",
    "oracle": "data.oracle:Oracle",
    "greedy_oracle": "data.oracle:GreedyOracle",
    "bm25": "systems.retrievers.bm25:BM25",
    "bm25_abstract_first": "systems.retrievers.bm25:BM25AbstractFirst",
    "tfidf": "systems.retrievers.tfidf:TfIdf",
    "tfidf_char": "systems.retrievers.tfidf:TfIdfChar",
    "dense": "systems.retrievers.dense:Dense",
    "minilm": "systems.retrievers.dense:MiniLM",
    "dense_api": "systems.retrievers.dense_api:DenseApi",
    "exec": "systems.programs.command:Exec",
    "stored": "systems.stored_answers:Stored",
    "rerank": "systems.retrievers.rerank:Rerank",
    "fuse": "systems.retrievers.fusion:Fuse",
    "diverse": "systems.selectors.diverse:Diverse",
    "cues": "systems.selectors.cues:Cues",
    "finder": "systems.selectors.finder:Finder",
    "llm_base": "systems.strategies.whole_paper:LlmBase",
    "llm_icl": "systems.strategies.in_context:LlmInContext",
    "llm_sections": "systems.strategies.sections:LlmSections",
    "llm_rank": "systems.strategies.ranking:LlmRank",
    "llm_vote": "systems.strategies.voting:LlmVote",
    "llm_rerank": "systems.strategies.reranking:LlmRerank",
}


PACKAGED: tuple[str, ...] = tuple(_PLACES)
"""Names of the systems of this package; the other entries of `SYSTEMS` are plug-ins."""
_TAKEN = frozenset(PACKAGED)


def plugins() -> Plugins:
    """Return the systems of installed packages."""
    return installed_plugins(_TAKEN)


def plugin_named(name: str) -> Plugin | None:
    """Return the plug-in of this name; None where it names none. Raises `SystemSpecError` where packages clash."""
    if name in _PLACES or ":" in name:
        return None
    installed = plugins()
    if name in installed.refused:
        raise SystemSpecError(installed.refused[name])
    return installed.usable.get(name)


class _Systems(Mapping[str, Factory]):
    """The table; a system's module is imported when the system is first looked up, since imports are slow."""

    def __getitem__(self, name: str) -> Factory:
        if name not in _PLACES:
            plugin = plugin_named(name)
            if plugin is None:
                raise KeyError(name)
            return plugin.load()[0]
        module, _, kind = _PLACES[name].partition(":")
        factory: Factory = getattr(import_module(f"evidencebench.{module}"), kind)
        return factory

    def __contains__(self, name: object) -> bool:
        return name in _PLACES or (isinstance(name, str) and ":" not in name and name in plugins().usable)

    def __iter__(self) -> Iterator[str]:
        yield from _PLACES
        yield from plugins().usable

    def __len__(self) -> int:
        return len(_PLACES) + len(plugins().usable)


SYSTEMS: Mapping[str, Factory] = _Systems()
"""System name -> its class, whose fields are its options. Installed packages may add to it; `SystemSpecError` where
the code of such a package cannot be imported."""

TAKEN_AWAY: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("selector", "best", "set_selector"), SELECTORS_ARE_GONE)
)
"""Name of a system or training of earlier versions -> the message for users who ask for it."""
