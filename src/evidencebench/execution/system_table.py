"""The only table of system names: a new system is its file and a line here."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from evidencebench.data import oracle
from evidencebench.models.model_card import SET_SELECTOR_IS_GONE
from evidencebench.system import KnowingSystem, System
from evidencebench.systems import controls, stored_answers
from evidencebench.systems.retrievers import bm25, dense, dense_api, fusion, rerank, tfidf
from evidencebench.systems.selectors import cues, diverse, selector
from evidencebench.systems.strategies import in_context, ranking, reranking, sections, voting, whole_paper

SYSTEMS: Mapping[str, Callable[..., System | KnowingSystem]] = MappingProxyType(
    {
        "random": controls.RandomControl,
        "lead": controls.Lead,
        "lead_no_headings": controls.LeadNoHeadings,
        "abstract_first": controls.AbstractFirst,
        "abstract_backwards": controls.AbstractBackwards,
        "longest": controls.Longest,
        "most_digits": controls.MostDigits,
        "structure": controls.Structure,
        "oracle": oracle.Oracle,
        "greedy_oracle": oracle.GreedyOracle,
        "bm25": bm25.BM25,
        "bm25_abstract_first": bm25.BM25AbstractFirst,
        "tfidf": tfidf.TfIdf,
        "tfidf_char": tfidf.TfIdfChar,
        "dense": dense.Dense,
        "minilm": dense.MiniLM,
        "dense_api": dense_api.DenseApi,
        "stored": stored_answers.Stored,
        "rerank": rerank.Rerank,
        "fuse": fusion.Fuse,
        "diverse": diverse.Diverse,
        "cues": cues.Cues,
        "selector": selector.Selector,
        "best": selector.Selector,
        "llm_base": whole_paper.LlmBase,
        "llm_icl": in_context.LlmInContext,
        "llm_sections": sections.LlmSections,
        "llm_rank": ranking.LlmRank,
        "llm_vote": voting.LlmVote,
        "llm_rerank": reranking.LlmRerank,
    }
)
"""System name -> its class, whose fields are its options."""

TAKEN_AWAY: Mapping[str, str] = MappingProxyType({"set_selector": SET_SELECTOR_IS_GONE})
"""Name of a system or training that earlier versions had -> what to tell who asks for it."""
