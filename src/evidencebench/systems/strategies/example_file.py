"""The file of examples for a prompt: hypotheses, the texts of their best sentences, and their papers."""

import codecs
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from evidencebench.errors import SystemSpecError
from evidencebench.query import AspectScope, Query
from evidencebench.storage.reading import BROKEN_JSON, PathText, read_whole

_NO_LETTERS = re.compile(r"[\W_]+")


class ExampleSource(msgspec.Struct, frozen=True, kw_only=True):
    """The data that examples were drawn from."""

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
        """Return the sentences for a scope; none where the instance has no aspect in it."""
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
    """Return the examples in a file; raise `SystemSpecError` where it cannot be read."""
    path = Path(path)
    how = "make it with 'evidencebench llm examples'"
    try:
        examples = msgspec.json.decode(read_whole(path).removeprefix(codecs.BOM_UTF8), type=ExampleFile)
    except OSError as error:
        raise SystemSpecError(f"{path}: cannot be read: {error.strerror}; {how}") from error
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
