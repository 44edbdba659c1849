"""Headings and abstract labels of real papers say what a section is about; odd ones say nothing; none takes long."""

import time

import pytest
from hypothesis import given

from evidencebench.data.dataset import Dataset
from evidencebench.query import Kind, Query
from evidencebench.systems.lexicon import Role, label_role, roles_of, runs_of, title_role
from examples import SHORTER
from strategies import queries


@pytest.mark.parametrize(
    ("title", "section"),
    [
        ("Introduction", Role.BACKGROUND),
        ("1 Introduction", Role.BACKGROUND),
        ("I. INTRODUCTION", Role.BACKGROUND),
        ("Background and rationale", Role.BACKGROUND),
        ("Aims of the study", Role.OBJECTIVE),
        ("Materials and Methods", Role.METHODS),
        ("MATERIAL AND METHODS", Role.METHODS),
        ("2. Patients and methods", Role.METHODS),
        ("II. Experimental section", Role.METHODS),
        ("Statistical analysis", Role.METHODS),
        ("Study design and setting", Role.METHODS),
        ("Results", Role.RESULTS),
        ("3. Results and discussion", Role.RESULTS),
        ("Main findings", Role.RESULTS),
        ("Discussion", Role.DISCUSSION),
        ("4. General discussion", Role.DISCUSSION),
        ("Discussion and conclusions", Role.DISCUSSION),
        ("Concluding remarks", Role.CONCLUSION),
        ("Acknowledgments", Role.BACK_MATTER),
        ("Acknowledgements", Role.BACK_MATTER),
        ("Conflict of interest", Role.BACK_MATTER),
        ("Competing Interests", Role.BACK_MATTER),
        ("Supplementary Material", Role.BACK_MATTER),
        ("References", Role.BACK_MATTER),
        ("Key words", Role.BACK_MATTER),
        ("", Role.UNKNOWN),
        ("...", Role.UNKNOWN),
        ("Tea and blood pressure", Role.UNKNOWN),
        ("Claims and maxims", Role.UNKNOWN),
        ("A title so long that it must be a sentence about methods", Role.UNKNOWN),
    ],
)
def test_a_heading_says_what_its_section_is_about(title: str, section: Role) -> None:
    assert title_role(title) is section


@pytest.mark.parametrize(
    ("sentence", "section"),
    [
        ("BACKGROUND: Tea is drunk.", Role.BACKGROUND),
        ("Background Tea is drunk.", Role.BACKGROUND),
        ("BACKGROUND/AIMS: To see whether.", Role.OBJECTIVE),
        ("Background & Aims: To see whether.", Role.OBJECTIVE),
        ("Objectives - To see whether.", Role.OBJECTIVE),
        ("Purpose.", Role.OBJECTIVE),
        ("Design, Setting, and Participants: A cohort.", Role.METHODS),
        ("MATERIALS AND METHODS: Rats were fed.", Role.METHODS),
        ("Methods and findings: Rats were fed.", Role.RESULTS),
        ("Methods/Results: Rats were fed.", Role.RESULTS),
        ("Results", Role.RESULTS),
        ("RESULTS 12 of 20 rats died.", Role.RESULTS),
        ("[Results]: 12 of 20 rats died.", Role.RESULTS),
        ("Conclusions\u2014Tea helps.", Role.CONCLUSION),
        ("Conclusions.\u2014Tea helps.", Role.CONCLUSION),
        ("Conclusion:Tea helps.", Role.CONCLUSION),
        ("Background In Canada tea is drunk.", Role.BACKGROUND),
        ("Results-based payment helps.", Role.UNKNOWN),
        ("Conclusions \u2014 Tea helps.", Role.CONCLUSION),
        ("Interpretation. Tea helps.", Role.CONCLUSION),
        ("Keywords: tea, rats.", Role.BACK_MATTER),
        ("Results were mixed.", Role.UNKNOWN),
        ("Methods that count are few.", Role.UNKNOWN),
        ("Tea lowers pressure.", Role.UNKNOWN),
        ("Tea: results", Role.UNKNOWN),
        ("", Role.UNKNOWN),
        ("12", Role.UNKNOWN),
    ],
)
def test_a_label_says_what_its_part_of_the_abstract_is_about(sentence: str, section: Role) -> None:
    assert label_role(sentence) is section


