"""Fine-tune a reranker: a model that reads a hypothesis with a sentence learns to score sentences by their aspects."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evidencebench.data.instance import Instance
from evidencebench.errors import ModelError
from evidencebench.models.embedding.formats import FORMATS
from evidencebench.training.fine_tuning import FineTuning
from evidencebench.training.listwise import ListwiseExample, listwise_examples

if TYPE_CHECKING:
    import torch
    from sentence_transformers import CrossEncoder


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankerTraining(FineTuning):
    """The training of a reranker; its options are those of `FineTuning`, and three mean something else here.

    Attributes
    ----------
    base
        An encoder gets a new head, which is trained too; a cross-encoder with one output keeps its own.
    scope
        The model does not read the scope, so ``both`` gives one order for both scopes.
    max_tokens
        Hypothesis and sentence together are cut to this many tokens.

    References
    ----------
    .. [1] Nogueira and Cho, "Passage Re-ranking with BERT", 2019, arXiv:1901.04085.
    """

    kind: ClassVar[str] = "reranker"
    system: ClassVar[str] = "rerank"

    epochs: int = 3
    max_tokens: int | None = 128

    def _examples(self, instances: Sequence[Instance]) -> list[ListwiseExample]:
        return listwise_examples(instances, FORMATS["plain"], anchors=self.anchors, scope=self.scope)

    def _load(self, folder: Path, device: str, seed: int) -> "CrossEncoder":
        """Return a cross-encoder with one output, from safetensors in a folder; raise `ModelError` if that fails."""
        import torch  # noqa: PLC0415 - an extra, and slow to import
        from sentence_transformers import CrossEncoder  # noqa: PLC0415

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(np.random.default_rng([seed]).integers(2**62)))  # decides the weights of a new head
            try:
                model: CrossEncoder = CrossEncoder(
                    str(folder),
                    device="cpu",  # so that the head does not depend on the device of the training
                    num_labels=1,
                    trust_remote_code=False,
                    local_files_only=True,
                    activation_fn=torch.nn.Identity(),
                    model_kwargs={"use_safetensors": True, "dtype": torch.float32},
                )
            except Exception as error:  # broken files can fail in any library
                raise ModelError(f"{folder}: cannot be loaded as a base for a reranker: {error}") from error
        return model.to(device)

    def _loss(self, model: Any) -> "torch.nn.Module":
        from evidencebench.training.listwise_trainer import RerankerLoss  # noqa: PLC0415 - imports torch

        return RerankerLoss(model)
