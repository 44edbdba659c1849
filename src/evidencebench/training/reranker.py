"""Fine-tune a reranker: a model that reads the hypothesis with each sentence learns which of them state more of it."""

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
    """How a reranker is fine-tuned: the options of `FineTuning`, of which three have their own sense here.

    Attributes
    ----------
    base
        An encoder gets a fresh head, which learns too; a cross-encoder of one output keeps its own.
    scope
        The model does not see which is meant, so ``both`` makes one order for either.
    max_tokens
        Where hypothesis and sentence together are cut.

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
        """Return a cross-encoder of one output, from local safetensors without code of its own; raises `ModelError`."""
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

    def _loss(self, model: Any) -> "torch.nn.Module":
        from evidencebench.training.listwise_trainer import RerankerLoss  # noqa: PLC0415 - imports torch

        return RerankerLoss(model)
