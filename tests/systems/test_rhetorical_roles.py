"""Headings and abstract labels of real papers say what a section is about, and odd ones say nothing."""

import pytest

from doors import Role, label_role, roles_of, runs_of, title_role
from evidencebench import Dataset, Kind, Query

TITLES = {
    Role.BACKGROUND: ["Introduction", "1 Introduction", "I. INTRODUCTION", "Background and rationale"],
    Role.OBJECTIVE: ["Aims of the study"],
    Role.METHODS: [
        *("Materials and Methods", "MATERIAL AND METHODS", "2. Patients and methods", "II. Experimental section"),
        *("Statistical analysis", "Study design and setting"),
    ],
    Role.RESULTS: ["Results", "3. Results and discussion", "Main findings"],
    Role.DISCUSSION: ["Discussion", "4. General discussion", "Discussion and conclusions"],
    Role.CONCLUSION: ["Concluding remarks"],
    Role.BACK_MATTER: [
        *("Acknowledgments", "Acknowledgements", "Conflict of interest", "Competing Interests"),
        *("Supplementary Material", "References", "Key words"),
    ],
    Role.UNKNOWN: [
        *("", "...", "Tea and blood pressure", "Claims and maxims"),
        "A title so long that it must be a sentence about methods",
    ],
}
LABELLED = {
    Role.BACKGROUND: ["BACKGROUND: Tea is drunk.", "Background Tea is drunk.", "Background In Canada tea is drunk."],
    Role.OBJECTIVE: [
        *("BACKGROUND/AIMS: To see whether.", "Background & Aims: To see whether.", "Objectives - To see whether."),
        "Purpose.",
    ],
    Role.METHODS: ["Design, Setting, and Participants: A cohort.", "MATERIALS AND METHODS: Rats were fed."],
    Role.RESULTS: [
        *("Methods and findings: Rats were fed.", "Methods/Results: Rats were fed.", "Results"),
        *("RESULTS 12 of 20 rats died.", "[Results]: 12 of 20 rats died."),
    ],
    Role.CONCLUSION: [
        *("Conclusions\u2014Tea helps.", "Conclusions.\u2014Tea helps.", "Conclusion:Tea helps."),
        *("Conclusions \u2014 Tea helps.", "Interpretation. Tea helps."),
    ],
    Role.BACK_MATTER: ["Keywords: tea, rats."],
    Role.UNKNOWN: [
        *("Results-based payment helps.", "Results were mixed.", "Methods that count are few.", "Tea lowers pressure."),
        *("Tea: results", "", "12"),
    ],
}


@pytest.mark.parametrize("role", Role)
def test_a_heading_or_a_label_says_what_its_section_or_its_part_of_the_abstract_is_about(role: Role) -> None:
    assert {title: title_role(title) for title in TITLES[role]} == dict.fromkeys(TITLES[role], role)
    labelled = LABELLED.get(role, [])
    assert {sentence: label_role(sentence) for sentence in labelled} == dict.fromkeys(labelled, role)


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
