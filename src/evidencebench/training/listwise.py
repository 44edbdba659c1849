"""The examples of fine-tuning: texts to find sentences for, and how much of the answer each sentence states.

For example the hypothesis "Tea lowers pressure" is an anchor, and of the paper's sentences the two that state one of
its two aspects each have the share 0.5. Nothing here needs torch.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evidencebench.data.instance import Instance
from evidencebench.errors import DataError
from evidencebench.models.embedding.formats import EncodedText, TextFormat, hypothesis_text, sentence_texts
from evidencebench.query import AspectScope

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Positions = NDArray[np.intp]

Anchors = Literal["hypothesis", "aspects", "both"]
"""What sentences are compared with: the hypothesis, the texts of the aspects, or both."""

Scope = Literal["all", "results", "both"]
"""Whose sources are to be found: of all aspects, of those labelled Results, or of the one and the other in turn."""

_SCOPES: Mapping[Scope, tuple[AspectScope, ...]] = {
    "all": ("all",),
    "results": ("results",),
    "both": ("all", "results"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """How long, in what steps and from what draws a model learns; see `EmbedderTraining` for what each option means."""

    epochs: int
    batch_size: int
    learning_rate: float
    positives: int
    negatives: int
    max_tokens: int | None
    checkpoint_steps: int
    seed: int


def steps_of(training: object, seed: int) -> Steps:
    """Return the steps that the options of a training say."""
    names = [field.name for field in fields(Steps) if field.name != "seed"]
    return Steps(seed=seed, **{name: getattr(training, name) for name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A text that a model is to find sentences for.

    ``shares`` says how much of what is to be found each text of the example states, sum 1; ``is_masked`` that a text is
    neither right nor wrong, so that it takes no part.
    """

    text: EncodedText
    shares: Floats
    is_masked: Flags


@dataclass(frozen=True, slots=True, kw_only=True)
class ListwiseExample:
    """One instance as fine-tuning reads it: the different sentences of its paper, and at least one anchor.

    Repeats of a sentence are one text, so that no source is wrong elsewhere in its paper.
    """

    texts: tuple[EncodedText, ...]
    anchors: tuple[Anchor, ...]

    @property
    def positives(self) -> Positions:
        """Which texts are right for an anchor."""
        return np.flatnonzero(np.any([anchor.shares > 0 for anchor in self.anchors], axis=0))

    @property
    def negatives(self) -> Positions:
        """Which texts are right for none, and wrong for an anchor at least."""
        is_wrong = np.any([~anchor.is_masked for anchor in self.anchors], axis=0)
        is_wrong[self.positives] = False
        return np.flatnonzero(is_wrong)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListwiseBatch:
    """What a step reads: texts drawn from a few examples.

    Anchors with the same prefix stand together. ``labels``, anchors x texts, say how much of what is to be found a text
    states; NaN where it takes no part, as it is masked or of another example. The labels of an example sum to 1.
    """

    anchors: tuple[EncodedText, ...]
    texts: tuple[EncodedText, ...]
    labels: Floats


def listwise_examples(
    instances: Sequence[Instance],
    text_format: TextFormat,
    *,
    anchors: Anchors = "hypothesis",
    scope: Scope = "both",
    neighbours: int = 0,
    title: bool = False,
) -> list[ListwiseExample]:
    """Return one example an instance that has something to find; those without a source are left out.

    A hypothesis is an anchor once a scope. Wrong for it is what states none of the scope's aspects: to one that asks
    for results, how the study was done is a wrong answer. An aspect's own text is an anchor where the data has it;
    sources of other aspects are neither right nor wrong for it. Nor are the sources of other instances of a paper for
    any anchor, unless they are its own. It raises `DataError` if no instance has anything to find.
    """
    of_paper: dict[str, set[str]] = {}
    for instance in instances:
        of_paper.setdefault(instance.query.paper_id, set()).update(_source_sentences(instance))
    found = [
        ListwiseExample(texts=paper.texts, anchors=tuple(chosen))
        for instance in instances
        for paper in [_PaperToLearn(instance, text_format, neighbours, of_paper[instance.query.paper_id], title=title)]
        if (chosen := [*paper.anchors(anchors, _SCOPES[scope], text_format)])
    ]
    if not found:
        raise DataError(
            f"training: expected instances with a source to find (anchors: {anchors}, scope: {scope}), got none among "
            f"{len(instances)}"
            + ("; only EvidenceBench-100k has the texts of aspects" if anchors == "aspects" and instances else "")
        )
    return found


