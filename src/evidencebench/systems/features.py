"""The table of features and its columns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from evidencebench.systems.lexicon import CUES, Role
from evidencebench.systems.paper_columns import ALIKE, Flags, Floats, PaperColumns
from evidencebench.systems.relevance import PARTS, Part, windowed

# The features of a sentence: a table of numbers, computed without labels, from which systems choose.


Column = Callable[[PaperColumns], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One column of the table."""

    name: str
    group: str  # place, section, cues, length, hypothesis, neighbours, centrality, redundancy or relevance
    meaning: str
    column: Column  # computes one number a sentence
    reads_hypothesis: bool  # whether its numbers depend on the hypothesis


def _in_section(section: Role, paper: PaperColumns, *, abstract: bool) -> Floats:
    flags: Floats = ((paper.sections == int(section)) & (paper.is_abstract == abstract)).astype(float)
    return flags


def _cue_count(number: int, paper: PaperColumns) -> Floats:
    counts: Floats = np.log1p(paper.cues[:, number])
    return counts


def _shift(values: Floats, by: int) -> Floats:
    """Return, for each sentence, the value of the sentence ``by`` places before it; 0 if there is none."""
    moved = np.zeros_like(values)
    if by > 0:
        moved[by:] = values[:-by]
    else:
        moved[:by] = values[-by:]
    return moved


def rank_fraction(values: Floats) -> Floats:
    """Return, for each value, the share of all values that are smaller, such as 0 for the smallest."""
    return np.searchsorted(np.sort(values), values) / max(1, len(values))


_PLACE: Mapping[str, tuple[str, Column]] = {
    "is_heading": ("1 for a heading.", lambda paper: paper.is_heading.astype(float)),
    "is_abstract": ("1 for a sentence of the abstract.", lambda paper: paper.is_abstract.astype(float)),
    "position": (
        "Place in the paper, from 0 (first) to 1 (last).",
        lambda paper: paper.index / max(1, paper.n - 1),
    ),
    "from_start": ("ln(1 + sentences before it in the paper).", lambda paper: np.log1p(paper.index)),
    "from_end": ("ln(1 + sentences after it in the paper).", lambda paper: np.log1p(paper.n - 1 - paper.index)),
    "paper_length": ("ln of the paper's number of sentences.", lambda paper: np.full(paper.n, np.log(paper.n))),
    "abstract_length": (
        "ln(1 + the abstract's number of sentences).",
        lambda paper: np.full(paper.n, np.log1p(paper.is_abstract.sum())),
    ),
    "abstract_position": (
        "Place in the abstract, from 0 to 1; -1 outside.",
        lambda paper: np.where(paper.is_abstract, paper.abstract_place / max(1, paper.is_abstract.sum() - 1), -1.0),
    ),
    "abstract_from_start": (
        "Sentences of the abstract before it; -1 outside.",
        lambda paper: np.where(paper.is_abstract, paper.abstract_place, -1.0),
    ),
    "abstract_from_end": (
        "Sentences of the abstract after it; -1 outside.",
        lambda paper: np.where(paper.is_abstract, paper.is_abstract.sum() - 1 - paper.abstract_place, -1.0),
    ),
    "is_last_of_abstract": (
        "1 for the abstract's last sentence.",
        lambda paper: (paper.is_abstract & (paper.abstract_place == paper.is_abstract.sum() - 1)).astype(float),
    ),
    "after_heading": ("ln(1 + sentences since the last heading).", lambda paper: np.log1p(paper.runs[0])),
    "run_position": (
        "Place from 0, the last heading, to 1, the sentence before the next one.",
        lambda paper: paper.runs[0] / np.maximum(1, paper.runs[1] - 1),
    ),
    "run_length": (
        "ln of the number of sentences from the last heading, which counts, to the next.",
        lambda paper: np.log(paper.runs[1]),
    ),
    "section_position": (
        "Place among the sentences of its section's class, from 0 to 1.",
        lambda paper: paper.section_position,
    ),
    "has_labels": (
        "1 where the paper's abstract is structured by labels.",
        lambda paper: np.full(paper.n, float((paper.sections[paper.is_abstract] > 0).any())),
    ),
}

_SECTION: Mapping[str, tuple[str, Column]] = {
    **{
        f"section_{section.name.lower()}": (
            f"1 outside the abstract, in a section of the class {section.name.lower()}.",
            partial(_in_section, section, abstract=False),
        )
        for section in Role
    },
    **{
        f"abstract_{section.name.lower()}": (
            f"1 in a part of the abstract of the class {section.name.lower()}.",
            partial(_in_section, section, abstract=True),
        )
        for section in Role
        if section <= Role.CONCLUSION
    },
}

_CUES: Mapping[str, tuple[str, Column]] = {
    **{
        f"cue_{cue.name}": (f"ln(1 + how often it holds {cue.meaning}).", partial(_cue_count, number))
        for number, cue in enumerate(CUES)
    },
    "evidence": (
        "How much of its wording reports findings: the dampened counts of twelve cues, summed.",
        lambda paper: paper.evidence,
    ),
    "evidence_rank": (
        "The share of the paper's sentences with less such wording.",
        lambda paper: rank_fraction(paper.evidence),
    ),
    "evidence_density": (
        "Such wording for each 100 characters.",
        lambda paper: 100 * paper.evidence / np.maximum(40, paper.n_characters),
    ),
}

