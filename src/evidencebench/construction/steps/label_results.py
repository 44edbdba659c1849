"""Which aspects are Results: what the study found."""

import msgspec

from evidencebench.construction.draft import Draft
from evidencebench.construction.steps.asking_objects import FORM_PROMPTS, ask_object
from evidencebench.construction.steps.aspects import numbered_aspects
from evidencebench.construction.steps.model_step import ModelStep
from evidencebench.systems.strategies.conversation import Asker
from evidencebench.systems.strategies.excerpt import prompt_line


class _ResultLabels(msgspec.Struct):
    results: list[int]


def _label_results(asker: Asker, draft: Draft) -> Draft:
    n_aspects = len(draft.aspects)
    found, source = ask_object(
        asker,
        "label_results",
        {"hypothesis": prompt_line(draft.hypothesis), "aspects": numbered_aspects(draft.aspects)},
        example=_ResultLabels([n_aspects + 7, n_aspects + 9]),
        stand_in=_ResultLabels(list(range(1, n_aspects + 1, 2))),
        check=lambda found: next(
            (f"there is no aspect {one}" for one in found.results if not 1 <= one <= n_aspects), ""
        ),
        what="results labels",
    )
    return msgspec.structs.replace(
        draft,
        results=tuple(number - 1 for number in sorted(set(found.results))),
        sources_of={**draft.sources_of, "label-results": source},
    )


LABEL_RESULTS = ModelStep(name="label-results", prompts=("label_results", *FORM_PROMPTS), work=_label_results)
"""Adds which aspects are Results."""
