"""The hypothesis that a reviewer wanted to test: why the evidence was extracted, trimmed to the central question."""

import msgspec

from evidencebench.construction.draft import Draft
from evidencebench.construction.steps.asking_objects import FORM_PROMPTS, ask_object
from evidencebench.construction.steps.checks import NO_WORDS, has_words, is_foreign, wrong_with_hypothesis
from evidencebench.construction.steps.model_step import ModelStep, dropped
from evidencebench.systems.strategies.conversation import Asker
from evidencebench.systems.strategies.excerpt import prompt_line

_NO_CONTEXT = "(nothing)"
_FORM_ONLY = "..."


class _Purpose(msgspec.Struct):
    purpose: str


class _Hypothesis(msgspec.Struct):
    hypothesis: str


def _make_hypothesis(asker: Asker, draft: Draft) -> Draft:
    if not has_words(draft.summary):
        return dropped(draft, NO_WORDS)
    summary, context = prompt_line(draft.summary), prompt_line(draft.context)
    sources = dict(draft.sources_of)
    purpose, sources["hypotheses purpose"] = ask_object(
        asker,
        "purpose",
        {"summary": summary, "context": context or _NO_CONTEXT},
        example=_Purpose(_FORM_ONLY),
        stand_in=_Purpose(_as_long_as(draft.summary, 30)),
        check=lambda found: _wrong_with_purpose(found.purpose, f"{summary} {context}"),
        what="purpose",
    )
    found, sources["hypotheses trim"] = ask_object(
        asker,
        "hypothesis",
        {"summary": summary, "purpose": prompt_line(purpose.purpose)},
        example=_Hypothesis(_FORM_ONLY),
        stand_in=_Hypothesis(_as_long_as(draft.summary, 15)),
        check=lambda found: wrong_with_hypothesis(found.hypothesis, draft.summary, draft.context),
        what="hypothesis",
    )
    return msgspec.structs.replace(
        draft,
        purpose=" ".join(purpose.purpose.split()),
        hypothesis=" ".join(found.hypothesis.split()),
        sources_of=sources,
    )


def _wrong_with_purpose(purpose: str, source: str) -> str:
    if not has_words(purpose):
        return "it holds no purpose"
    return "it is not in the language of the summary" if is_foreign(purpose, source) else ""


def _as_long_as(text: str, n_words: int) -> str:
    return " ".join((text.split() * n_words)[:n_words])


HYPOTHESES = ModelStep(name="hypotheses", prompts=("purpose", "hypothesis", *FORM_PROMPTS), work=_make_hypothesis)
"""Adds the purpose and the hypothesis."""
