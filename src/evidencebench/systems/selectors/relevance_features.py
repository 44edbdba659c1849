"""The features that listen: how a sentence and what stands around it speak of each part of the hypothesis."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from evidencebench.systems.selectors.features import Column, Feature, rank_fraction
from evidencebench.systems.selectors.lexicon import CUES
from evidencebench.systems.selectors.paper_columns import Flags, Floats, PaperColumns
from evidencebench.systems.selectors.relevance import PARTS, Part, windowed

_NUMBER_OF_CUE = {cue.name: number for number, cue in enumerate(CUES)}
_FINDING_CUES = ("p_value", "significance", "comparison", "increase", "decrease", "interval", "ratio", "negation")
_NEAR, _WIDE, _WIDER = 3, 10, 40
_BEST = 3


def _relative(values: Floats) -> Floats:
    """Return the values as shares of the highest."""
    shares: Floats = values / max(1e-9, values.max(initial=0.0))
    return shares


def _highest_around(values: Floats, before: int, after: int) -> Floats:
    """Return, for each sentence, the highest value of so many sentences before and after it, itself left out."""
    highest = np.zeros_like(values)
    for by in range(1, before + 1):
        np.maximum(highest[by:], values[:-by], out=highest[by:])
    for by in range(1, after + 1):
        np.maximum(highest[:-by], values[by:], out=highest[:-by])
    return highest


def _rank_within(values: Floats, flags: Flags) -> Floats:
    """Return the rank among the sentences with the flag, in 0..1; 0 for the others."""
    ranks = np.zeros(len(values))
    ranks[flags] = rank_fraction(values[flags])
    return ranks


def _cue(paper: PaperColumns, name: str) -> Floats:
    counts: Floats = np.log1p(paper.cues[:, _NUMBER_OF_CUE[name]])
    return counts


def _finding(paper: PaperColumns) -> Floats:
    sums: Floats = np.sum([np.minimum(1.0, _cue(paper, name)) for name in _FINDING_CUES], axis=0)
    return sums * ~paper.asks


def _match(paper: PaperColumns) -> Floats:
    bm25 = paper.relevance.bm25
    arms = _relative(bm25["intervention"] + bm25["comparator"])
    matches: Floats = _relative(bm25["outcome"]) * (0.3 + arms) * (0.3 + _relative(_finding(paper)))
    return matches


def _to_best(paper: PaperColumns, n: int) -> Floats:
    best = np.argsort(-_match(paper), kind="stable")[:n]
    highest: Floats = np.max([paper.similarity.row(int(index)) for index in best], axis=0)
    return highest


def _of_part(part: Part) -> Mapping[str, tuple[str, Column]]:
    of = "hypothesis" if part == "whole" else part
    return {
        f"{part}_held": (
            f"The share of the {of}'s words that it holds, in any form, each weighed by its rarity in the paper.",
            lambda paper: paper.relevance.held[part],
        ),
        f"{part}_held_relative": (
            f"`{part}_held` as a share of the paper's highest.",
            lambda paper: _relative(paper.relevance.held[part]),
        ),
        f"{part}_rank": (
            f"The share of sentences with a lower BM25 for the {of}.",
            lambda paper: rank_fraction(paper.relevance.bm25[part]),
        ),
        f"{part}_rarest": (
            f"1 where it holds the {of}'s rarest word of those that the paper has.",
            lambda paper: paper.relevance.rarest[part],
        ),
        f"{part}_phrase": (
            f"The share of the {of}'s neighbouring words that are neighbours in it.",
            lambda paper: paper.relevance.phrase[part],
        ),
        f"{part}_focus": (
            f"The share of its words, weighed by rarity, that are the {of}'s.",
            lambda paper: paper.relevance.focus[part],
        ),
        f"{part}_before": (
            f"The highest `{part}_held` of the {_NEAR} sentences before it.",
            lambda paper: _highest_around(paper.relevance.held[part], _NEAR, 0),
        ),
        f"{part}_heading": (
            f"`{part}_held` of the heading above it; 0 without one.",
            lambda paper: paper.relevance.under_heading(paper.relevance.held[part]),
        ),
        f"{part}_wide": (
            f"Mean BM25 for the {of} of it and {_WIDE} sentences on either side, as a share of the highest such mean.",
            lambda paper: _relative(windowed(paper.relevance.bm25[part], _WIDE)),
        ),
        f"{part}_evidence": (
            f"`{part}_held_relative` times `evidence`.",
            lambda paper: _relative(paper.relevance.held[part]) * paper.evidence,
        ),
        f"{part}_p_value": (
            f"`{part}_held_relative` times `cue_p_value`.",
            lambda paper: _relative(paper.relevance.held[part]) * _cue(paper, "p_value"),
        ),
    }


_RELEVANCE: Mapping[str, tuple[str, Column]] = {
    **{name: meant for part in PARTS for name, meant in _of_part(part).items()},
    "arms": (
        "`intervention_held` times `comparator_held`.",
        lambda paper: paper.relevance.held["intervention"] * paper.relevance.held["comparator"],
    ),
    "asks": (
        "1 where it asks, names an aim, or says that something is not known.",
        lambda paper: paper.asks.astype(float),
    ),
    "finding": (
        "How many of eight cues that report a comparison or a test it holds, dampened; 0 where it asks.",
        _finding,
    ),
    "match": (
        "BM25 for the outcome, times 0.3 + that for the two arms, times 0.3 + `finding`, each relative to the highest.",
        _match,
    ),
    "match_rank": ("The share of sentences with a lower `match`.", lambda paper: rank_fraction(_match(paper))),
    "match_abstract_rank": (
        "That share within the abstract; 0 outside.",
        lambda paper: _rank_within(_match(paper), paper.is_abstract),
    ),
    "match_body_rank": (
        "That share outside the abstract; 0 in it.",
        lambda paper: _rank_within(_match(paper), ~paper.is_abstract),
    ),
    "match_around": (
        "The highest `match` of the two sentences on either side.",
        lambda paper: _highest_around(_match(paper), 2, 2),
    ),
    "to_best": ("TF-IDF cosine with the sentence of the highest `match`.", partial(_to_best, n=1)),
    "to_best_3": (
        f"The highest TF-IDF cosine with the {_BEST} sentences of highest `match`.",
        partial(_to_best, n=_BEST),
    ),
    "topic": (
        "How much it shares the words of the sentences that speak of the hypothesis, as a share of the highest.",
        lambda paper: paper.relevance.topic,
    ),
    "topic_wide": (
        f"Mean `topic` of it and {_WIDE} sentences on either side, as a share of the highest such mean.",
        lambda paper: _relative(windowed(paper.relevance.topic, _WIDE)),
    ),
    "topic_wider": (
        f"The same with {_WIDER} sentences on either side.",
        lambda paper: _relative(windowed(paper.relevance.topic, _WIDER)),
    ),
}

RELEVANCE_FEATURES = tuple(
    Feature(
        name=name, group="relevance", meaning=meaning, column=column, reads_hypothesis=name not in {"asks", "finding"}
    )
    for name, (meaning, column) in _RELEVANCE.items()
)
"""The features of the group ``relevance``, in the order of the table's columns."""
