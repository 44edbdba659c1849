"""The features of a sentence: a table of numbers, computed without labels, from which systems choose.

`FEATURES` lists the table's columns, with the meaning of each; `feature_table` computes the table for a paper.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from evidencebench.systems.selectors.lexicon import CUES
from evidencebench.systems.selectors.paper_columns import ALIKE, Floats, PaperColumns
from evidencebench.systems.selectors.rhetorical_roles import Role

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
