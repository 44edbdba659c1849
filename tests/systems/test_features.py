"""Every feature is what its sentence says, on pages worked by hand; laws hold on random ones."""

from collections.abc import Sequence
from dataclasses import replace
from math import hypot, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from doors import FEATURES, Feature, PaperColumns, Role, feature_table, finder_table
from evidencebench import Kind, Query
from kit.cue_examples import EXAMPLES
from kit.examples import IS_THOROUGH, SHORTER
from kit.strategies import WORDS, queries
from make_feature_table import REFERENCE, reference

HEADING, ABSTRACT, BODY = Kind.HEADING, Kind.ABSTRACT, Kind.BODY
NAMES = [feature.name for feature in FEATURES]


def query_of(*lines: tuple[Kind, str], hypothesis: str = "Tea reduces strokes.") -> Query:
    kinds, sentences = zip(*lines, strict=True)
    return Query(instance_id="i", paper_id="p", hypothesis=hypothesis, sentences=sentences, kinds=kinds)


def logs(*values: float) -> list[float]:
    return [log(1 + value) for value in values]


TEA = query_of(
    (HEADING, "Tea study"),
    (ABSTRACT, "Background: strokes kill."),
    (ABSTRACT, "Results: tea reduced strokes."),
    (HEADING, "Methods"),
    (BODY, "Rats drank tea."),
    (HEADING, "Results"),
    (BODY, "Tea reduced strokes by 20%."),
    (BODY, "Milk did not."),
)
L = log(2)

# BM25: tea stands in 4 of the 8 sentences, strokes in 3; 2.5 words a sentence on average.
T, S = log(1 + 4.5 / 4.5), log(1 + 5.5 / 3.5)
BM25 = [T / 1.828, S / 1.972, (T + S) / 2.116, 0, T / 1.972, 0, (T + S) / 2.116, 0]

# TF-IDF: the weight of a word that stands in so many of the 8 sentences; tea 4, strokes 3, results and reduced 2.
W1, W2, W3, W4 = (log(9 / (1 + n)) + 1 for n in (1, 2, 3, 4))
N0, N1, N2, N4, N6 = hypot(W4, W1), hypot(W1, W3, W1), hypot(W2, W4, W2, W3), hypot(W1, W1, W4), hypot(W4, W2, W3, W1)
H = hypot(W4, W3)
TFIDF = [W4 * W4 / (N0 * H), W3 * W3 / (N1 * H), H / N2, 0, W4 * W4 / (N4 * H), 0, H / N6, 0]
C02, C04, C06 = W4 * W4 / (N0 * N2), W4 * W4 / (N0 * N4), W4 * W4 / (N0 * N6)
C12, C16 = W3 * W3 / (N1 * N2), W3 * W3 / (N1 * N6)
C24, C25, C26 = W4 * W4 / (N2 * N4), W2 / N2, (W4 * W4 + W2 * W2 + W3 * W3) / (N2 * N6)
C46 = W4 * W4 / (N4 * N6)
CENTRALITY = [
    C02 + C04 + C06,
    C12 + C16,
    C02 + C12 + C24 + C25 + C26,
    0,
    C04 + C24 + C46,
    C25,
    C06 + C16 + C26 + C46,
    0,
]

LONG = query_of((BODY, "Tea reduced strokes" + " in Wales" * 9), (BODY, "It was reduced."))

# The three sentences of the discussion and the conclusion: tea stands in 3 of 6, milk in 2.
DISCUSSED = query_of(
    *((ABSTRACT, "tea"), (HEADING, "Discussion"), (BODY, "tea milk")),
    *((HEADING, "Conclusions"), (BODY, "milk"), (BODY, "tea")),
)
TM = hypot(log(7 / 4) + 1, log(7 / 3) + 1)
D_TEA, D_MILK = (log(7 / 4) + 1) / TM, (log(7 / 3) + 1) / TM

# One sentence of each part of the abstract, then one heading of each section; no other class comes between.
PARTS = query_of(
    (ABSTRACT, "Tea is drunk."),
    *(
        (ABSTRACT, f"{label}: tea.")
        for label in ("Background", "Aims", "Methods", "Results", "Discussion", "Conclusion")
    ),
    *((HEADING, title) for title in ("Tea", "Introduction", "Aims", "Methods", "Results", "Discussion", "Conclusions")),
    (HEADING, "Funding"),
)


