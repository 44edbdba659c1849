"""Prompts, forms of replies, their checksums."""

import codecs
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import msgspec

from evidencebench.decoding import prepared
from evidencebench.errors import SystemSpecError
from evidencebench.files.disk import BROKEN_JSON, PathText, read_bytes
from evidencebench.query import AspectScope, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    name: str
    fields: frozenset[str]
    text: str  # with $name for a field
    digest: str  # SHA-256 of its file

    def render(self, **values: str) -> str:
        """Return the text with every field filled in. The values are not searched for further fields."""
        if values.keys() != self.fields:
            raise ValueError(f"prompt '{self.name}': expected {sorted(self.fields)}, got {sorted(values)}")
        return Template(self.text).substitute(values)


@cache
def prompt_named(name: str, package: str = "evidencebench.systems.llm") -> Prompt:
    """Return a prompt of a package: a file with a head, which names its source and its fields, and a text."""
    content = files(package).joinpath("prompt_texts", f"{name}.md").read_bytes()
    template = Template(content.decode().split("---\n", 2)[2].strip())
    fields = frozenset(template.get_identifiers())
    return Prompt(name=name, fields=fields, text=template.template, digest=hashlib.sha256(content).hexdigest())


def versions_of(names: Iterable[str]) -> Mapping[str, str]:
    """Return the checksums of the files of prompts, by ``prompt NAME``, as a run's header holds them."""
    return {f"prompt {name}": f"sha256:{prompt_named(name).digest}" for name in names}


_BEYOND = (7, 19, 42)
"""The example numbers in a form are the number of the paper's sentences plus these."""


def schema_of(kind: str) -> dict[str, Any]:
    """Return the JSON schema of a reply in a form. The reasoning stands first, so that a model writes it first."""
    integer = {"type": "integer"}
    if kind == "scores":
        return object_schema(scores=array_schema(object_schema(sentence=integer, score=integer)))
    return object_schema(reasoning={"type": "string"}, sentences=array_schema(integer))


def array_schema(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def object_schema(**properties: Any) -> dict[str, Any]:
    """Return the JSON schema of an object with exactly these properties."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def budget_words(budget: int | None) -> str:
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

    The numbers in it name no sentence of the paper, so that a reply that only repeats the form is no answer.

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
    value: dict[str, Any] = {"reasoning": "", "sentences": listed}
    lines = f"ANSWER: {listed}"
    if kind == "scores":
        value = {"scores": [{"sentence": index, "score": 5} for index in listed]}
        lines = "\n".join(("SCORES:", *(f"{index}: 5" for index in listed)))
    return msgspec.json.encode(value).decode() if structured else lines


_NO_LETTERS = re.compile(r"[\W_]+")


class ExampleSource(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    sha256: str


class PromptExample(msgspec.Struct, frozen=True, kw_only=True):
    """A hypothesis and the fewest sentences that cover its aspects, in paper order."""

    instance_id: str
    paper_id: str
    fingerprint: str  # of the paper, see `fingerprint_of`
    hypothesis: str
    sentences: tuple[str, ...]
    results: tuple[str, ...] | None = None  # that cover every Results aspect; None where there is none

    def in_scope(self, scope: AspectScope) -> tuple[str, ...]:
        return self.sentences if scope == "all" else self.results or ()


class ExampleFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of examples: its format's version, its data and its examples. The first n are a fair draw of n."""

    evidencebench_examples: int = 1
    data: ExampleSource
    seed: int
    examples: tuple[PromptExample, ...]


def fingerprint_of(sentences: Sequence[str]) -> str:
    """Return a checksum of a paper's text, the same however it is split, spaced, capitalised or punctuated."""
    text = unicodedata.normalize("NFKC", "".join(sentences)).casefold()
    return hashlib.sha256(_NO_LETTERS.sub("", text).encode(errors="replace")).hexdigest()


def read_examples(path: PathText) -> ExampleFile:
    path = Path(path)
    how = "make it with 'evidencebench llm examples'"
    content = read_bytes(path, error=SystemSpecError, advice=how)
    try:
        examples = msgspec.json.decode(content.removeprefix(codecs.BOM_UTF8), type=prepared(ExampleFile))
    except BROKEN_JSON as error:
        raise SystemSpecError(f"{path}: expected a file of examples: {error}; {how}") from error
    if (version := examples.evidencebench_examples) != 1:
        raise SystemSpecError(f"{path}: examples of format {version}, but this version reads 1; {how}")
    return examples


def reason_against(examples: Iterable[PromptExample], query: Query) -> str | None:
    """Return why a query may not be asked with some examples, or None where it may."""
    fingerprint = fingerprint_of(query.sentences)
    for example in examples:
        if query.instance_id == example.instance_id:
            return "the instance is one of the examples"
        if query.paper_id and query.paper_id == example.paper_id:
            return f"its paper '{query.paper_id}' is that of example '{example.instance_id}'"
        if fingerprint == example.fingerprint:
            return f"its paper has the text of example '{example.instance_id}'"
    return None
