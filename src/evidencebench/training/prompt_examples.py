"""Draw examples for a prompt from labelled data: the one place where labels become part of what a system is shown."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.optimum.cover import coverage_of, minimum_cover
from evidencebench.errors import DataError
from evidencebench.query import AspectScope
from evidencebench.storage.reading import PathText
from evidencebench.storage.whole_file import write_whole
from evidencebench.systems.strategies.example_file import ExampleFile, ExampleSource, PromptExample, fingerprint_of


def draw_examples(dataset: Dataset, n: int, *, seed: int) -> ExampleFile:
    """Return n examples drawn at random, each of another paper, none without evidence; `DataError` if there are fewer.

    An example holds the texts of a minimum cover of all aspects, and of one of the Results aspects where there are any.
    Instances are decoded until there are enough, so a few examples of gigabytes cost little. The first of many are the
    same as when fewer are drawn. Draw from data that will not be scored: a system that is shown them refuses their
    papers.
    """
    if n < 1:
        raise DataError(f"expected at least 1 example to draw, got {n}")
    drawn: list[PromptExample] = []
    for example in _in_random_order(dataset, seed):
        if not any(_is_same_paper(example, other) for other in drawn):
            drawn.append(example)
        if len(drawn) == n:
            source = ExampleSource(name=dataset.name, sha256=dataset.sha256)
            return ExampleFile(data=source, seed=seed, examples=tuple(drawn))
    raise DataError(
        f"{dataset.path}: expected {n} papers with evidence to draw examples from, got {len(drawn)}; draw fewer, or "
        "from larger data"
    )


def write_examples(path: PathText, examples: ExampleFile) -> None:
    """Write examples into a file, which has all of them or is as it was; raises `DataError`."""
    write_whole(Path(path), msgspec.json.format(msgspec.json.encode(examples), indent=1) + b"\n")


def _in_random_order(dataset: Dataset, seed: int) -> Iterator[PromptExample]:
    for position in np.random.default_rng(seed).permutation(len(dataset)):
        instance = dataset[int(position)]
        if sentences := _best_sentences(instance, "all"):
            yield PromptExample(
                instance_id=instance.id,
                paper_id=instance.query.paper_id,
                fingerprint=fingerprint_of(instance.query.sentences),
                hypothesis=instance.query.hypothesis,
                sentences=sentences,
                results=_best_sentences(instance, "results") or None,
            )


def _best_sentences(instance: Instance, scope: AspectScope) -> tuple[str, ...]:
    """Return the texts of the fewest sentences that cover all that counts, in paper order."""
    cover = minimum_cover(coverage_of(instance.labels, scope))
    return tuple(instance.query.sentences[index] for index in sorted(cover.sentences))


def _is_same_paper(one: PromptExample, other: PromptExample) -> bool:
    return one.fingerprint == other.fingerprint or (bool(one.paper_id) and one.paper_id == other.paper_id)