_LENGTH: Mapping[str, tuple[str, Column]] = {
    "characters": ("ln(1 + characters).", lambda paper: np.log1p(paper.n_characters)),
    "length_rank": ("The share of the paper's shorter sentences.", lambda paper: rank_fraction(paper.n_characters)),
    "capitals": (
        "The share of its letters that are capitals.",
        lambda paper: paper.count(str.isupper) / np.maximum(1, paper.count(str.isalpha)),
    ),
    "digits": (
        "The share of its characters that are digits.",
        lambda paper: paper.count(str.isdigit) / np.maximum(1, paper.n_characters),
    ),
}

_HYPOTHESIS: Mapping[str, tuple[str, Column]] = {
    "bm25": ("BM25 for the hypothesis.", lambda paper: paper.bm25),
    "bm25_rank": ("The share of sentences with a lower BM25.", lambda paper: rank_fraction(paper.bm25)),
    "bm25_share": (
        "BM25 as a share of the paper's highest.",
        lambda paper: paper.bm25 / max(1e-9, paper.bm25.max()),
    ),
    "terms_held": ("The share of the hypothesis's words that it holds.", lambda paper: paper.terms_held),
    "tfidf": ("TF-IDF cosine with the hypothesis.", lambda paper: paper.hypothesis_cosine),
    "tfidf_best_neighbour": (
        "The higher of the TF-IDF cosines of its two neighbours with the hypothesis.",
        lambda paper: np.maximum(_shift(paper.hypothesis_cosine, 1), _shift(paper.hypothesis_cosine, -1)),
    ),
}

_NEIGHBOURS: Mapping[str, tuple[str, Column]] = {
    "evidence_before": ("`evidence` of the sentence before.", lambda paper: _shift(paper.evidence, 1)),
    "evidence_after": ("`evidence` of the sentence after.", lambda paper: _shift(paper.evidence, -1)),
    "evidence_around": (
        "Mean `evidence` of it and the five sentences on either side, 0 beyond the paper's ends.",
        lambda paper: np.convolve(np.pad(paper.evidence, 5), np.ones(11) / 11, mode="valid"),
    ),
    "length_before": (
        "ln(1 + characters) of the sentence before.",
        lambda paper: _shift(np.log1p(paper.n_characters), 1),
    ),
    "length_after": (
        "ln(1 + characters) of the sentence after.",
        lambda paper: _shift(np.log1p(paper.n_characters), -1),
    ),
}

_CENTRALITY: Mapping[str, tuple[str, Column]] = {
    "centrality": (
        "Mean TF-IDF cosine with the paper's other sentences.",
        lambda paper: paper.cosines.total / max(1, paper.n - 1),
    ),
    "centrality_rank": (
        "The share of less central sentences.",
        lambda paper: rank_fraction(paper.cosines.total),
    ),
    "to_abstract": (
        "Mean TF-IDF cosine with the abstract's other sentences.",
        lambda paper: paper.cosines.abstract_total / np.maximum(1, paper.is_abstract.sum() - paper.is_abstract),
    ),
    "to_nearest_abstract": (
        "Highest TF-IDF cosine with another sentence of the abstract.",
        lambda paper: paper.cosines.abstract_highest,
    ),
    "to_nearest_results": (
        "Highest TF-IDF cosine with another sentence of the results.",
        lambda paper: paper.cosines.results_highest,
    ),
    "to_nearest_discussion": (
        "Highest TF-IDF cosine with another sentence of the discussion or the conclusion.",
        lambda paper: paper.cosines.discussion_highest,
    ),
    "to_conclusion": (
        "TF-IDF cosine with the abstract's last sentence.",
        lambda paper: (
            paper.similarity.row(int(paper.is_abstract.nonzero()[0][-1]))
            if paper.is_abstract.any()
            else np.zeros(paper.n)
        ),
    ),
    "to_first": (
        "TF-IDF cosine with the paper's first sentence, often its title.",
        lambda paper: paper.similarity.row(0),
    ),
}

_REDUNDANCY: Mapping[str, tuple[str, Column]] = {
    "to_nearest": ("Highest TF-IDF cosine with any other sentence.", lambda paper: paper.cosines.highest),
    "to_nearest_before": (
        "Highest TF-IDF cosine with an earlier sentence: what it repeats.",
        lambda paper: paper.cosines.highest_before,
    ),
    "n_alike": (
        f"ln(1 + sentences with a TF-IDF cosine over {ALIKE}).",
        lambda paper: np.log1p(paper.cosines.n_alike),
    ),
}

_GROUPS = {
    "place": _PLACE,
    "section": _SECTION,
    "cues": _CUES,
    "length": _LENGTH,
    "hypothesis": _HYPOTHESIS,
    "neighbours": _NEIGHBOURS,
    "centrality": _CENTRALITY,
    "redundancy": _REDUNDANCY,
}

FEATURES = tuple(
    Feature(name=name, group=group, meaning=meaning, column=column, reads_hypothesis=group == "hypothesis")
    for group, features in _GROUPS.items()
    for name, (meaning, column) in features.items()
)
"""Every feature, in the order of the table's columns."""


def feature_table(paper: PaperColumns, features: tuple[Feature, ...]) -> Floats:
    """Return one row a sentence and one column a feature; an empty paper has no rows."""
    if paper.n == 0:
        return np.zeros((0, len(features)))
    return np.column_stack([feature.column(paper) for feature in features])


# The features that listen: how a sentence and what stands around it speak of each part of the hypothesis.


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
