"""The forms of replies: a prompt's words for each, its JSON schema, and an example of a well-formed reply."""

from collections.abc import Iterable
from typing import Any

import msgspec

from evidencebench.systems.strategies.prompts import prompt_named

_BEYOND = (7, 19, 42)
"""The example numbers in a form are the number of the paper's sentences plus these."""


def schema_of(kind: str) -> dict[str, Any]:
    """Return the JSON schema of a reply in a form. The reasoning stands first, so that a model writes it first."""
    integer = {"type": "integer"}
    if kind == "scores":
        entry = _object_of({"sentence": integer, "score": integer})
        return _object_of({"scores": {"type": "array", "items": entry}})
    return _object_of({"reasoning": {"type": "string"}, "sentences": {"type": "array", "items": integer}})


def _object_of(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def budget_words(budget: int | None) -> str:
    """Return a prompt's words for the budget, such as ``at most 7 sentences``."""
    if budget is None:
        return "as many sentences as needed"
    return f"at most {budget} {'sentence' if budget == 1 else 'sentences'}"


def form_name(kind: str, *, structured: bool) -> str:
    """Return the name of the prompt that asks for a form: ``answer``, ``order`` or ``scores``, as JSON or as lines."""
    return f"{kind}_{'json' if structured else 'line'}"


def form_text(
    kind: str, *, structured: bool, n_sentences: int, budget: int | None = None, with_reasoning: bool = True
) -> str:
    """Return a prompt's words for a form of `form_name`, given how many sentences the paper has and how many count.

    The numbers in it name no sentence of the paper, so that a reply that only repeats the form is no answer. Without
    reasoning, it asks for the answer alone, as where a reply is asked for again.

    >>> form_text("answer", structured=False, n_sentences=100, budget=3).splitlines()[1]
    'ANSWER: [107, 119, 142]'
    """
    prompt = prompt_named(form_name(kind, structured=structured))
    numbers = [str(n_sentences + step) for step in _BEYOND]
    values = {
        "budget": budget_words(budget),
        "numbers": ", ".join(numbers[:budget]),
        "first": numbers[0],
        "second": numbers[1],
        "reasoning": "your thinking" if with_reasoning else "",
    }
    return prompt.render(**{field: values[field] for field in prompt.fields})


def well_formed(kind: str, indices: Iterable[int], *, structured: bool) -> str:
    """Return a reply in a form that names or scores these sentences, such as ``ANSWER: [3, 17]``."""
    listed = list(indices)
    if kind == "scores":
        scores = {"scores": [{"sentence": index, "score": 5} for index in listed]}
        return _json(scores) if structured else "\n".join(("SCORES:", *(f"{index}: 5" for index in listed)))
    return _json({"reasoning": "", "sentences": listed}) if structured else f"ANSWER: {listed}"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
