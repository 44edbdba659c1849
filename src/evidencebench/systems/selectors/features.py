"""What a learned selector knows about a sentence: a table of numbers that needs no label.

`FEATURES` is the table's head, a sentence on each column; `feature_table` fills it for a paper.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from evidencebench.systems.selectors.lexicon import CUES
from evidencebench.systems.selectors.paper_columns import ALIKE, Floats, PaperColumns
from evidencebench.systems.selectors.rhetorical_roles import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One column of the table.

    Attributes
    ----------
    name
        Its name in models and documents.
    group
        What sort of knowledge it is: place, section, cues, length, hypothesis, neighbours, centrality, redundancy, or
        embedding, for which the columns need an embedder.
    meaning
        One sentence.
    column
        PaperColumns -> one number a sentence.
    reads_hypothesis
        Whether another hypothesis could change it.
    """

    name: str
    group: str
    meaning: str
    column: Callable[[PaperColumns], Floats]
    reads_hypothesis: bool = False


def _place() -> Iterator[Feature]:
    def add(name: str, meaning: str, column: Callable[[PaperColumns], Floats]) -> Feature:
        return Feature(name=name, group="place", meaning=meaning, column=column)

    yield add("is_heading", "1 for a heading.", lambda paper: paper.is_heading.astype(float))
    yield add("is_abstract", "1 for a sentence of the abstract.", lambda paper: paper.is_abstract.astype(float))
    yield add(
        "position", "Place in the paper, from 0 (first) to 1 (last).", lambda paper: _fraction(paper.index, paper.n)
    )
    yield add("from_start", "ln(1 + sentences before it in the paper).", lambda paper: np.log1p(paper.index))
    yield add("from_end", "ln(1 + sentences after it in the paper).", lambda paper: np.log1p(paper.n - 1 - paper.index))
    yield add("paper_length", "ln of the paper's number of sentences.", lambda paper: np.full(paper.n, np.log(paper.n)))
    yield add(
        "abstract_length",
        "ln(1 + the abstract's number of sentences).",
        lambda paper: np.full(paper.n, np.log1p(paper.is_abstract.sum())),
    )
    yield add(
        "abstract_position",
        "Place in the abstract, from 0 to 1; -1 outside.",
        lambda paper: np.where(paper.is_abstract, paper.abstract_position, -1.0),
    )
    yield add(
        "abstract_from_start",
        "Sentences of the abstract before it; -1 outside.",
        lambda paper: np.where(paper.is_abstract, paper.abstract_place, -1.0),
    )
    yield add(
        "abstract_from_end",
        "Sentences of the abstract after it; -1 outside.",
        lambda paper: np.where(paper.is_abstract, paper.is_abstract.sum() - 1 - paper.abstract_place, -1.0),
    )
    yield add(
        "is_last_of_abstract",
        "1 for the abstract's last sentence.",
        lambda paper: (paper.is_abstract & (paper.abstract_place == paper.is_abstract.sum() - 1)).astype(float),
    )
    yield add(
        "after_heading",
        "ln(1 + sentences since the last heading).",
        lambda paper: np.log1p(paper.run_place),
    )
    yield add(
        "run_position",
        "Place from 0, the last heading, to 1, the sentence before the next one.",
        lambda paper: paper.run_place / np.maximum(1, paper.run_length - 1),
    )
    yield add(
        "run_length",
        "ln of the number of sentences from the last heading, which counts, to the next.",
        lambda paper: np.log(paper.run_length),
    )
    yield add(
        "section_position",
        "Place among the sentences of its section's class, from 0 to 1.",
        lambda paper: paper.section_position,
    )
    yield add(
        "has_labels",
        "1 where the paper's abstract is structured by labels.",
        lambda paper: np.full(paper.n, float((paper.sections[paper.is_abstract] > 0).any())),
    )


def _section_is(section: Role, *, in_abstract: bool) -> Callable[[PaperColumns], Floats]:
    return lambda paper: ((paper.sections == int(section)) & (paper.is_abstract == in_abstract)).astype(float)


def _sections() -> Iterator[Feature]:
    for section in Role:
        name = section.name.lower()
        yield Feature(
            name=f"section_{name}",
            group="section",
            meaning=f"1 outside the abstract, in a section of the class {name}.",
            column=_section_is(section, in_abstract=False),
        )
    for section in list(Role)[: int(Role.CONCLUSION) + 1]:
        name = section.name.lower()
        yield Feature(
            name=f"abstract_{name}",
            group="section",
            meaning=f"1 in a part of the abstract of the class {name}.",
            column=_section_is(section, in_abstract=True),
        )


