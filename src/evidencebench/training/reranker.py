"""Fine-tune a reranker: a model that reads the hypothesis with each sentence learns which of them state more of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evidencebench.data.instance import Instance
from evidencebench.errors import ModelError
from evidencebench.models.embedding.formats import FORMATS
from evidencebench.models.model_card import FineTunedCard
from evidencebench.storage.reading import PathText
from evidencebench.training.fine_tuning import described_data, fine_tune, require_options
from evidencebench.training.listwise import Anchors, Scope, listwise_examples
from evidencebench.training.selector import Progress

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

_NAME = "train reranker"


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankerTraining:
    """How a reranker is fine-tuned.

    Attributes
    ----------
    base
        What it begins as: a folder, an id on the Hugging Face hub, or ``minilm``, whose weights lie in a package. An
        encoder gets a fresh head; a cross-encoder of one output keeps its own.
    revision
        For a hub's model, and needed there: commit, branch or tag.
    anchors
        What is read with a sentence: ``hypothesis``, ``aspects`` (their texts, which EvidenceBench-100k has) or
        ``both``.
    scope
        Whose sources are to be found: of ``all`` aspects, of the ``results``, or of ``both``. The model does not see
        which is meant, so ``both`` makes one order for either.
    epochs
        How often each instance is read.
    batch_size
        Instances in a step.
    learning_rate
        The highest in the course of the training.
    positives, negatives
        The most sentences of either kind that are drawn of a paper in a step.
    trained_layers
        How many of the last layers learn beside the head, at least 1; None: all, and the embeddings of tokens too.
    max_tokens
        Where hypothesis and sentence together are cut in training; None: where the base cuts them.
    checkpoint_steps
        Steps between checkpoints: what a killed training loses at most.
    device
        ``cpu``, ``cuda``, ``mps``, or ``auto`` for the fastest that is there.

    References
    ----------
    .. [1] Nogueira and Cho, "Passage Re-ranking with BERT", 2019, arXiv:1901.04085.
    """

    base: str = "minilm"
    revision: str | None = None
    anchors: Anchors = "hypothesis"
    scope: Scope = "both"
    epochs: int = 3
    batch_size: int = 4
    learning_rate: float = 1e-4
    positives: int = 12
    negatives: int = 24
    trained_layers: int | None = 3
    max_tokens: int | None = 128
    checkpoint_steps: int = 10
    device: str = "auto"

    def __post_init__(self) -> None:
        require_options(_NAME, self)

    @property
    def answers_with(self) -> dict[str, Any]:
        """The options beside ``model`` and ``system`` that `Rerank` needs: none."""
        return {}

    def fit(
        self,
        instances: Sequence[Instance],
        folder: PathText,
        *,
        seed: int = 0,
        data: Mapping[str, Any] | None = None,
        on_progress: Progress | None = None,
    ) -> FineTunedCard:
        """Fine-tune the base and save it as a sentence-transformers folder, which `Rerank` loads.

        It takes the arguments of `EmbedderTraining.fit`, goes on after an interruption and raises as that does; the
        seed is also that of a fresh head.
        """
        examples = listwise_examples(instances, FORMATS["plain"], anchors=self.anchors, scope=self.scope)
        return fine_tune(
            self,
            examples,
            Path(folder),
            what="reranker",
            system="rerank",
            load=partial(_cross_encoder, seed=seed),
            seed=seed,
            data=described_data(instances, data),
            on_progress=on_progress,
        )


def _cross_encoder(folder: Path, device: str, seed: int) -> "CrossEncoder":
    """Return a cross-encoder of one output, from local safetensors without code of its own."""
    import torch  # noqa: PLC0415 - an extra, and slow to import
    from sentence_transformers import CrossEncoder  # noqa: PLC0415

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(np.random.default_rng([seed]).integers(2**62)))  # a fresh head is drawn here
        try:
            model: CrossEncoder = CrossEncoder(
                str(folder),
                device="cpu",  # so that the head does not depend on where it is trained
                num_labels=1,
                trust_remote_code=False,
                local_files_only=True,
                activation_fn=torch.nn.Identity(),
                model_kwargs={"use_safetensors": True, "dtype": torch.float32},
            )
        except Exception as error:  # broken files fail in as many ways as there are libraries below
            raise ModelError(f"{folder}: cannot be loaded as a base for a reranker: {error}") from error
    return model.to(device)