def drawn(
    example: ListwiseExample,
    positives: int,
    negatives: int,
    generator: np.random.Generator,
    weights: Floats | None = None,
) -> Positions:
    """Return positions of the texts that a step reads, ascending, none twice.

    ``positives`` and ``negatives`` are the most of either; ``weights``, one positive number a text, say how likely it
    is drawn as a negative.
    """
    right, wrong = example.positives, example.negatives
    chance = None if weights is None or not len(wrong) else weights[wrong] / weights[wrong].sum()
    return np.sort(
        np.concatenate(
            [
                generator.choice(right, min(positives, len(right)), replace=False),
                generator.choice(wrong, min(negatives, len(wrong)), replace=False, p=chance),
            ]
        )
    )


def batch_of(parts: Sequence[tuple[ListwiseExample, Positions]]) -> ListwiseBatch:
    """Return the batch of examples with the texts drawn of each.

    An anchor's shares are those of the texts drawn, scaled to sum 1; one whose sources were not drawn is left out. The
    anchors of an example weigh the same. Equal anchors, such as one hypothesis for two scopes, become one row.
    """
    n_texts = sum(len(positions) for _, positions in parts)
    rows: list[tuple[EncodedText, Floats]] = []
    start = 0
    for example, positions in parts:
        place = slice(start, start + len(positions))
        start = place.stop
        kept = [anchor for anchor in example.anchors if anchor.shares[positions].any()]
        of_example: dict[tuple[EncodedText, bytes], Floats] = {}
        for anchor in kept:
            mask, shares = anchor.is_masked[positions], anchor.shares[positions]
            labels = of_example.setdefault((anchor.text, mask.tobytes()), np.where(mask, np.nan, 0.0))
            labels += shares / (shares.sum() * len(kept))
        for (text, _), labels in of_example.items():
            row = np.full(n_texts, np.nan)
            row[place] = labels
            rows.append((text, row))
    rows.sort(key=lambda row: row[0].prefix)
    return ListwiseBatch(
        anchors=tuple(text for text, _ in rows),
        texts=tuple(example.texts[position] for example, positions in parts for position in positions),
        labels=np.array([row for _, row in rows]),
    )


class _PaperToLearn:
    """The different texts of an instance's paper, and where its sources are among them."""

    def __init__(
        self, instance: Instance, text_format: TextFormat, neighbours: int, known: set[str], *, title: bool
    ) -> None:
        texts = sentence_texts(instance.query, text_format, "all", neighbours=neighbours, title=title)
        self.texts = tuple(dict.fromkeys(texts))
        self._instance = instance
        place = {text: position for position, text in enumerate(self.texts)}
        self._row = [place[text] for text in texts]
        self._is_known = np.zeros(len(self.texts), dtype=np.bool_)  # a source of anything, in any instance of the paper
        self._is_known[[self._row[at] for at, one in enumerate(instance.query.sentences) if one in known]] = True

    def anchors(self, of: Anchors, scopes: Sequence[AspectScope], text_format: TextFormat) -> Iterator[Anchor]:
        labels, query = self._instance.labels, self._instance.query
        own = self._counts(labels.aspects) > 0
        if of != "aspects":
            for scope in scopes:
                counts = self._counts(labels.that_count(scope))
                if counts.any():
                    yield Anchor(
                        text=hypothesis_text(query, text_format, scope),
                        shares=counts / counts.sum(),
                        is_masked=self._is_known & ~own,
                    )
        if of != "hypothesis":
            wanted = {aspect for scope in scopes for aspect in labels.that_count(scope)}
            for aspect in labels.aspects:
                counts = self._counts((aspect,))
                if aspect in wanted and counts.any() and labels.texts.get(aspect):
                    text = EncodedText(labels.texts[aspect], hypothesis_text(query, text_format, scopes[0]).prefix)
                    yield Anchor(text=text, shares=counts / counts.sum(), is_masked=self._is_known & (counts == 0))

    def _counts(self, aspects: Sequence[str]) -> Floats:
        """Return how many of these aspects each text states."""
        counts = np.zeros(len(self.texts))
        for aspect in aspects:
            counts[list({self._row[index] for index in self._instance.labels.sources.get(aspect, ())})] += 1
        return counts


def _source_sentences(instance: Instance) -> set[str]:
    sentences = instance.query.sentences
    return {sentences[index] for sources in instance.labels.sources.values() for index in sources}