def _cue_count(number: int) -> Callable[[PaperColumns], Floats]:
    return lambda paper: np.log1p(paper.cues[:, number])


def _cues() -> Iterator[Feature]:
    for number, cue in enumerate(CUES):
        yield Feature(
            name=f"cue_{cue.name}",
            group="cues",
            meaning=f"ln(1 + how often it holds {cue.meaning}).",
            column=_cue_count(number),
        )
    yield Feature(
        name="evidence",
        group="cues",
        meaning="How much of its wording reports findings: the dampened counts of twelve cues, summed.",
        column=lambda paper: paper.evidence,
    )
    yield Feature(
        name="evidence_rank",
        group="cues",
        meaning="The share of the paper's sentences with less such wording.",
        column=lambda paper: rank_fraction(paper.evidence),
    )
    yield Feature(
        name="evidence_density",
        group="cues",
        meaning="Such wording for each 100 characters.",
        column=lambda paper: 100 * paper.evidence / np.maximum(40, paper.n_characters),
    )


def _length() -> Iterator[Feature]:
    def add(name: str, meaning: str, column: Callable[[PaperColumns], Floats]) -> Feature:
        return Feature(name=name, group="length", meaning=meaning, column=column)

    yield add("characters", "ln(1 + characters).", lambda paper: np.log1p(paper.n_characters))
    yield add(
        "length_rank", "The share of the paper's shorter sentences.", lambda paper: rank_fraction(paper.n_characters)
    )
    yield add("capitals", "The share of its letters that are capitals.", lambda paper: paper.capitals)
    yield add("digits", "The share of its characters that are digits.", lambda paper: paper.digits)


def _hypothesis() -> Iterator[Feature]:
    def add(name: str, meaning: str, column: Callable[[PaperColumns], Floats]) -> Feature:
        return Feature(name=name, group="hypothesis", meaning=meaning, column=column, reads_hypothesis=True)

    yield add("bm25", "BM25 for the hypothesis.", lambda paper: paper.bm25)
    yield add("bm25_rank", "The share of sentences with a lower BM25.", lambda paper: rank_fraction(paper.bm25))
    yield add(
        "bm25_share", "BM25 as a share of the paper's highest.", lambda paper: paper.bm25 / max(1e-9, paper.bm25.max())
    )
    yield add(
        "terms_held",
        "The share of the hypothesis's words that it holds.",
        lambda paper: paper.terms_held,
    )
    yield add("tfidf", "TF-IDF cosine with the hypothesis.", lambda paper: paper.hypothesis_cosine)
    yield add(
        "tfidf_best_neighbour",
        "The higher of the TF-IDF cosines of its two neighbours with the hypothesis.",
        lambda paper: np.maximum(_shifted(paper.hypothesis_cosine, 1), _shifted(paper.hypothesis_cosine, -1)),
    )


def _neighbours() -> Iterator[Feature]:
    def add(name: str, meaning: str, column: Callable[[PaperColumns], Floats]) -> Feature:
        return Feature(name=name, group="neighbours", meaning=meaning, column=column)

    yield add("evidence_before", "`evidence` of the sentence before.", lambda paper: _shifted(paper.evidence, 1))
    yield add("evidence_after", "`evidence` of the sentence after.", lambda paper: _shifted(paper.evidence, -1))
    yield add(
        "evidence_around",
        "Mean `evidence` of it and the five sentences on either side, 0 beyond the paper's ends.",
        lambda paper: np.convolve(np.pad(paper.evidence, 5), np.ones(11) / 11, mode="valid"),
    )
    yield add(
        "length_before",
        "ln(1 + characters) of the sentence before.",
        lambda paper: _shifted(np.log1p(paper.n_characters), 1),
    )
    yield add(
        "length_after",
        "ln(1 + characters) of the sentence after.",
        lambda paper: _shifted(np.log1p(paper.n_characters), -1),
    )


