"""Fine-tune an embedder: sentences of a paper that state more of what is asked come nearer to the hypothesis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evidencebench.data.instance import Instance
from evidencebench.errors import SystemSpecError
from evidencebench.models.embedding.formats import FORMATS
from evidencebench.models.embedding.transformer import LocalModel, load_transformer
from evidencebench.models.model_card import FineTunedCard
from evidencebench.storage.reading import PathText
from evidencebench.systems.retrievers.dense import FormatName
from evidencebench.training.fine_tuning import described_data, fine_tune, require_options
from evidencebench.training.listwise import Anchors, Scope, listwise_examples
from evidencebench.training.selector import Progress

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_NAME = "train embedder"


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
        How many of the last layers learn, at least 1; None: all, and the embeddings of tokens too, which is slower.
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
    checkpoint_steps: int = 10
    device: str = "auto"

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise SystemSpecError(f"{_NAME}: format: expected one of {', '.join(FORMATS)}, got '{self.format}'")
        require_options(_NAME, self)

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

        The trainer's checkpoints lie in a folder beside it, ``FOLDER.part``; the same call goes on from the last one.

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
        text_format = FORMATS[self.format]
        examples = listwise_examples(
            instances,
            text_format,
            anchors=self.anchors,
            scope=self.scope,
            neighbours=self.neighbours,
            title=self.title,
        )
        return fine_tune(
            self,
            examples,
            Path(folder),
            what="embedder",
            system="dense",
            load=self._load,
            seed=seed,
            data=described_data(instances, data),
            on_progress=on_progress,
            similarity=text_format.similarity,
            temperature=self.temperature,
            hardness=self.hardness,
        )

    def _load(self, folder: Path, device: str) -> "SentenceTransformer":
        return load_transformer(LocalModel(model=str(folder), pooling=FORMATS[self.format].pooling), device)
