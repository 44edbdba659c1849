"""RoBBR-SSR's dialect: its keys, and the same record in the published format.

Source: the description of the data by its makers (arXiv:2411.18831). The file itself was not at hand, so what that does
not say is taken as it comes: an optimum may be missing or null, and kinds of sentences may be there.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from evidencebench.query import Kind

OPTIMUM_KEY = "bias_retrieval_at_optimal_evaluation"

# Key of the published format -> the one that RoBBR has in its place.
RENAMED = {
    "paper_id": "paper_doi",
    "aspect_id2aspect": "aspects",
    "aspect_list_ids": "aspects",
    "evidence_retrieval_at_optimal_evaluation": OPTIMUM_KEY,
}
_KINDS_KEY = "sentence_types_in_candidate_pool"
_TITLES_OF_ABSTRACTS = frozenset({"abstract", "summary"})
_CAPTION = re.compile(r"(?:table|fig\.?|figure|box|scheme)\s*[\dIVX]", re.IGNORECASE)
_CLOSED = re.compile(r"[.!?;:,][\"'\u2019\u201d)\]]*$")
_MOST_WORDS_OF_HEADING = 12


class RobbrRecord(msgspec.Struct):
    """The fields that a record must have, or may have, with their types."""

    bias: str
    bias_definition: str
    PICO: dict[str, Any] | str
    objective: str
    paper_doi: str
    paper_as_candidate_pool: list[str]
    aspects: dict[str, str]
    aspect2sentence_indices: dict[str, list[int]]
    bias_retrieval_at_optimal_evaluation: dict[str, Any] | None = None
    sentence_types_in_candidate_pool: list[Kind] | None = None


def is_robbr(fields: Mapping[str, Any]) -> bool:
    """Say whether a record is in this dialect: it asks for a bias and has no hypothesis."""
    return "bias" in fields and "hypothesis" not in fields


def in_published_keys(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record that `RobbrRecord` takes with the keys of the published format; its other keys stay."""
    kept = {key: value for key, value in fields.items() if key not in RENAMED.values()}
    return kept | {
        "hypothesis": hypothesis_of(fields),
        "paper_id": fields["paper_doi"],
        "aspect_list_ids": list(fields["aspects"]),
        "aspect_id2aspect": fields["aspects"],
        "results_aspect_list_ids": None,
        "evidence_retrieval_at_optimal_evaluation": fields.get(OPTIMUM_KEY),
        _KINDS_KEY: fields.get(_KINDS_KEY) or infer_kinds(fields["paper_as_candidate_pool"]),
        "wish": "answer",
    }


def hypothesis_of(fields: Mapping[str, Any]) -> str:
    """Return what is asked in one paragraph: the bias, its definition, the review's objective, and the parts of PICO.

    >>> pico = {"Methods": "RCT", "Participants": "40 adults"}
    >>> hypothesis_of({"bias": "Blinding", "bias_definition": "Who knew.", "objective": "To judge tea", "PICO": pico})
    'Risk of bias: Blinding. Who knew. Objective of the review: To judge tea. Methods: RCT. Participants: 40 adults.'
    """
    pico = fields["PICO"]
    named = pico.items() if isinstance(pico, Mapping) else [("PICO", pico)]
    parts = [f"{name}: {text}" for name, value in named if (text := _text_of(value).strip())]
    asked = (f"Risk of bias: {fields['bias']}", fields["bias_definition"])
    return " ".join(map(_sentence, [*asked, f"Objective of the review: {fields['objective']}", *parts]))


def infer_kinds(sentences: Iterable[str]) -> list[Kind]:
    """Return the kind of each sentence by its looks, since the dialect does not say.

    A heading is short, begins with a capital or a digit, does not end as a sentence does, and is no caption. Sentences
    from the heading "Abstract" to the next one are the abstract. All others are the body, captions among them.

    >>> [kind.value for kind in infer_kinds(["Abstract", "Tea helped.", "1 Methods", "We asked.", "Table 1 Ages"])]
    ['section_name', 'abstract', 'section_name', 'normal_paragraph', 'normal_paragraph']
    """
    kinds: list[Kind] = []
    current = Kind.BODY
    for sentence in sentences:
        if _is_heading(sentence.strip()):
            current = Kind.ABSTRACT if sentence.strip().lower() in _TITLES_OF_ABSTRACTS else Kind.BODY
            kinds.append(Kind.HEADING)
        else:
            kinds.append(current)
    return kinds


def _is_heading(text: str) -> bool:
    begins = text[:1].isupper() or text[:1].isdigit()
    is_short = len(text.split()) <= _MOST_WORDS_OF_HEADING
    return begins and is_short and _CLOSED.search(text) is None and _CAPTION.match(text) is None


def _text_of(value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(map(_text_of, value))
    return "" if value is None else str(value)


def _sentence(text: str) -> str:
    words = " ".join(text.split())
    return words if not words or words.endswith((".", "?", "!")) else f"{words}."
