"""A record in the dialect of RoBBR-SSR, in own words."""

import copy
from typing import Any

ROBBR: dict[str, Any] = {
    "bias": "Blinding of participants",
    "bias_definition": "Whether those who took part knew what they were given.",
    "PICO": {
        "Methods": "Randomised trial",
        "Participants": "40 adults",
        "Intervention": "Green tea",
        "Outcome": "Blood pressure",
        "Notes": None,
    },
    "objective": "To judge whether tea lowers blood pressure",
    "paper_doi": "10.1000/tea.1",
    "paper_as_candidate_pool": [
        "Tea and blood pressure",
        "Abstract",
        "Tea lowered pressure by 3 mmHg.",
        "Methods",
        "Cups were opaque and all drinks were warm.",
        "Nobody was told which drink was tea.",
        "Table 1 Age and pressure of the adults",
    ],
    "aspects": {"a1": "The drinks looked alike.", "a2": "Adults were not told.", "a3": "Tasting was not tested."},
    "aspect2sentence_indices": {"a1": [4], "a2": [5], "a3": []},
    "sentence_index2aspects": {"0": [], "1": [], "2": [], "3": [], "4": ["a1"], "5": ["a2"], "6": []},
    "bias_retrieval_at_optimal_evaluation": {
        "optimal": 2,
        "one_selection_of_sentences": [4, 5],
        "covered_aspects": ["a1", "a2"],
    },
    "judgment": "low",
}

HYPOTHESIS = (
    "Risk of bias: Blinding of participants. Whether those who took part knew what they were given. Objective of the "
    "review: To judge whether tea lowers blood pressure. Methods: Randomised trial. Participants: 40 adults. "
    "Intervention: Green tea. Outcome: Blood pressure."
)


def robbr_file() -> dict[str, Any]:
    """Give the content of a file: two biases asked of one paper."""
    second = copy.deepcopy(ROBBR) | {"bias": "Random order", "bias_definition": "How the order was made"}
    return {"robbr_1": copy.deepcopy(ROBBR), "robbr_2": second}
