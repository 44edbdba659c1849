"""Draw examples for prompts from labelled data: only here do labels become part of a system's input."""

from pathlib import Path

import msgspec
import numpy as np

from evidencebench.data.cover import coverage_of, minimum_cover
from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.errors import DataError
from evidencebench.files.atomic import write_whole
from evidencebench.files.disk import PathText
from evidencebench.query import AspectScope
from evidencebench.systems.llm.prompts import ExampleFile, ExampleSource, PromptExample, fingerprint_of


def draw_examples(dataset: Dataset, n: int, *, seed: int) -> ExampleFile:
    """Return n random examples, each of another paper with evidence; raise `DataError` if there are fewer such papers.

    An example holds the texts of a minimum cover of all aspects, and one of the Results aspects if there are any. Only
    as many instances are read as needed, so that large data is fast too. With the same seed, fewer examples are the
    first of more. Draw from data that will not be scored: a system with examples refuses to answer their papers.
    """
    if n < 1:
        raise DataError(f"expected at least 1 example to draw, got {n}")
    drawn: list[PromptExample] = []
    for position in np.random.default_rng(seed).permutation(len(dataset)):
        instance = dataset[int(position)]
        query, sentences = instance.query, _best_sentences(instance, "all")
        fingerprint = fingerprint_of(query.sentences)
        is_new = not any(
            fingerprint == other.fingerprint or (query.paper_id and query.paper_id == other.paper_id) for other in drawn
        )
        if sentences and is_new:
            drawn.append(
                PromptExample(
                    instance_id=instance.id,
                    paper_id=query.paper_id,
                    fingerprint=fingerprint,
                    hypothesis=query.hypothesis,
                    sentences=sentences,
                    results=_best_sentences(instance, "results") or None,
                )
            )
        if len(drawn) == n:
            source = ExampleSource(name=dataset.name, sha256=dataset.sha256)
            return ExampleFile(data=source, seed=seed, examples=tuple(drawn))
    raise DataError(
        f"{dataset.path}: expected {n} papers with evidence to draw examples from, got {len(drawn)}; draw fewer, or "
        "from larger data"
    )


def write_examples(path: PathText, examples: ExampleFile) -> None:
    write_whole(Path(path), msgspec.json.format(msgspec.json.encode(examples), indent=1) + b"\n")


def _best_sentences(instance: Instance, scope: AspectScope) -> tuple[str, ...]:
    cover = minimum_cover(coverage_of(instance.labels, scope))
    return tuple(instance.query.sentences[index] for index in sorted(cover.sentences))
