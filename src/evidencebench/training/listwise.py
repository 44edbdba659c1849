"""The examples of fine-tuning: texts to find sentences for, and how much of the answer each sentence states.

For example the hypothesis "Tea lowers pressure" is an anchor, and of the paper's sentences the two that state one of
its two aspects each have the share 0.5. Nothing here needs torch.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    for one in instances:
        sources = {index for found in one.labels.sources.values() for index in found}
        of_paper.setdefault(one.query.paper_id, set()).update(one.query.sentences[index] for index in sources)
    found = []
    for one in instances:
        texts = sentence_texts(one.query, text_format, "all", neighbours=neighbours, title=title)
        place = {text: position for position, text in enumerate(dict.fromkeys(texts))}
        row = [place[text] for text in texts]
        is_known = np.zeros(len(place), dtype=np.bool_)  # a source of anything, in any instance of the paper
        known = of_paper[one.query.paper_id]
        is_known[[row[index] for index, sentence in enumerate(one.query.sentences) if sentence in known]] = True
        if chosen := tuple(
            _anchors(one, row, is_known, text_format=text_format, wanted=anchors, scopes=_SCOPES[scope])
        ):
            found.append(ListwiseExample(texts=tuple(place), anchors=chosen))
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


def _anchors(
    instance: Instance,
    row: Sequence[int],
    is_known: Flags,
    *,
    text_format: TextFormat,
    wanted: Anchors,
    scopes: Sequence[AspectScope],
) -> Iterator[Anchor]:
    """Yield the anchors of an instance; ``row`` holds the place of each sentence among the different texts."""
    labels = instance.labels

    def counts_of(aspects: Sequence[str]) -> Floats:
        """Return how many of these aspects each text states."""
        counts = np.zeros(len(is_known))
        for aspect in aspects:
            counts[list({row[index] for index in labels.sources.get(aspect, ())})] += 1
        return counts

    if wanted != "aspects":
        is_own = counts_of(labels.aspects) > 0
        for scope in scopes:
            counts = counts_of(labels.that_count(scope))
            if counts.any():
                text = hypothesis_text(instance.query, text_format, scope)
                yield Anchor(text=text, shares=counts / counts.sum(), is_masked=is_known & ~is_own)
    if wanted != "hypothesis":
        prefix = hypothesis_text(instance.query, text_format, scopes[0]).prefix
        in_scope = {aspect for scope in scopes for aspect in labels.that_count(scope)}
        for aspect in labels.aspects:
            counts = counts_of((aspect,))
            if aspect in in_scope and counts.any() and labels.texts.get(aspect):
                text = EncodedText(labels.texts[aspect], prefix)
                yield Anchor(text=text, shares=counts / counts.sum(), is_masked=is_known & (counts == 0))
