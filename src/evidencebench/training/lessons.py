"""What one step of fine-tuning sees of a paper: anchors, sentences drawn for it, and what is right about them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from evidencebench.data.instance import Instance
from evidencebench.errors import DataError
from evidencebench.models.embedding.formats import EncodedText, TextFormat, hypothesis_text, sentence_texts
from evidencebench.query import AspectScope

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

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

    Attributes
    ----------
    text
        As the model reads it.
    shares
        One number a text of the lesson, sum 1: how much of what is to be found each of them states.
    is_masked
        One flag a text of the lesson: it is neither right nor wrong, so it takes no part.
    """

    text: EncodedText
    shares: Floats
    is_masked: Flags


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One instance as fine-tuning reads it.

    Attributes
    ----------
    texts
        The different sentences of its paper, in paper order: repeats of a sentence are one text, so that no source is
        wrong elsewhere in its paper.
    anchors
        At least one.
    """

    texts: tuple[EncodedText, ...]
    anchors: tuple[Anchor, ...]

    @property
    def positives(self) -> NDArray[np.intp]:
        """Which texts are right for an anchor."""
        return np.flatnonzero(np.any([anchor.shares > 0 for anchor in self.anchors], axis=0))

    @property
    def negatives(self) -> NDArray[np.intp]:
        """Which texts are right for none, and wrong for an anchor at least."""
        is_wrong = np.any([~anchor.is_masked for anchor in self.anchors], axis=0)
        is_wrong[self.positives] = False
        return np.flatnonzero(is_wrong)


def lessons_of(
    instances: Sequence[Instance],
    text_format: TextFormat,
    *,
    anchors: Anchors = "hypothesis",
    scope: Scope = "both",
    neighbours: int = 0,
    title: bool = False,
) -> list[Lesson]:
    """Return one lesson an instance that has something to find; those without a source are left out.

    A hypothesis is an anchor once a scope. Wrong for it is what states none of the scope's aspects: to one that asks
    for results, how the study was done is a wrong answer. An aspect's own text is an anchor where the data has it;
    sources of other aspects are neither right nor wrong for it. Nor are the sources of other instances of a paper for
    any anchor, unless they are its own.

    Parameters
    ----------
    instances
        With their labels.
    text_format
        How hypothesis and sentences are written.
    anchors, scope
        What is compared, and what is to be found.
    neighbours, title
        What of its surroundings is read with a sentence; see `sentence_texts`.

    Raises
    ------
    DataError
        If no instance has anything to find.
    """
    of_paper: dict[str, set[str]] = {}
    for instance in instances:
        of_paper.setdefault(instance.query.paper_id, set()).update(_source_sentences(instance))
    found = [
        Lesson(texts=page.texts, anchors=tuple(chosen))
        for instance in instances
        for page in [_Page(instance, text_format, neighbours, of_paper[instance.query.paper_id], title=title)]
        if (chosen := [*page.anchors(anchors, _SCOPES[scope], text_format)])
    ]
    if not found:
        raise DataError(
            f"training: expected instances with a source to find (anchors: {anchors}, scope: {scope}), got none among "
            f"{len(instances)}"
            + ("; only EvidenceBench-100k has the texts of aspects" if anchors == "aspects" and instances else "")
        )
    return found


def drawn(
    lesson: Lesson, positives: int, negatives: int, generator: np.random.Generator, weights: Floats | None = None
) -> NDArray[np.intp]:
    """Return positions of the texts that a step reads, ascending.

    Parameters
    ----------
    lesson
        The paper.
    positives, negatives
        The most of either.
    generator
        Draws them, none twice.
    weights
        One positive number a text: how likely it is drawn as a negative; None: all are alike.
    """
    right, wrong = lesson.positives, lesson.negatives
    chance = None if weights is None or not len(wrong) else weights[wrong] / weights[wrong].sum()
    return np.sort(
        np.concatenate(
            [
                generator.choice(right, min(positives, len(right)), replace=False),
                generator.choice(wrong, min(negatives, len(wrong)), replace=False, p=chance),
            ]
        )
    )


def listwise_loss(lesson: Lesson, positions: NDArray[np.intp], scores: "torch.Tensor") -> "torch.Tensor":
    """Return the cross-entropy of a softmax over the sentences of one paper, mean over its anchors.

    Parameters
    ----------
    lesson
        The paper.
    positions
        The n texts that were drawn.
    scores
        anchors x n; higher is more likely right.

    Notes
    -----
    ``-sum_i p_i log softmax(scores)_i`` over the texts that are not masked, p the shares of the texts drawn, scaled to
    sum 1. Anchors whose sources were not drawn are left out.

    References
    ----------
    .. [1] Cao et al., "Learning to Rank: From Pairwise Approach to Listwise Approach", ICML 2007 (ListNet).
    """
    import torch  # noqa: PLC0415 - an extra, and slow to import

    losses = []
    for anchor, row in zip(lesson.anchors, scores, strict=True):
        shares = anchor.shares[positions]
        if not shares.any():
            continue
        counts = torch.from_numpy(~anchor.is_masked[positions]).to(row.device)
        target = torch.from_numpy(shares / shares.sum()).to(row.device, row.dtype)
        losses.append(-(target[counts] * torch.log_softmax(row[counts], dim=0)).sum())
    return torch.stack(losses).mean()


class _Page:
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
