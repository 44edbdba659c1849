"""Fine-tune an embedder: sentences of a paper that state more of what is asked come nearer to the hypothesis."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evidencebench.data.instance import Instance
from evidencebench.errors import SystemSpecError
from evidencebench.models.embedding.formats import FORMATS, EncodedText, TextFormat
from evidencebench.models.embedding.transformer import LocalModel, load_transformer
from evidencebench.storage.reading import PathText
from evidencebench.systems.retrievers.dense import FormatName
from evidencebench.training.descent import Descent, Drawn, Progress
from evidencebench.training.finetuning import (
    BASE_OPTIONS,
    Base,
    described_data,
    fine_tune,
    outputs,
    require_at_least,
    save,
)
from evidencebench.training.lessons import Anchors, Floats, Lesson, Scope, lessons_of
from evidencebench.training.workplace import FineTunedCard

if TYPE_CHECKING:
    import torch

_NAME = "train embedder"
_TINY = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderTraining:
    """How an embedder is fine-tuned.

    Attributes
    ----------
    base
        What it begins as: a folder, an id on the Hugging Face hub, or ``minilm``, whose weights lie in a package.
    revision
        For a hub's model, and needed there: commit, branch or tag.
    format
        How hypothesis and sentences are written, as `Dense` has it. One with an instruction tells the scopes apart.
    anchors
        What sentences are compared with: ``hypothesis``, ``aspects`` (their texts, which EvidenceBench-100k has) or
        ``both``.
    scope
        Whose sources are to be found: of ``all`` aspects, of the ``results``, or of ``both`` in turn.
    neighbours, title
        What is read along with a sentence, as `Dense` has it.
    epochs
        How often each instance is read.
    batch_size
        Instances in a step.
    learning_rate
        The highest in the course of the training.
    temperature
        Similarities are divided by this before the softmax.
    positives, negatives
        The most sentences of either kind that are drawn of a paper in a step.
    hardness
        How much rather negatives are drawn that are similar to the hypothesis at the outset: e to the power of this for
        each standard deviation; 0: all alike.
    trained_layers
        How many of the last layers learn, at least 1; None: all, and the embeddings of tokens too, which is slower and
        makes checkpoints four times as large.
    max_tokens
        Where sentences are cut in training; None: where the base cuts them.
    checkpoint_steps
        Steps between checkpoints: what a killed training loses at most.
    device
        ``cpu``, ``cuda``, ``mps``, or ``auto`` for the fastest that is there.

    References
    ----------
    .. [1] Reimers and Gurevych, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", EMNLP 2019.
    """

    base: str = "minilm"
    revision: str | None = None
    format: FormatName = "e5_mistral"
    anchors: Anchors = "hypothesis"
    scope: Scope = "both"
    neighbours: int = 0
    title: bool = False
    epochs: int = 2
    batch_size: int = 4
    learning_rate: float = 1e-4
    temperature: float = 0.05
    positives: int = 12
    negatives: int = 24
    hardness: float = 0.0
    trained_layers: int | None = 3
    max_tokens: int | None = 64
    checkpoint_steps: int = 1
    device: str = "auto"

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise SystemSpecError(f"{_NAME}: format: expected one of {', '.join(FORMATS)}, got '{self.format}'")
        require_at_least(
            _NAME,
            {
                "neighbours": (self.neighbours, 0),
                "epochs": (self.epochs, 1),
                "batch_size": (self.batch_size, 1),
                "learning_rate": (self.learning_rate, _TINY),
                "temperature": (self.temperature, _TINY),
                "positives": (self.positives, 1),
                "negatives": (self.negatives, 1),
                "hardness": (self.hardness, 0),
                "trained_layers": (self.trained_layers, 1),
                "max_tokens": (self.max_tokens, 8),
                "checkpoint_steps": (self.checkpoint_steps, 1),
            },
        )
        Base(model=self.base, revision=self.revision).require(_NAME)

    @property
    def answers_with(self) -> dict[str, Any]:
        """The options beside ``model`` with which `Dense` reads texts as they were read in training."""
        plain = {"format": "plain", "neighbours": 0, "title": False}
        own = {"format": self.format, "neighbours": self.neighbours, "title": self.title}
        return {key: value for key, value in own.items() if value != plain[key]}

    def fit(
        self,
        instances: Sequence[Instance],
        folder: PathText,
        *,
        seed: int = 0,
        data: Mapping[str, Any] | None = None,
        on_progress: Progress | None = None,
    ) -> FineTunedCard:
        """Fine-tune the base and save it as a sentence-transformers folder, which `Dense` loads.

        What it has so far lies in a folder beside it, ``FOLDER.part``; the same call goes on from there and comes to
        the same weights, on the same machine with as many threads.

        Parameters
        ----------
        instances
            What to learn from, labels included.
        folder
            Where the model will be, whole or not at all. A fine-tuned model there is replaced, anything else is not.
        seed
            Of order, draws and dropout.
        data
            What the card says about the data beside its counts and digest.
        on_progress
            Called with (steps taken, steps in all).

        Raises
        ------
        DataError
            If no instance has a source to find.
        MissingExtraError
            If sentence-transformers is not installed.
        ModelError
            If the base cannot be loaded, the folder cannot be written, holds something else or an unfinished training
            with other options or data, or the loss is not finite.
        """
        folder = Path(folder)
        lessons = lessons_of(
            instances,
            FORMATS[self.format],
            anchors=self.anchors,
            scope=self.scope,
            neighbours=self.neighbours,
            title=self.title,
        )
        descent = Descent(
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            positives=self.positives,
            negatives=self.negatives,
            checkpoint_steps=self.checkpoint_steps,
            seed=seed,
        )
        return fine_tune(
            partial(_Student, self),
            lessons,
            descent,
            folder,
            what="embedder",
            base=Base(model=self.base, revision=self.revision),
            device=self.device,
            trained_layers=self.trained_layers,
            options={key: value for key, value in asdict(self).items() if key not in BASE_OPTIONS} | {"seed": seed},
            answers_with={"system": "dense", "options": self.answers_with},
            data=described_data(instances, data),
            on_progress=on_progress,
        )


class _Student:
    """An embedder that learns."""

    def __init__(self, training: EmbedderTraining, folder: Path, device: str) -> None:
        self._training = training
        self._format: TextFormat = FORMATS[training.format]
        self.model = load_transformer(LocalModel(model=str(folder), pooling=self._format.pooling), device)
        self._longest = self.model.max_seq_length

    def score(self, batch: Drawn) -> "list[torch.Tensor]":
        """Return anchors x texts similarities of each lesson, over the temperature."""
        import torch  # noqa: PLC0415 - an extra, and slow to import

        anchors = [anchor.text for lesson, _ in batch for anchor in lesson.anchors]
        texts = [lesson.texts[position] for lesson, positions in batch for position in positions]
        rows = self._vectors(anchors, self._longest)
        columns = self._vectors(texts, self._training.max_tokens or self._longest)
        of_anchors = torch.split(rows, [len(lesson.anchors) for lesson, _ in batch])
        of_texts = torch.split(columns, [len(positions) for _, positions in batch])
        return [a @ t.T / self._training.temperature for a, t in zip(of_anchors, of_texts, strict=True)]

    def likelihoods(self, lessons: Sequence[Lesson]) -> list[Floats] | None:
        """Return the draw of negatives by how similar they are to the hypothesis now."""
        import torch  # noqa: PLC0415 - an extra, and slow to import

        if not self._training.hardness:
            return None
        found = []
        for lesson in lessons:
            first = replace(lesson, anchors=lesson.anchors[:1])
            with torch.no_grad():
                scores = self.score([(first, np.arange(len(lesson.texts)))])[0][0].double().cpu().numpy()
            standard = (scores - scores.mean()) / max(float(scores.std()), 1e-9)
            found.append(np.exp(self._training.hardness * standard))
        return found

    def save(self, folder: Path) -> None:
        """Write it as sentence-transformers does, reading as many tokens as its base."""
        save(self.model, folder, self._longest)

    def _vectors(self, texts: Sequence[EncodedText], max_tokens: int | None) -> "torch.Tensor":
        """Return texts x dimensions, at length 1 unless the format's similarity is another."""
        import torch  # noqa: PLC0415 - an extra, and slow to import

        found = outputs(self.model, texts, max_tokens, "sentence_embedding")
        return found if self._format.similarity == "dot" else torch.nn.functional.normalize(found, dim=-1)
