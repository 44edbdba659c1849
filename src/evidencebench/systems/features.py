"""The features of a sentence: a table of numbers, computed without labels, from which systems choose.

In the formulas, p is the paper; docs/features.md says what each feature means.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from evidencebench.systems.lexicon import CUES, Role, asks, compares, tells_of_baseline, tells_of_others
from evidencebench.systems.paper_columns import PaperColumns
from evidencebench.systems.relevance import PARTS, Part, windowed
from evidencebench.systems.reporting import asks_number, flags_of, holds_number, items_asked, reporting_scores
from evidencebench.systems.words import Flags, Floats

Column = Callable[[PaperColumns], Floats]

_ROLES_OF_ABSTRACT = tuple(role for role in Role if role <= Role.CONCLUSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    name: str
    group: str  # place, section, cues, length, hypothesis, neighbours, centrality, redundancy, relevance, reporting
    column: Column  # computes one number a sentence
    reads_hypothesis: bool  # whether its numbers depend on the hypothesis


def feature_table(paper: PaperColumns, features: tuple[Feature, ...]) -> Floats:
    if paper.n == 0:
        return np.zeros((0, len(features)))
    return np.column_stack([feature.column(paper) for feature in features])


def rank_fraction(values: Floats) -> Floats:
    """Return, for each value, the share of all values that are smaller, such as 0 for the smallest."""
    return np.searchsorted(np.sort(values), values) / max(1, len(values))


def _shift(values: Floats, by: int) -> Floats:
    """Return, for each sentence, the value of the sentence ``by`` places before it; 0 if there is none."""
    return np.roll(np.pad(values, 1), by)[1:-1]


def _in_section(section: Role, paper: PaperColumns, *, abstract: bool) -> Floats:
    flags: Floats = ((paper.sections == int(section)) & (paper.is_abstract == abstract)).astype(float)
    return flags


def _cue(name: str, paper: PaperColumns) -> Floats:
    counts: Floats = np.log1p(paper.cues[:, _NUMBER_OF_CUE[name]])
    return counts


_FINDING_CUES = ("p_value", "significance", "comparison", "increase", "decrease", "interval", "ratio", "negation")
_NEAR, _WIDE, _WIDER = 3, 10, 40
_BEST = 3
_NUMBER_OF_CUE = {cue.name: number for number, cue in enumerate(CUES)}


def _relative(values: Floats) -> Floats:
    return np.divide(values, max(1e-9, values.max(initial=0.0)))


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


def _finding(paper: PaperColumns) -> Floats:
    sums: Floats = np.sum([np.minimum(1.0, _cue(name, paper)) for name in _FINDING_CUES], axis=0)
    return sums * ~paper.where(asks)


def _match(paper: PaperColumns) -> Floats:
    bm25 = paper.relevance.bm25
    arms = _relative(bm25["intervention"] + bm25["comparator"])
    matches: Floats = _relative(bm25["outcome"]) * (0.3 + arms) * (0.3 + _relative(_finding(paper)))
    return matches


def _to_best(paper: PaperColumns, n: int) -> Floats:
    best = np.argsort(-_match(paper), kind="stable")[:n]
    highest: Floats = np.max([paper.similarity.row(int(index)) for index in best], axis=0)
    return highest


def _to_conclusion(paper: PaperColumns) -> Floats:
    last = paper.is_abstract.nonzero()[0][-1:]
    return paper.similarity.row(int(last[0])) if len(last) else np.zeros(paper.n)


def _of_other_arm(paper: PaperColumns) -> Floats:
    """Flag what names the comparator alone and does not compare, where the paper names the intervention too."""
    own = paper.relevance.own
    is_other: Flags = (own["comparator"] > 0) & (own["intervention"] == 0) & ~paper.where(compares)
    return np.where(own["intervention"].any(), is_other, 0.0)


Columns = Mapping[str, Column]

_COLUMNS: Mapping[str, Columns] = {  # by group
    "place": {
        "is_heading": lambda p: p.is_heading.astype(float),
        "is_abstract": lambda p: p.is_abstract.astype(float),
        "position": lambda p: p.index / max(1, p.n - 1),
        "from_start": lambda p: np.log1p(p.index),
        "from_end": lambda p: np.log1p(p.n - 1 - p.index),
        "paper_length": lambda p: np.full(p.n, np.log(p.n)),
        "abstract_length": lambda p: np.full(p.n, np.log1p(p.n_abstract)),
        "abstract_position": lambda p: np.where(p.is_abstract, p.abstract_place / max(1, p.n_abstract - 1), -1.0),
        "abstract_from_start": lambda p: np.where(p.is_abstract, p.abstract_place, -1.0),
        "abstract_from_end": lambda p: np.where(p.is_abstract, p.n_abstract - 1 - p.abstract_place, -1.0),
        "is_last_of_abstract": lambda p: (p.is_abstract & (p.abstract_place == p.n_abstract - 1)).astype(float),
        "after_heading": lambda p: np.log1p(p.runs[0]),
        "run_position": lambda p: p.runs[0] / np.maximum(1, p.runs[1] - 1),
        "run_length": lambda p: np.log(p.runs[1]),
        "section_position": lambda p: p.section_position,
        "has_labels": lambda p: np.full(p.n, float((p.sections[p.is_abstract] > 0).any())),
    },
    "section": {
        **{f"section_{role.name.lower()}": partial(_in_section, role, abstract=False) for role in Role},
        **{f"abstract_{role.name.lower()}": partial(_in_section, role, abstract=True) for role in _ROLES_OF_ABSTRACT},
    },
    "cues": {
        **{f"cue_{cue.name}": partial(_cue, cue.name) for cue in CUES},
        "evidence": lambda p: p.evidence,
        "evidence_rank": lambda p: rank_fraction(p.evidence),
        "evidence_density": lambda p: 100 * p.evidence / np.maximum(40, p.n_characters),
    },
    "length": {
        "characters": lambda p: np.log1p(p.n_characters),
        "length_rank": lambda p: rank_fraction(p.n_characters),
        "capitals": lambda p: p.count(str.isupper) / np.maximum(1, p.count(str.isalpha)),
        "digits": lambda p: p.count(str.isdigit) / np.maximum(1, p.n_characters),
    },
    "hypothesis": {
        "bm25": lambda p: p.bm25,
        "bm25_rank": lambda p: rank_fraction(p.bm25),
        "bm25_share": lambda p: _relative(p.bm25),
        "terms_held": lambda p: p.terms_held,
        "tfidf": lambda p: p.hypothesis_cosine,
        "tfidf_best_neighbour": lambda p: np.maximum(_shift(p.hypothesis_cosine, 1), _shift(p.hypothesis_cosine, -1)),
    },
    "neighbours": {
        "evidence_before": lambda p: _shift(p.evidence, 1),
        "evidence_after": lambda p: _shift(p.evidence, -1),
        "evidence_around": lambda p: np.convolve(np.pad(p.evidence, 5), np.ones(11) / 11, mode="valid"),
        "length_before": lambda p: _shift(np.log1p(p.n_characters), 1),
        "length_after": lambda p: _shift(np.log1p(p.n_characters), -1),
    },
    "centrality": {
        "centrality": lambda p: p.cosines.total / max(1, p.n - 1),
        "centrality_rank": lambda p: rank_fraction(p.cosines.total),
        "to_abstract": lambda p: p.cosines.abstract_total / np.maximum(1, p.n_abstract - p.is_abstract),
        "to_nearest_abstract": lambda p: p.cosines.abstract_highest,
        "to_nearest_results": lambda p: p.cosines.results_highest,
        "to_nearest_discussion": lambda p: p.cosines.discussion_highest,
        "to_conclusion": _to_conclusion,
        "to_first": lambda p: p.similarity.row(0),
    },
    "redundancy": {
        "to_nearest": lambda p: p.cosines.highest,
        "to_nearest_before": lambda p: p.cosines.highest_before,
        "n_alike": lambda p: np.log1p(p.cosines.n_alike),
    },
}


def _part_columns(part: Part) -> Columns:
    return {
        f"{part}_held": lambda p: p.relevance.held[part],
        f"{part}_held_relative": lambda p: _relative(p.relevance.held[part]),
        f"{part}_rank": lambda p: rank_fraction(p.relevance.bm25[part]),
        f"{part}_rarest": lambda p: p.relevance.rarest[part],
        f"{part}_phrase": lambda p: p.relevance.phrase[part],
        f"{part}_focus": lambda p: p.relevance.focus[part],
        f"{part}_before": lambda p: _highest_around(p.relevance.held[part], _NEAR, 0),
        f"{part}_heading": lambda p: p.relevance.under_heading(p.relevance.held[part]),
        f"{part}_wide": lambda p: _relative(windowed(p.relevance.bm25[part], _WIDE)),
        f"{part}_evidence": lambda p: _relative(p.relevance.held[part]) * p.evidence,
        f"{part}_p_value": lambda p: _relative(p.relevance.held[part]) * _cue("p_value", p),
    }


_RELEVANCE: Columns = {
    **{name: column for part in PARTS for name, column in _part_columns(part).items()},
    "arms": lambda p: p.relevance.held["intervention"] * p.relevance.held["comparator"],
    "asks": lambda p: p.where(asks).astype(float),
    "of_others": lambda p: p.where(tells_of_others).astype(float),
    "of_baseline": lambda p: p.where(tells_of_baseline).astype(float),
    "of_other_arm": _of_other_arm,
    "intervention_own": lambda p: p.relevance.own["intervention"],
    "comparator_own": lambda p: p.relevance.own["comparator"],
    "outcome_own": lambda p: p.relevance.own["outcome"],
    "finding": _finding,
    "match": _match,
    "match_rank": lambda p: rank_fraction(_match(p)),
    "match_abstract_rank": lambda p: _rank_within(_match(p), p.is_abstract),
    "match_body_rank": lambda p: _rank_within(_match(p), ~p.is_abstract),
    "match_around": lambda p: _highest_around(_match(p), 2, 2),
    "to_best": partial(_to_best, n=1),
    "to_best_3": partial(_to_best, n=_BEST),
    "topic": lambda p: p.relevance.topic,
    "topic_wide": lambda p: _relative(windowed(p.relevance.topic, _WIDE)),
    "topic_wider": lambda p: _relative(windowed(p.relevance.topic, _WIDER)),
}

# How much it counts that a sentence reports what is asked for, and that it has a number, beside how rare the words are
# that it shares with the question: in standard deviations of the paper's sentences.
_OF_REPORTING, _OF_NUMBER = 1.2, 0.7
_NO_ODDS = -9.0  # of an item that nothing asks for


def _standard(values: Floats) -> Floats:
    spread: Floats = np.divide(values - values.mean(axis=0), values.std(axis=0) + 1e-9)
    return spread


def _odds(paper: PaperColumns) -> Floats:
    """Return how likely each sentence reports each item, as log odds."""
    return paper.of_paper(reporting_scores, lambda: reporting_scores(paper.query.sentences))


def _highest_asked(paper: PaperColumns, scores: Floats, without: float) -> Floats:
    """Return each sentence's highest score of the items that are asked for; ``without`` where none is."""
    asked = flags_of(_items_asked(paper))
    if not asked.any():
        return np.full(paper.n, without)
    return np.asarray(scores[:, asked].max(axis=1), np.float64)