def one_of(place: int) -> list[float]:
    return [float(index == place) for index in range(len(PARTS.sentences))]


CASES: dict[str, tuple[Query, Sequence[float]]] = {
    "is_heading": (TEA, [1, 0, 0, 1, 0, 1, 0, 0]),
    "is_abstract": (TEA, [0, 1, 1, 0, 0, 0, 0, 0]),
    "position": (TEA, [0, 1 / 7, 2 / 7, 3 / 7, 4 / 7, 5 / 7, 6 / 7, 1]),
    "from_start": (TEA, logs(0, 1, 2, 3, 4, 5, 6, 7)),
    "from_end": (TEA, logs(7, 6, 5, 4, 3, 2, 1, 0)),
    "paper_length": (TEA, [log(8)] * 8),
    "abstract_length": (TEA, [log(3)] * 8),
    "abstract_position": (TEA, [-1, 0, 1, -1, -1, -1, -1, -1]),
    "abstract_from_start": (TEA, [-1, 0, 1, -1, -1, -1, -1, -1]),
    "abstract_from_end": (TEA, [-1, 1, 0, -1, -1, -1, -1, -1]),
    "is_last_of_abstract": (TEA, [0, 0, 1, 0, 0, 0, 0, 0]),
    "after_heading": (TEA, logs(0, 1, 2, 0, 1, 0, 1, 2)),
    "run_position": (TEA, [0, 0.5, 1, 0, 1, 0, 0.5, 1]),
    "run_length": (TEA, [log(3)] * 3 + [log(2)] * 2 + [log(3)] * 3),
    "section_position": (TEA, [0, 0, 0, 0, 1, 0, 0.5, 1]),
    "has_labels": (TEA, [1] * 8),
    **{f"section_{section.name.lower()}": (PARTS, one_of(7 + section)) for section in Role},
    **{f"abstract_{section.name.lower()}": (PARTS, one_of(section)) for section in list(Role)[:7]},
    **{f"cue_{name}": (query_of((BODY, has), (BODY, lacks)), logs(n, 0)) for name, (has, n, lacks) in EXAMPLES.items()},
    "evidence": (TEA, [0, 0, 2 * L, 0, 0, L, 2 * L, L]),
    "evidence_rank": (TEA, [0, 0, 6 / 8, 0, 0, 4 / 8, 6 / 8, 4 / 8]),
    "evidence_density": (LONG, [100 * L / 100, 100 * L / 40]),
    "characters": (TEA, logs(9, 25, 29, 7, 15, 7, 27, 13)),
    "length_rank": (TEA, [2 / 8, 5 / 8, 7 / 8, 0, 4 / 8, 0, 6 / 8, 3 / 8]),
    "capitals": (TEA, [1 / 8, 1 / 21, 1 / 24, 1 / 7, 1 / 12, 1 / 7, 1 / 19, 1 / 10]),
    "digits": (TEA, [0, 0, 0, 0, 0, 0, 2 / 27, 0]),
    "bm25": (TEA, BM25),
    "bm25_rank": (TEA, [4 / 8, 5 / 8, 6 / 8, 0, 3 / 8, 0, 6 / 8, 0]),
    "bm25_share": (TEA, [score / BM25[2] for score in BM25]),
    "terms_held": (TEA, [1 / 3, 1 / 3, 2 / 3, 0, 1 / 3, 0, 2 / 3, 0]),
    "tfidf": (TEA, TFIDF),
    "tfidf_best_neighbour": (TEA, [TFIDF[1], TFIDF[2], TFIDF[1], TFIDF[2], 0, TFIDF[6], 0, TFIDF[6]]),
    "evidence_before": (TEA, [0, 0, 0, 2 * L, 0, 0, L, 2 * L]),
    "evidence_after": (TEA, [0, 2 * L, 0, 0, L, 2 * L, L, 0]),
    "evidence_around": (TEA, [n * L / 11 for n in (3, 5, 6, 6, 6, 6, 6, 6)]),
    "length_before": (TEA, [0, *logs(9, 25, 29, 7, 15, 7, 27)]),
    "length_after": (TEA, [*logs(25, 29, 7, 15, 7, 27, 13), 0]),
    "centrality": (TEA, [total / 7 for total in CENTRALITY]),
    "centrality_rank": (TEA, [5 / 8, 2 / 8, 7 / 8, 0, 4 / 8, 3 / 8, 6 / 8, 0]),
    "to_abstract": (TEA, [C02 / 2, C12, C12, 0, C24 / 2, C25 / 2, (C16 + C26) / 2, 0]),
    "to_nearest_abstract": (TEA, [C02, C12, C12, 0, C24, C25, C26, 0]),
    "to_nearest_results": (TEA, [C06, C16, C26, 0, C46, 0, 0, 0]),
    "to_nearest_discussion": (DISCUSSED, [1, 0, D_MILK, 0, D_MILK, D_TEA]),
    "to_conclusion": (TEA, [C02, C12, 0, 0, C24, C25, C26, 0]),
    "to_first": (TEA, [0, 0, C02, 0, C04, 0, C06, 0]),
    "to_nearest": (TEA, [max(C02, C04, C06), max(C12, C16), C26, 0, max(C04, C24, C46), C25, C26, 0]),
    "to_nearest_before": (TEA, [0, 0, max(C02, C12), 0, max(C04, C24), C25, C26, 0]),
    "n_alike": (TEA, logs(0, 0, 2, 0, 0, 1, 1, 0)),
}


