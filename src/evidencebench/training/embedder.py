"""Fine-tune an embedder: vectors of sentences that state more aspects come nearer to the hypothesis's vector."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from evidencebench.data.instance import Instance
from evidencebench.errors import SystemSpecError
from evidencebench.models.embedding.formats import FORMATS
from evidencebench.models.embedding.transformer import LocalModel, load_transformer
from evidencebench.systems.retrievers.dense import FormatName
from evidencebench.training.fine_tuning import FineTuning
from evidencebench.training.listwise import Floats, ListwiseExample, listwise_examples

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderTraining(FineTuning):
    """The training of an embedder; its options are those of `FineTuning`, and these.

    Attributes
    ----------
    format
        How hypothesis and sentences are written, as in `Dense`. Only a format with an instruction tells scopes apart.
    neighbours, title
        The context that is encoded with a sentence, as in `Dense`.
    temperature
        Similarities are divided by this before the softmax.
    hardness
        How strongly negatives similar to the hypothesis are preferred: a sentence's weight is exp(hardness * z), with z
        its standardised similarity before training. 0: all negatives are equally likely.

    References
    ----------
    .. [1] Reimers and Gurevych, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", EMNLP 2019.
    """

    kind: ClassVar[str] = "embedder"
    system: ClassVar[str] = "dense"

    format: FormatName = "e5_mistral"
    neighbours: int = 0
    title: bool = False
    temperature: float = 0.05
    hardness: float = 0.0

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise SystemSpecError(f"train embedder: format: expected one of {', '.join(FORMATS)}, got '{self.format}'")
        FineTuning.__post_init__(self)

    @property
    def answers_with(self) -> dict[str, Any]:
        """The options of `Dense`, beside ``model``, that make it write texts as in training."""
        plain = {"format": "plain", "neighbours": 0, "title": False}
        own = {"format": self.format, "neighbours": self.neighbours, "title": self.title}
        return {key: value for key, value in own.items() if value != plain[key]}

    def _examples(self, instances: Sequence[Instance]) -> list[ListwiseExample]:
        return listwise_examples(
            instances,
            FORMATS[self.format],
            anchors=self.anchors,
            scope=self.scope,
            neighbours=self.neighbours,
            title=self.title,
        )

    def _load(self, folder: Path, device: str, seed: int) -> "SentenceTransformer":  # noqa: ARG002 - nothing is drawn
        return load_transformer(LocalModel(model=str(folder), pooling=FORMATS[self.format].pooling), device)

    def _loss(self, model: Any) -> "torch.nn.Module":
        from evidencebench.training.listwise_trainer import EmbedderLoss  # noqa: PLC0415 - imports torch

        return EmbedderLoss(model, FORMATS[self.format].similarity, self.temperature)

    def _weights(self, model: Any, examples: Sequence[ListwiseExample]) -> Sequence[Floats | None]:
        from evidencebench.training.listwise_trainer import hardness_weights  # noqa: PLC0415 - imports torch

        if self.hardness == 0:
            return [None] * len(examples)
        return hardness_weights(model, examples, self.hardness, self.max_tokens, FORMATS[self.format].similarity)