def test_a_section_lasts_over_sub_headings_and_a_part_over_sentences() -> None:
    lines = [
        (Kind.ABSTRACT, "Tea is drunk.", Role.UNKNOWN),
        (Kind.ABSTRACT, "Results: It helps.", Role.RESULTS),
        (Kind.ABSTRACT, "A lot.", Role.RESULTS),
        (Kind.BODY, "Received in May.", Role.UNKNOWN),
        (Kind.HEADING, "Methods", Role.METHODS),
        (Kind.HEADING, "Tea", Role.METHODS),
        (Kind.BODY, "Conclusions: none.", Role.METHODS),
        (Kind.ABSTRACT, "Late.", Role.RESULTS),
        (Kind.HEADING, "Discussion", Role.DISCUSSION),
    ]
    kinds, sentences, expected = zip(*lines, strict=True)
    query = Query(instance_id="i", paper_id="p", hypothesis="h", sentences=sentences, kinds=kinds)
    assert tuple(roles_of(query)) == expected


def test_runs_begin_at_headings() -> None:
    kinds = [Kind.BODY, Kind.ABSTRACT, Kind.HEADING, Kind.BODY, Kind.HEADING]
    assert runs_of(kinds) == [(0, 2), (1, 2), (0, 2), (1, 2), (0, 1)]
    assert runs_of([]) == []


@given(queries())
def test_every_sentence_has_a_section_and_a_place_in_its_run(query: Query) -> None:
    assert len(roles_of(query)) == len(query.sentences)
    places = runs_of(query.kinds)
    assert len(places) == len(query.sentences)
    assert all(0 <= place < length for place, length in places)


@pytest.mark.parametrize(
    "text",
    [
        "a" * (1_000_000 // SHORTER),
        "a" + " " * (1_000_000 // SHORTER) + "b",
        "a" + "-" * (1_000_000 // SHORTER) + "b",
        "-" * (1_000_000 // SHORTER) + "!",
        "a-" * (500_000 // SHORTER),
        "i" * (1_000_000 // SHORTER),
        "statistic" * (100_000 // SHORTER),
        "1. " * (300_000 // SHORTER),
    ],
    ids=lambda text: text[:9],
)
def test_a_long_text_of_one_thing_takes_a_second_at_most(text: str) -> None:
    started = time.process_time()
    label_role(text)
    title_role(text)
    assert time.process_time() - started < (2 if SHORTER == 1 else 0.5)


@pytest.mark.data
def test_real_papers_have_their_sections_found(train: Dataset) -> None:
    found = [set(roles_of(query)) for query in train.queries()]
    shares = {
        section: sum(section in sections for sections in found) / len(found)
        for section in (Role.METHODS, Role.RESULTS, Role.DISCUSSION)
    }
    assert all(share > 0.8 for share in shares.values()), shares


@pytest.mark.data
def test_real_abstracts_have_their_labels_found(train: Dataset) -> None:
    labelled = 0
    for query in train.queries():
        abstract = [query.sentences[index] for index in query.indices_of(Kind.ABSTRACT)]
        parts = [part for part in map(label_role, abstract) if part]
        labelled += len(set(parts)) >= 3
        order = [part for part in parts if part is not Role.BACK_MATTER]
        if {Role.BACKGROUND, Role.CONCLUSION} <= set(order):
            assert order.index(Role.BACKGROUND) < order.index(Role.CONCLUSION)
    assert labelled > 0.2 * len(train)
