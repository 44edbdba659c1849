"""The examples of fine-tuning: anchors, and the share of the aspects that each sentence states. No torch is needed.

For example, the hypothesis "Tea lowers pressure" is an anchor. If two sentences of the paper each state one of its two
aspects, each has the share 0.5.
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
"""Whose sources are to be found: those of all aspects, those of Results aspects, or both, one anchor each."""

_SCOPES: Mapping[Scope, tuple[AspectScope, ...]] = {
    "all": ("all",),
    "results": ("results",),
    "both": ("all", "results"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A text that a model is to find sentences for.

    ``shares`` has one number for each text of the example: its share of the stated aspects, in all 1. ``is_masked`` is
    true for a text that is neither right nor wrong: it takes no part.
    """

    text: EncodedText
    shares: Floats
    is_masked: Flags


@dataclass(frozen=True, slots=True, kw_only=True)
class ListwiseExample:
    """One instance as fine-tuning reads it: the different sentences of its paper, and at least one anchor.

    A repeated sentence is one text: otherwise the repeat of a source could count as wrong.
    """

    texts: tuple[EncodedText, ...]
    anchors: tuple[Anchor, ...]

    @property
    def positives(self) -> Positions:
        """Positions of the texts that are right for an anchor."""
        return np.flatnonzero(np.any([anchor.shares > 0 for anchor in self.anchors], axis=0))

    @property
    def negatives(self) -> Positions:
        """Positions of the texts that are right for no anchor, and wrong for at least one."""
        is_wrong = np.any([~anchor.is_masked for anchor in self.anchors], axis=0)
        is_wrong[self.positives] = False
        return np.flatnonzero(is_wrong)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListwiseBatch:
    """The texts of one training step, drawn from a few examples.

    Anchors with the same prefix stand together. ``labels`` has the shape (anchors, texts) and holds shares; NaN for a
    text that is masked or belongs to another example than the anchor. The labels of an example sum to 1.
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
    """Return one example for each instance that has a source to find; other instances are left out.

    A hypothesis is an anchor once for each scope. Wrong for it are sentences that state none of the scope's aspects:
    under ``results``, a sentence about methods is wrong. The text of an aspect is an anchor if the data has it; sources
    of other aspects are masked for it. Sources of the paper's other instances are masked for every anchor, unless they
    are its own sources too. It raises `DataError` if no instance has a source to find.
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
        is_known = np.zeros(len(place), dtype=np.bool_)  # a source of any aspect, in any instance of the paper
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


def draw_positions(
    example: ListwiseExample,
    positives: int,
    negatives: int,
    generator: np.random.Generator,
    weights: Floats | None = None,
) -> Positions:
    """Return the positions of the texts drawn for a step, ascending, none twice.

    At most ``positives`` right and ``negatives`` wrong texts are drawn. A wrong text is drawn with a probability in
    proportion to its number in ``weights``.
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
    """Return the batch of examples, each with the positions of its drawn texts.

    An anchor's shares of the drawn texts are scaled to sum 1; an anchor is left out if none of its sources was drawn.
    All anchors of an example have the same weight. Equal anchors, such as a hypothesis for two scopes, become one row.
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
    """Yield the anchors of an instance; ``row`` maps a sentence's index to its position among the different texts."""
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
