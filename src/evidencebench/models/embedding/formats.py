"""The texts that embedding models read: hypothesis and sentences with prefixes, instructions and context."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evidencebench.query import AspectScope, Query
from evidencebench.sections import headings_of, sections_of

Floats = NDArray[np.float32]
Similarity = Literal["cosine", "dot"]
Pooling = Literal["model", "mean", "cls", "last"]

INSTRUCTIONS: Mapping[AspectScope, str] = MappingProxyType(
    {
        "all": (
            "Given a biomedical hypothesis, find the sentences of a paper that hold its evidence for or against the "
            "hypothesis: who or what was studied, how, and what was found"
        ),
        "results": (
            "Given a biomedical hypothesis, find the sentences of a paper that report results for or against the "
            "hypothesis: measured outcomes and the analyses of them"
        ),
    }
)
"""Scope of the aspects that count -> the instruction for models that take one."""

_INSTRUCTION = "{instruction}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFormat:
    """How hypothesis and sentences are written for one family of models."""

    query_prefix: str = ""  # before the hypothesis; {instruction} is replaced by the instruction for the scope
    sentence_prefix: str = ""
    has_titles: bool = False  # whether the input is a pair: the section's title, then the sentence
    pooling: Pooling = "model"  # how token vectors become one; "model": as the model's own files say
    similarity: Similarity = "cosine"  # how vectors are compared

    @property
    def reads_scope(self) -> bool:
        """Whether hypothesis or sentences are written differently for the two scopes."""
        return _INSTRUCTION in self.query_prefix or _INSTRUCTION in self.sentence_prefix


FORMATS: Mapping[str, TextFormat] = MappingProxyType(
    {
        "plain": TextFormat(),
        "e5": TextFormat(query_prefix="query: ", sentence_prefix="passage: "),
        "e5_mistral": TextFormat(query_prefix="Instruct: {instruction}\nQuery: "),
        "gritlm": TextFormat(
            query_prefix="<|user|>\n{instruction}\n<|embed|>\n",
            sentence_prefix="<|embed|>\n",
        ),
        "bge": TextFormat(query_prefix="Represent this sentence for searching relevant passages: "),
        "medcpt": TextFormat(has_titles=True, pooling="cls", similarity="dot"),
    }
)
"""Preset name -> format. Source: the model cards of intfloat/e5-large-v2, intfloat/e5-mistral-7b-instruct,
GritLM/GritLM-7B, BAAI/bge-large-en-v1.5, and ncbi/MedCPT-Query-Encoder with ncbi/MedCPT-Article-Encoder."""


@dataclass(frozen=True, slots=True)
class EncodedText:
    """One text as an encoder receives it; equal texts are encoded once."""

    text: str
    prefix: str = ""  # put before the text; a field of its own, since some models leave it out when they pool
    title: str | None = None  # the first text of a pair; None: the text is read alone


def hypothesis_text(query: Query, text_format: TextFormat, scope: AspectScope) -> EncodedText:
    """Return the hypothesis as a model reads it."""
    prefix = text_format.query_prefix.replace(_INSTRUCTION, INSTRUCTIONS[scope])
    return EncodedText(query.hypothesis, prefix)


def sentence_texts(
    query: Query, text_format: TextFormat, scope: AspectScope, *, neighbours: int = 0, title: bool = False
) -> list[EncodedText]:
    """Return each sentence as a model reads it, in paper order.

    A sentence is joined with `neighbours` sentences before and after it in the same section. With `title`, the title of
    its section comes first. A format that reads pairs always has the title as the first text of the pair.
    """
    prefix = text_format.sentence_prefix.replace(_INSTRUCTION, INSTRUCTIONS[scope])
    texts = []
    headings = headings_of(query.kinds)
    around = [section.sentences for section in sections_of(query.kinds) for _ in range(section.start, section.stop)]
    for index, (place, section) in enumerate(zip(headings, around, strict=True)):
        heading = "" if place is None else query.sentences[place]
        first, last = max(section.start, index - neighbours), min(section.stop, index + neighbours + 1)
        text = " ".join(query.sentences[first:last]) if index in section else query.sentences[index]
        if text_format.has_titles:
            texts.append(EncodedText(text, prefix, heading))
        else:
            texts.append(EncodedText(f"{heading}: {text}" if title and heading else text, prefix))
    return texts
