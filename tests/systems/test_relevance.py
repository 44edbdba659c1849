"""What the finder knows of the hypothesis's parts: worked by hand on a page, and laws on random ones."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from doors import (
    FINDER_FEATURES,
    RELEVANCE_FEATURES,
    PaperColumns,
    abbreviations,
    columns_of,
    feature_table,
    finder_table,
    parts_in_paper,
    topic_roots,
)
from evidencebench import Kind, Query
from kit.strategies import WORDS, queries

PAGE = (
    (Kind.HEADING, "Blood pressure"),
    (Kind.BODY, "Tea lowered systolic blood pressure (SBP) more than water did."),
    (Kind.BODY, "SBP fell by 3 mmHg."),
    (Kind.HEADING, "Weight"),
    (Kind.BODY, "Weights were alike with teas."),
    (Kind.BODY, "Pressures of time did not matter."),
)


def page(hypothesis: str) -> Query:
    kinds, sentences = zip(*PAGE, strict=True)
    return Query(instance_id="q", paper_id="p", hypothesis=hypothesis, sentences=sentences, kinds=kinds)


ASKED = page("Tea, compared with water, changes systolic blood pressure.")
# Systolic stands in 1 sentence and, as SBP, in another; blood in the heading too; pressure in these and the last.
IDF = {"systolic": np.log(1 + 4.5 / 2.5), "blood": np.log(1 + 3.5 / 3.5), "pressure": np.log(1 + 2.5 / 4.5)}
ALL = sum(IDF.values())
ON_HEADING = (IDF["blood"] + IDF["pressure"]) / ALL
ON_LAST = IDF["pressure"] / ALL


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("outcome_held", [ON_HEADING, 1, 1, 0, 0, ON_LAST]),
        ("outcome_held_relative", [ON_HEADING, 1, 1, 0, 0, ON_LAST]),
        ("outcome_rarest", [0, 1, 1, 0, 0, 0]),
        ("outcome_phrase", [0.5, 1, 0, 0, 0, 0]),
        ("outcome_heading", [ON_HEADING, ON_HEADING, ON_HEADING, 0, 0, 0]),
        ("outcome_before", [0, ON_HEADING, 1, 1, 1, 1]),
        ("intervention_held", [0, 1, 0, 0, 1, 0]),
        ("comparator_held", [0, 1, 0, 0, 0, 0]),
        ("arms", [0, 1, 0, 0, 0, 0]),
    ],
)
def test_a_feature_is_what_was_worked_out_by_hand(name: str, expected: list[float]) -> None:
    feature = next(one for one in RELEVANCE_FEATURES if one.name == name)
    assert feature.column(PaperColumns(ASKED)).tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        ("Green tea blood pressure", ("Green tea", "", "blood pressure")),
        ("green tea water blood pressure", ("green tea", "water", "blood pressure")),
        ("green tea quality of life", ("green tea", "", "quality of life")),
        ("blood pressure", ("blood pressure", "", "blood pressure")),
        ("increases", ("increases", "", "increases")),
        ("", ("", "", "")),
    ],
)
def test_keywords_are_cut_where_a_paper_seldom_has_them_side_by_side(
    keywords: str, expected: tuple[str, str, str]
) -> None:
    paper = ("Green tea or water was drunk.", "Blood pressure and green tea.", "Quality of life and blood pressure.")
    assert parts_in_paper(keywords, paper) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Multiple sclerosis (MS), heart rates (HRs).", {"ms": ("multiple", "sclerosis"), "hrs": ("heart", "rates")}),
        ("The quality of life (QoL) was rated.", {"qol": ("quality", "of", "life")}),
        ("Tumour necrosis factor (TNF-a) rose.", {"tnfa": ("tumour", "necrosis", "factor")}),
        ("Tea (see below) and gout (p = 0.3).", {}),
        ("Interleukins (IL) rose.", {"il": ("interleukins",)}),
    ],
)
def test_abbreviations_are_told_from_other_brackets(sentence: str, expected: dict[str, tuple[str, ...]]) -> None:
    assert abbreviations([sentence]) == expected


def test_words_of_effects_are_no_topic() -> None:
    assert topic_roots("Tea increases the risks of strokes compared with water") == ("tea", "risk", "stroke", "water")


def one_sentence(sentence: str, kind: Kind) -> Query:
    return Query(instance_id="q", paper_id="p", hypothesis="Tea.", sentences=(sentence,), kinds=(kind,))


@given(queries() | st.builds(one_sentence, st.text(), st.sampled_from(Kind)))
@example(one_sentence("\x00\ud800", Kind.ABSTRACT))
@example(one_sentence("½ ² ٣ İİ 日本茶は血圧を下げる", Kind.HEADING))
def test_every_number_is_finite_and_what_is_kept_for_a_paper_changes_none(query: Query) -> None:
    paper = columns_of(query)
    table = finder_table(paper)
    assert table.shape == (len(query.sentences), len(FINDER_FEATURES))
    assert np.isfinite(table).all()
    assert table.tolist() == feature_table(PaperColumns(query), FINDER_FEATURES).astype(np.float32).tolist()


@given(query=queries(min_sentences=1), hypothesis=st.lists(st.sampled_from(WORDS), min_size=1).map(" ".join))
def test_another_hypothesis_is_heard_after_the_first(query: Query, hypothesis: str) -> None:
    finder_table(columns_of(query))
    other = Query(instance_id="o", paper_id="o", hypothesis=hypothesis, sentences=query.sentences, kinds=query.kinds)
    expected = feature_table(PaperColumns(other), FINDER_FEATURES).astype(np.float32)
    assert finder_table(columns_of(other)).tolist() == expected.tolist()


def test_every_listening_feature_hears_the_hypothesis() -> None:
    def table_for(hypothesis: str) -> NDArray[np.float64]:
        asked = page(hypothesis)
        longer = replace(asked, sentences=asked.sentences + ("Nothing.",) * 90, kinds=asked.kinds + (Kind.BODY,) * 90)
        return feature_table(PaperColumns(longer), RELEVANCE_FEATURES)

    asked = ("Weight, compared with time, changes mmHg.", "Time, compared with weight, changes tea.")
    first, *others = map(table_for, (ASKED.hypothesis, *asked))
    changed = np.any([(first != other).any(axis=0) for other in others], axis=0)
    # Without a p-value or an abstract on the page, these are 0 whatever is asked.
    silent = {"match_abstract_rank", *(one.name for one in RELEVANCE_FEATURES if one.name.endswith("_p_value"))}
    for feature, is_changed in zip(RELEVANCE_FEATURES, changed, strict=True):
        assert is_changed == (feature.reads_hypothesis and feature.name not in silent), feature.name