def _items_asked(paper: PaperColumns) -> tuple[str, ...]:
    return () if paper.is_statement else items_asked(paper.asked)


def _reports_asked(paper: PaperColumns) -> Floats:
    standard = paper.of_paper("standard odds", lambda: _standard(_odds(paper)))
    return _highest_asked(paper, standard, 0.0)


def _number_asked(paper: PaperColumns) -> Floats:
    if asks_number(paper.asked):
        return paper.where(holds_number).astype(float)
    return np.zeros(paper.n)


def _words_and_reporting(paper: PaperColumns) -> Floats:
    words = _standard(paper.relevance.bm25["whole"])
    of_reporting, of_number = _OF_REPORTING * _reports_asked(paper), _OF_NUMBER * _number_asked(paper)
    total: Floats = np.sum([words, of_reporting, of_number], axis=0)
    return total


_REPORTING: Columns = {
    "reports_asked": _reports_asked,
    "reports_asked_odds": lambda p: _highest_asked(p, _odds(p), _NO_ODDS),
    "asks_item": lambda p: np.full(p.n, float(bool(_items_asked(p)))),
    "number_asked": _number_asked,
    "asks_number": lambda p: np.full(p.n, float(asks_number(p.asked))),
    "words_and_reporting": _words_and_reporting,
    "is_stated": lambda p: np.full(p.n, float(p.is_statement)),
}

FEATURES = tuple(
    Feature(name=name, group=group, column=column, reads_hypothesis=group == "hypothesis")
    for group, columns in _COLUMNS.items()
    for name, column in columns.items()
)
"""Every feature but those of relevance and reporting, in the order of the table's columns."""

_BLIND_OF_RELEVANCE = {"asks", "finding", "of_others", "of_baseline"}
RELEVANCE_FEATURES = tuple(
    Feature(name=name, group="relevance", column=column, reads_hypothesis=name not in _BLIND_OF_RELEVANCE)
    for name, column in _RELEVANCE.items()
)
"""The features of the group ``relevance``, in the order of the table's columns."""

REPORTING_FEATURES = tuple(
    Feature(name=name, group="reporting", column=column, reads_hypothesis=True) for name, column in _REPORTING.items()
)
"""The features of the group ``reporting``, which tell whether a sentence reports what a question asks for."""