def table_of(query: Query) -> NDArray[np.float64]:
    return feature_table(PaperColumns(query), FEATURES)


def test_every_feature_has_a_case() -> None:
    assert sorted(CASES) == sorted(NAMES)


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_a_feature_is_what_was_worked_out_by_hand(feature: Feature) -> None:
    query, expected = CASES[feature.name]
    assert feature.column(PaperColumns(query)) == pytest.approx(expected, abs=1e-7)


# Laws


@given(queries(), st.lists(st.sampled_from([*WORDS, "strokes"]), max_size=6).map(" ".join))
def test_another_hypothesis_changes_only_features_that_say_so(query: Query, hypothesis: str) -> None:
    silent = [number for number, feature in enumerate(FEATURES) if not feature.reads_hypothesis]
    other = table_of(replace(query, hypothesis=hypothesis))
    assert np.array_equal(table_of(query)[:, silent], other[:, silent])


def test_every_feature_that_says_it_reads_the_hypothesis_does() -> None:
    reading = [number for number, feature in enumerate(FEATURES) if feature.reads_hypothesis]
    changed = table_of(TEA) != table_of(replace(TEA, hypothesis="Milk in Rats"))
    assert changed[:, reading].any(axis=0).all()


REPEATED = [
    *(
        "a-",
        "((((",
        "1. ",
        "1.",
        "1,",
        "[ ",
        "1 - ",
        "9 %",
        "(AB) ",
        "tea ",
        "not yet ",
        "statistic",
        "increas",
        "lettered",
    ),
    *("increases of ", ", changes "),
]
FILLED = [
    *(("p", " ", "1"), ("p value", " ", "1"), ("p-value", "s", "1"), ("", "(", "1"), ("", "9", ""), ("", "?", "1")),
    *(("a", " ", "b"), ("a", "-", "b"), ("", "-", "!"), ("", "a", ""), ("", "i", ""), ("", "\n", "")),
]
LESS = 2 if IS_THOROUGH else 4 * SHORTER
LONGEST = [start + one * (1_000_000 // LESS) + end for start, one, end in FILLED]


@pytest.mark.parametrize("text", [*(one * (200_000 // LESS) for one in REPEATED), *LONGEST], ids=lambda one: one[:9])
def test_a_very_long_sentence_is_read_to_its_end(text: str) -> None:
    """In quadratic time, the ones of the thorough profile would take hours."""
    for hypothesis in ("Tea reduces strokes.", text):
        query = query_of(*((kind, text) for kind in Kind), (BODY, "Tea reduces strokes."), hypothesis=hypothesis)
        assert np.isfinite(finder_table(PaperColumns(query))).all()


# Which features there are


def test_the_document_lists_every_feature() -> None:
    assert REFERENCE.read_text(encoding="utf-8") == reference(), "run 'make generated'"
