"""Fine-tune an embedder: sentences of a paper that state more of what is asked come nearer to the hypothesis."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from evidencebench.data.instance import Instance
from evidencebench.errors import SystemSpecError
from evidencebench.models.embedding.formats import FORMATS
from evidencebench.models.embedding.transformer import LocalModel, load_transformer
from evidencebench.models.model_card import FineTunedCard
from evidencebench.storage.reading import PathText
from evidencebench.systems.retrievers.dense import FormatName
from evidencebench.training.fine_tuning import fine_tune
from evidencebench.training.fine_tuning_options import FineTuning
from evidencebench.training.listwise import listwise_examples

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderTraining(FineTuning):
    """How an embedder is fine-tuned: the options of `FineTuning`, and these.

    Attributes
    ----------
    format
        How hypothesis and sentences are written, as `Dense` has it. One with an instruction tells the scopes apart.
    neighbours, title
        What is read along with a sentence, as `Dense` has it.
    temperature
        Similarities are divided by this before the softmax.
    hardness
        How much rather negatives are drawn that are similar to the hypothesis at the outset: e to the power of this for
        each standard deviation; 0: all alike.

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
        on_progress: Callable[[int, int], None] | None = None,
    ) -> FineTunedCard:
        """Fine-tune the base and save it as a sentence-transformers folder, which `Dense` loads.

        The trainer's checkpoints lie in a folder beside it, ``FOLDER.part``; the same call goes on from the last one. A
        fine-tuned model that is in the folder is replaced, anything else is not. ``seed`` is of order, draws and
        dropout; ``data`` is told in the card; ``on_progress`` is called with (steps taken, steps in all).

        It raises `DataError` if no instance has a source to find, and `ModelError` if the base cannot be loaded, the
        folder cannot be written, holds something else or an unfinished training with other options or data, or the
        loss is not finite.
        """
        text_format = FORMATS[self.format]
        examples = listwise_examples(
            instances,
            text_format,
            anchors=self.anchors,
            scope=self.scope,
            neighbours=self.neighbours,
            title=self.title,
        )

        def load(base: Path, device: str) -> "SentenceTransformer":
            return load_transformer(LocalModel(model=str(base), pooling=text_format.pooling), device)

        return fine_tune(
            self,
            instances,
            examples,
            Path(folder),
            load=load,
            seed=seed,
            data=data,
            on_progress=on_progress,
            similarity=text_format.similarity,
            temperature=self.temperature,
            hardness=self.hardness,
        )
