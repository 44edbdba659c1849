"""The untrained rule explains its weights, does what they say, and finds more than BM25 on real papers."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import DEFAULT_TASKS, FEATURES, WEIGHTS, AspectScope, SystemSpecError
from evidencebench import TASKS, Dataset, Kind, Query, RankingTask, answers_from, evaluate, make_system
from kit.examples import thorough_only
from kit.strategies import queries


def order(query: Query, spec: str = "cues", scope: AspectScope = "all") -> tuple[int, ...]:
    return make_system(spec).rank(query, RankingTask(budget=None, scope=scope)).sentences


def test_every_weight_is_of_a_feature() -> None:
    assert WEIGHTS.keys() <= {feature.name for feature in FEATURES}


def test_what_is_found_stands_before_what_was_known_and_headings_last() -> None:
    lines = [
        (Kind.HEADING, "Tea and strokes in women: a study"),
        (Kind.ABSTRACT, "Background: Strokes have been known since earlier studies to kill."),
        (Kind.ABSTRACT, "Results: Tea increased survival in 20 women significantly (p < 0.05; 95% CI 1.2-7.1)."),
        (Kind.HEADING, "Methods"),
        (Kind.BODY, "The water was purchased from a shop and was kept at room temperature until used."),
        (Kind.HEADING, "Acknowledgements"),
        (Kind.BODY, "We thank the women, and the committee that approved and funded our study with a grant."),
    ]
    kinds, sentences = zip(*lines, strict=True)
    query = Query(instance_id="i", paper_id="p", hypothesis="Tea helps.", sentences=sentences, kinds=kinds)
    found = order(query)
    assert found[0] == 2
    assert {3, 5} <= set(found[-3:])
    assert found.index(4) < found.index(6)


def test_methods_count_where_all_evidence_is_wanted_and_not_among_results() -> None:
    sentences = ("Methods: A cohort of 40 rats was recruited.", "It increased significantly (p < 0.05).")
    query = Query(instance_id="i", paper_id="p", hypothesis="", sentences=sentences, kinds=(Kind.ABSTRACT, Kind.BODY))
    assert order(query) == (0, 1)
    assert order(query, scope="results") == (1, 0)


@given(queries(), st.text(max_size=12))
def test_without_the_hypothesis_no_hypothesis_changes_anything(query: Query, other: str) -> None:
    blind = "cues:hypothesis=false"
    asked_otherwise = replace(query, hypothesis=other)
    assert order(query, blind) == order(asked_otherwise, blind)
    assert order(query, blind) == order(replace(query, hypothesis=""))


def test_strength_takes_what_is_repeated_from_the_front() -> None:
    sentences = ("Tea increased it in 20 women.",) * 2 + ("It was grey.",)
    query = Query(instance_id="i", paper_id="p", hypothesis="", sentences=sentences, kinds=(Kind.BODY,) * 3)
    assert order(query, "cues:strength=0") == (0, 1, 2)
    assert order(query, "cues:strength=1") == (0, 2, 1)


@pytest.mark.parametrize("strength", [-0.1, 1.1, float("nan")])
def test_a_strength_that_is_no_share_is_refused(strength: float) -> None:
    with pytest.raises(SystemSpecError, match=r"strength.*(0\.\.1|finite)"):
        make_system(f"cues:strength={strength}")


@thorough_only
@pytest.mark.data
def test_it_finds_more_than_bm25_abstract_first_on_every_task_as_documented(train: Dataset) -> None:
    systems = {spec: answers_from(make_system(spec)) for spec in ("bm25_abstract_first", "cues")}
    scores = evaluate(systems, train, [TASKS[name] for name in DEFAULT_TASKS])
    recalls = {spec: [f"{100 * found.mean_recall:.1f}" for found in scores[spec].values()] for spec in systems}
    assert recalls["bm25_abstract_first"] == ["32.0", "61.7", "17.9", "44.5"]
    assert recalls["cues"] == ["43.5", "66.7", "41.7", "62.5"]