def _centrality() -> Iterator[Feature]:
    def add(name: str, meaning: str, column: Callable[[PaperColumns], Floats]) -> Feature:
        return Feature(name=name, group="centrality", meaning=meaning, column=column)

    yield add(
        "centrality",
        "Mean TF-IDF cosine with the paper's other sentences.",
        lambda paper: paper.cosines.total / max(1, paper.n - 1),
    )
    yield add(
        "centrality_rank",
        "The share of less central sentences.",
        lambda paper: rank_fraction(paper.cosines.total),
    )
    yield add(
        "to_abstract",
        "Mean TF-IDF cosine with the abstract's other sentences.",
        lambda paper: paper.cosines.abstract_total / np.maximum(1, paper.is_abstract.sum() - paper.is_abstract),
    )
    yield add(
        "to_nearest_abstract",
        "Highest TF-IDF cosine with another sentence of the abstract.",
        lambda paper: paper.cosines.abstract_highest,
    )
    yield add(
        "to_nearest_results",
        "Highest TF-IDF cosine with another sentence of the results.",
        lambda paper: paper.cosines.results_highest,
    )
    yield add(
        "to_nearest_discussion",
        "Highest TF-IDF cosine with another sentence of the discussion or the conclusion.",
        lambda paper: paper.cosines.discussion_highest,
    )
    yield add(
        "to_conclusion",
        "TF-IDF cosine with the abstract's last sentence.",
        lambda paper: (
            paper.similarity.row(int(paper.is_abstract.nonzero()[0][-1]))
            if paper.is_abstract.any()
            else np.zeros(paper.n)
        ),
    )
    yield add(
        "to_first",
        "TF-IDF cosine with the paper's first sentence, often its title.",
        lambda paper: paper.similarity.row(0),
    )


def _redundancy() -> Iterator[Feature]:
    def add(name: str, meaning: str, column: Callable[[PaperColumns], Floats]) -> Feature:
        return Feature(name=name, group="redundancy", meaning=meaning, column=column)

    yield add("to_nearest", "Highest TF-IDF cosine with any other sentence.", lambda paper: paper.cosines.highest)
    yield add(
        "to_nearest_before",
        "Highest TF-IDF cosine with an earlier sentence: what it repeats.",
        lambda paper: paper.cosines.highest_before,
    )
    yield add(
        "n_alike",
        f"ln(1 + sentences with a TF-IDF cosine over {ALIKE}).",
        lambda paper: np.log1p(paper.cosines.n_alike),
    )


def _embedding() -> Iterator[Feature]:
    yield Feature(
        name="vector_to_hypothesis",
        group="embedding",
        meaning="Cosine of its vector with the hypothesis's.",
        column=lambda paper: paper.vectors @ paper.hypothesis_vector,
        reads_hypothesis=True,
    )
    yield Feature(
        name="vector_to_paper",
        group="embedding",
        meaning="Mean cosine of its vector with those of the paper's sentences.",
        column=lambda paper: paper.vectors @ paper.vectors.mean(axis=0),
    )
    yield Feature(
        name="vector_to_abstract",
        group="embedding",
        meaning="Mean cosine of its vector with those of the abstract's sentences; 0 without an abstract.",
        column=lambda paper: (
            paper.vectors @ paper.vectors[paper.is_abstract].sum(axis=0) / max(1, paper.is_abstract.sum())
        ),
    )


def _fraction(place: Floats, n: int) -> Floats:
    return place / max(1, n - 1)


def _shifted(values: Floats, by: int) -> Floats:
    """Return each sentence's neighbour's value; 0 where there is no neighbour."""
    moved = np.zeros_like(values)
    if by > 0:
        moved[by:] = values[:-by]
    else:
        moved[:by] = values[-by:]
    return moved


def rank_fraction(values: Floats) -> Floats:
    """Return the share of values that are smaller, 0 for the smallest; equal values share theirs.

    Examples
    --------
    >>> rank_fraction(np.array([3.0, 1.0, 1.0])).round(2).tolist()
    [0.67, 0.0, 0.0]
    """
    return np.searchsorted(np.sort(values), values) / max(1, len(values))


FEATURES: tuple[Feature, ...] = (
    *_place(),
    *_sections(),
    *_cues(),
    *_length(),
    *_hypothesis(),
    *_neighbours(),
    *_centrality(),
    *_redundancy(),
    *_embedding(),
)
"""Every feature, in the order of the table's columns."""


def chosen_features(*, hypothesis: bool = True, embedding: bool = False) -> tuple[Feature, ...]:
    """Return the features of a model that may or may not read the hypothesis, and has or lacks vectors."""
    return tuple(
        feature
        for feature in FEATURES
        if (hypothesis or not feature.reads_hypothesis) and (embedding or feature.group != "embedding")
    )


def feature_table(paper: PaperColumns, features: tuple[Feature, ...]) -> Floats:
    """Return one row a sentence and one column a feature; an empty paper has no rows."""
    if paper.n == 0:
        return np.zeros((0, len(features)))
    return np.column_stack([feature.column(paper) for feature in features])
