"""The features that listen: how a sentence and its surroundings speak of each part of the hypothesis."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from evidencebench.systems.selectors.lexicon import CUES
from evidencebench.systems.selectors.paper_columns import Floats, PaperColumns
from evidencebench.systems.selectors.relevance import PARTS, windowed

Column = Callable[[PaperColumns], Floats]
_NUMBER = {cue.name: number for number, cue in enumerate(CUES)}


def shifted(values: Floats, by: int) -> Floats:
    moved = np.zeros_like(values)
    if by > 0:
        moved[by:] = values[:-by]
    else:
        moved[:by] = values[-by:]
    return moved


def rank_fraction(values: Floats) -> Floats:
    return np.searchsorted(np.sort(values), values) / max(1, len(values))


def rank_within(values: Floats, flags) -> Floats:
    out = np.zeros(len(values))
    if flags.any():
        out[flags] = rank_fraction(values[flags])
    return out


def relative(values: Floats) -> Floats:
    return values / max(1e-9, values.max(initial=0.0))


def around(values: Floats, reach: int) -> Floats:
    found = np.zeros_like(values)
    for by in range(1, reach + 1):
        np.maximum(found, shifted(values, by), out=found)
        np.maximum(found, shifted(values, -by), out=found)
    return found


def before(values: Floats, reach: int) -> Floats:
    found = np.zeros_like(values)
    for by in range(1, reach + 1):
        np.maximum(found, shifted(values, by), out=found)
    return found


def cue(paper: PaperColumns, name: str) -> Floats:
    return np.log1p(paper.cues[:, _NUMBER[name]])


def finding(paper):
    """Comparison or statistic in the sentence."""
    names = ("p_value", "significance", "comparison", "increase", "decrease", "interval", "ratio", "negation")
    return sum(np.minimum(1.0, cue(paper, n)) for n in names)


def best_match(paper):
    r = paper.relevance
    return relative(r.bm25["outcome"]) * (0.3 + relative(r.bm25["intervention"] + r.bm25["comparator"])) * (
        0.3 + relative(finding(paper)))


def to_best(paper, n):
    score = best_match(paper)
    if paper.n == 0:
        return np.zeros(0)
    top = np.argsort(-score, kind="stable")[:n]
    return np.maximum.reduce([paper.similarity.row(int(i)) for i in top])


RELEVANCE: dict[str, tuple[str, Column]] = {}
for part in PARTS:
    R = lambda p: p.relevance
    RELEVANCE |= {
        f"{part}_held": ("", lambda p, part=part: p.relevance.held[part]),
        f"{part}_held_relative": ("", lambda p, part=part: relative(p.relevance.held[part])),
        f"{part}_rank": ("", lambda p, part=part: rank_fraction(p.relevance.bm25[part])),
        f"{part}_bm25": ("", lambda p, part=part: p.relevance.bm25[part]),
        f"{part}_bm25_relative": ("", lambda p, part=part: relative(p.relevance.bm25[part])),
        f"{part}_rarest": ("", lambda p, part=part: p.relevance.rarest[part]),
        f"{part}_phrase": ("", lambda p, part=part: p.relevance.phrase[part]),
        f"{part}_focus": ("", lambda p, part=part: p.relevance.focus[part]),
        f"{part}_focus_relative": ("", lambda p, part=part: relative(p.relevance.focus[part])),
        f"{part}_before": ("", lambda p, part=part: shifted(p.relevance.held[part], 1)),
        f"{part}_after": ("", lambda p, part=part: shifted(p.relevance.held[part], -1)),
        f"{part}_before_3": ("", lambda p, part=part: before(p.relevance.held[part], 3)),
        f"{part}_around": ("", lambda p, part=part: around(p.relevance.held[part], 3)),
        f"{part}_wide": ("", lambda p, part=part: relative(windowed(p.relevance.bm25[part], 10))),
        f"{part}_wider": ("", lambda p, part=part: relative(windowed(p.relevance.bm25[part], 40))),
        f"{part}_heading": ("", lambda p, part=part: p.relevance.under_heading(p.relevance.held[part])),
        f"{part}_known": ("", lambda p, part=part: np.full(p.n, p.relevance.known[part])),
        f"{part}_best": ("", lambda p, part=part: np.full(p.n, p.relevance.held[part].max(initial=0.0))),
        f"{part}_abstract_rank": ("", lambda p, part=part: rank_within(p.relevance.bm25[part], p.is_abstract)),
        f"{part}_evidence": ("", lambda p, part=part: relative(p.relevance.held[part]) * p.evidence),
        f"{part}_p_value": ("", lambda p, part=part: relative(p.relevance.held[part]) * cue(p, "p_value")),
        f"{part}_words": ("", lambda p, part=part: np.full(p.n, len(p.relevance.wanted[part]))),
    }
RELEVANCE |= {
    "finding": ("", finding),
    "match": ("", best_match),
    "match_rank": ("", lambda p: rank_fraction(best_match(p))),
    "match_abstract_rank": ("", lambda p: rank_within(best_match(p), p.is_abstract)),
    "match_body_rank": ("", lambda p: rank_within(best_match(p), ~p.is_abstract)),
    "match_around": ("", lambda p: around(best_match(p), 2)),
    "to_best": ("", lambda p: to_best(p, 1)),
    "to_best_3": ("", lambda p: to_best(p, 3)),
    "topic": ("", lambda p: p.relevance.topic),
    "topic_wide": ("", lambda p: relative(windowed(p.relevance.topic, 10))),
    "topic_wider": ("", lambda p: relative(windowed(p.relevance.topic, 40))),
    "topic_rank": ("", lambda p: rank_fraction(windowed(p.relevance.topic, 10))),
    "topic_abstract": ("", lambda p: rank_within(windowed(p.relevance.topic, 5), p.is_abstract)),
    "arms": ("", lambda p: np.minimum(1.0, p.relevance.held["intervention"]) * p.relevance.held["comparator"]),
    "outcome_and_arm": (
        "",
        lambda p: p.relevance.held["outcome"] * np.maximum(p.relevance.held["intervention"], p.relevance.held["comparator"]),
    ),
}
