"""Headings and abstract labels of real papers say what a section is about; odd ones say nothing; none takes long."""

import time

import pytest
from hypothesis import given

from evidencebench.data.dataset import Dataset
from evidencebench.query import Kind, Query
from evidencebench.systems.selectors.structure import Section, label_section, runs_of, sections_of, title_section
from strategies import queries


@pytest.mark.parametrize(
    ("title", "section"),
    [
        ("Introduction", Section.BACKGROUND),
        ("1 Introduction", Section.BACKGROUND),
        ("I. INTRODUCTION", Section.BACKGROUND),
        ("Background and rationale", Section.BACKGROUND),
        ("Aims of the study", Section.OBJECTIVE),
        ("Materials and Methods", Section.METHODS),
        ("MATERIAL AND METHODS", Section.METHODS),
        ("2. Patients and methods", Section.METHODS),
        ("II. Experimental section", Section.METHODS),
        ("Statistical analysis", Section.METHODS),
        ("Study design and setting", Section.METHODS),
        ("Results", Section.RESULTS),
        ("3. Results and discussion", Section.RESULTS),
        ("Main findings", Section.RESULTS),
        ("Discussion", Section.DISCUSSION),
        ("4. General discussion", Section.DISCUSSION),
        ("Discussion and conclusions", Section.DISCUSSION),
        ("Concluding remarks", Section.CONCLUSION),
        ("Acknowledgments", Section.BACK_MATTER),
        ("Acknowledgements", Section.BACK_MATTER),
        ("Conflict of interest", Section.BACK_MATTER),
        ("Competing Interests", Section.BACK_MATTER),
        ("Supplementary Material", Section.BACK_MATTER),
        ("References", Section.BACK_MATTER),
        ("Key words", Section.BACK_MATTER),
        ("", Section.UNKNOWN),
        ("...", Section.UNKNOWN),
        ("Tea and blood pressure", Section.UNKNOWN),
        ("Claims and maxims", Section.UNKNOWN),
        ("A title so long that it must be a sentence about methods", Section.UNKNOWN),
    ],
)
def test_a_heading_says_what_its_section_is_about(title: str, section: Section) -> None:
    assert title_section(title) is section


@pytest.mark.parametrize(
    ("sentence", "section"),
    [
        ("BACKGROUND: Tea is drunk.", Section.BACKGROUND),
        ("Background Tea is drunk.", Section.BACKGROUND),
        ("BACKGROUND/AIMS: To see whether.", Section.OBJECTIVE),
        ("Background & Aims: To see whether.", Section.OBJECTIVE),
        ("Objectives - To see whether.", Section.OBJECTIVE),
        ("Purpose.", Section.OBJECTIVE),
        ("Design, Setting, and Participants: A cohort.", Section.METHODS),
        ("MATERIALS AND METHODS: Rats were fed.", Section.METHODS),
        ("Methods and findings: Rats were fed.", Section.RESULTS),
        ("Methods/Results: Rats were fed.", Section.RESULTS),
        ("Results", Section.RESULTS),
        ("RESULTS 12 of 20 rats died.", Section.RESULTS),
        ("[Results]: 12 of 20 rats died.", Section.RESULTS),
        ("Conclusions\u2014Tea helps.", Section.CONCLUSION),
        ("Conclusions.\u2014Tea helps.", Section.CONCLUSION),
        ("Conclusion:Tea helps.", Section.CONCLUSION),
        ("Background In Canada tea is drunk.", Section.BACKGROUND),
        ("Results-based payment helps.", Section.UNKNOWN),
        ("Conclusions \u2014 Tea helps.", Section.CONCLUSION),
        ("Interpretation. Tea helps.", Section.CONCLUSION),
        ("Keywords: tea, rats.", Section.BACK_MATTER),
        ("Results were mixed.", Section.UNKNOWN),
        ("Methods that count are few.", Section.UNKNOWN),
        ("Tea lowers pressure.", Section.UNKNOWN),
        ("Tea: results", Section.UNKNOWN),
        ("", Section.UNKNOWN),
        ("12", Section.UNKNOWN),
    ],
)
def test_a_label_says_what_its_part_of_the_abstract_is_about(sentence: str, section: Section) -> None:
    assert label_section(sentence) is section


def test_a_section_lasts_over_sub_headings_and_a_part_over_sentences() -> None:
    lines = [
        (Kind.ABSTRACT, "Tea is drunk.", Section.UNKNOWN),
        (Kind.ABSTRACT, "Results: It helps.", Section.RESULTS),
        (Kind.ABSTRACT, "A lot.", Section.RESULTS),
        (Kind.BODY, "Received in May.", Section.UNKNOWN),
        (Kind.HEADING, "Methods", Section.METHODS),
        (Kind.HEADING, "Tea", Section.METHODS),
        (Kind.BODY, "Conclusions: none.", Section.METHODS),
        (Kind.ABSTRACT, "Late.", Section.RESULTS),
        (Kind.HEADING, "Discussion", Section.DISCUSSION),
    ]
    kinds, sentences, expected = zip(*lines, strict=True)
    query = Query(instance_id="i", paper_id="p", hypothesis="h", sentences=sentences, kinds=kinds)
    assert tuple(sections_of(query)) == expected


def test_runs_begin_at_headings() -> None:
    kinds = [Kind.BODY, Kind.ABSTRACT, Kind.HEADING, Kind.BODY, Kind.HEADING]
    assert runs_of(kinds) == [(0, 2), (1, 2), (0, 2), (1, 2), (0, 1)]
    assert runs_of([]) == []


@given(queries())
def test_every_sentence_has_a_section_and_a_place_in_its_run(query: Query) -> None:
    assert len(sections_of(query)) == len(query.sentences)
    places = runs_of(query.kinds)
    assert len(places) == len(query.sentences)
    assert all(0 <= place < length for place, length in places)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "a" + " " * 1_000_000 + "b",
        "a" + "-" * 1_000_000 + "b",
        "-" * 1_000_000 + "!",
        "a-" * 500_000,
        "i" * 1_000_000,
        "statistic" * 100_000,
        "1. " * 300_000,
    ],
    ids=lambda text: text[:9],
)
def test_a_megabyte_of_one_thing_takes_a_second_at_most(text: str) -> None:
    started = time.process_time()
    label_section(text)
    title_section(text)
    assert time.process_time() - started < 2


@pytest.mark.data
def test_real_papers_have_their_sections_found(train: Dataset) -> None:
    found = [set(sections_of(query)) for query in train.queries()]
    shares = {
        section: sum(section in sections for sections in found) / len(found)
        for section in (Section.METHODS, Section.RESULTS, Section.DISCUSSION)
    }
    assert all(share > 0.8 for share in shares.values()), shares


@pytest.mark.data
def test_real_abstracts_have_their_labels_found(train: Dataset) -> None:
    labelled = 0
    for query in train.queries():
        abstract = [query.sentences[index] for index in query.indices_of(Kind.ABSTRACT)]
        parts = [part for part in map(label_section, abstract) if part]
        labelled += len(set(parts)) >= 3
        order = [part for part in parts if part is not Section.BACK_MATTER]
        if {Section.BACKGROUND, Section.CONCLUSION} <= set(order):
            assert order.index(Section.BACKGROUND) < order.index(Section.CONCLUSION)
    assert labelled > 0.2 * len(train)
