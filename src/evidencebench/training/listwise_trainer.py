"""The trainers of sentence-transformers with a listwise loss. Importing this module imports torch, which is slow."""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from sentence_transformers import (
    CrossEncoder,
    CrossEncoderTrainer,
    CrossEncoderTrainingArguments,
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from transformers import PrinterCallback, TrainerCallback

from evidencebench.errors import ModelError
from evidencebench.models.embedding.formats import EncodedText
from evidencebench.models.embedding.transformer import model_inputs
from evidencebench.training.listwise import Floats, ListwiseBatch, ListwiseExample

Draw = Callable[[Sequence[int], int], ListwiseBatch]
"""Positions of examples, epoch -> the batch drawn of them."""

Features = dict[str, Any]
Model = SentenceTransformer | CrossEncoder

_WARM_UP = 0.1  # the share of the steps in which the learning rate rises
_WEIGHT_DECAY = 0.01
_LONGEST_GRADIENT = 1.0


def make_trainer(
    model: Model,
    loss: torch.nn.Module,
    draw: Draw,
    folder: Path,
    *,
    n_examples: int,
    max_tokens: int | None,
    on_progress: Callable[[int, int], None] | None,
    **arguments: Any,
) -> "EmbedderTrainer | RerankerTrainer":
    """Return the trainer of a model, on the model's device; checkpoints go to a folder.

    Texts are cut to ``max_tokens``; ``arguments`` are further arguments of sentence-transformers.
    """
    from datasets import Dataset  # noqa: PLC0415 - an extra

    make: Any = RerankerTrainer
    make_arguments: Any = CrossEncoderTrainingArguments
    if isinstance(model, SentenceTransformer):
        make, make_arguments = EmbedderTrainer, SentenceTransformerTrainingArguments
    given = make_arguments(
        output_dir=str(folder),
        lr_scheduler_type="linear",
        warmup_steps=_WARM_UP,
        weight_decay=_WEIGHT_DECAY,
        max_grad_norm=_LONGEST_GRADIENT,
        use_cpu=model.device.type == "cpu",
        save_strategy="steps",
        save_total_limit=1,
        logging_steps=1,
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
        **arguments,
    )
    given.device  # noqa: B018 - the first access counts the GPUs
    given._n_gpu = min(given._n_gpu, 1)  # noqa: SLF001 - the labels of a batch cannot be split over several GPUs
    collator = ListwiseCollator(model, draw, max_tokens)
    trainer: EmbedderTrainer | RerankerTrainer = make(
        model=model,
        args=given,
        train_dataset=Dataset.from_dict({"place": list(range(n_examples))}),
        data_collator=collator,
        loss=loss,
        callbacks=[_TrainingCallback(collator, on_progress)],
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


class _PlainTrainer:
    """The base of both trainers, without the library's model card, which would read the data and ask the hub."""

    model: Any
    has_begun = False  # whether a step has begun: then the checkpoint was read without error

    def training_step(self, *given: Any, **named: Any) -> Any:
        """Note that training has begun, and take a step."""
        self.has_begun = True
        return super().training_step(*given, **named)  # type: ignore[misc]

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """Add no callback that writes a model card."""

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:  # noqa: ARG002 - the library's
        self.model.save_pretrained(output_dir, create_model_card=False)


class EmbedderTrainer(_PlainTrainer, SentenceTransformerTrainer):
    """Trains an embedder."""


class RerankerTrainer(_PlainTrainer, CrossEncoderTrainer):
    """Trains a reranker."""


class ListwiseCollator:
    """Turns positions of examples into tokens and labels of texts drawn of them, other texts in each epoch."""

    valid_label_columns: ClassVar[list[str]] = []  # the trainer reads it

    def __init__(self, model: Model, draw: Draw, max_tokens: int | None) -> None:
        self.epoch = 0
        self._model, self._draw = model, draw
        self._longest = model.max_seq_length
        self._cut = max_tokens or self._longest

    def __call__(self, rows: Sequence[dict[str, int]]) -> Features:
        """Return the input of the loss: tokens under names such as ``part0_input_ids``, and ``label``."""
        batch = self._draw([row["place"] for row in rows], self.epoch)
        label = torch.from_numpy(batch.labels).float()
        try:
            if isinstance(self._model, CrossEncoder):
                pairs = [
                    EncodedText(batch.texts[column].text, "", batch.anchors[row].text)
                    for row, column in np.argwhere(~np.isnan(batch.labels))
                ]
                return {"label": label, "pairs": self._tokens(pairs, self._cut)}
            parts = [list(of_prefix) for _, of_prefix in groupby(batch.anchors, key=lambda anchor: anchor.prefix)]
            tokens = [self._tokens(part, self._longest) for part in parts] + [self._tokens(batch.texts, self._cut)]
        finally:
            self._model.max_seq_length = self._longest
        named = {f"part{at}_{key}": value for at, part in enumerate(tokens) for key, value in part.items()}
        return {"label": label, **named}

    def _tokens(self, texts: Sequence[EncodedText], max_tokens: int | None) -> Features:
        """Return the tokens of texts that share a prefix, and are all single texts or all pairs."""
        self._model.max_seq_length = max_tokens
        found: Features = self._model.preprocess(model_inputs(texts), prompt=texts[0].prefix or None)
        return found


class EmbedderLoss(torch.nn.Module):
    """The listwise loss of the similarities between anchors and texts."""

    def __init__(self, model: Model, similarity: str, temperature: float) -> None:
        super().__init__()
        self.model = model
        self._similarity, self._temperature = similarity, temperature

    def forward(self, features: Sequence[Features], labels: torch.Tensor) -> torch.Tensor:
        """Return the loss; the last entry of the features holds the texts, the others hold the anchors."""
        vectors = [self.model(part)["sentence_embedding"] for part in features]
        if self._similarity != "dot":
            vectors = [torch.nn.functional.normalize(part, dim=-1) for part in vectors]
        return listwise_loss(torch.cat(vectors[:-1]) @ vectors[-1].T / self._temperature, labels)


class RerankerLoss(torch.nn.Module):
    """The listwise loss of a cross-encoder's scores of (anchor, text) pairs."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        features: Sequence[Features],
        labels: torch.Tensor,
        prompt: str | None = None,  # noqa: ARG002 - the trainer's
        task: str | None = None,  # noqa: ARG002 - the trainer's
    ) -> torch.Tensor:
        """Return the loss; the features hold the pairs that have a label, row by row."""
        scores = torch.zeros_like(labels)
        scores[~labels.isnan()] = self.model(features[0])["scores"].flatten().to(labels.dtype)
        return listwise_loss(scores, labels)


def listwise_loss(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the cross-entropy of a softmax over the sentences of one paper [1]_, mean over the papers.

    ``-sum_i p_i log softmax(scores)_i`` of each row, over the texts that take part. Scores and labels are anchors x
    texts, the labels as in `ListwiseBatch`.

    .. [1] Cao et al., "Learning to Rank: From Pairwise Approach to Listwise Approach", ICML 2007 (ListNet).
    """
    takes_part = ~labels.isnan()
    logarithms = torch.log_softmax(scores.masked_fill(~takes_part, -math.inf), dim=1)
    return -(labels[takes_part] * logarithms[takes_part]).sum() / labels[takes_part].sum()


class _TrainingCallback(TrainerCallback):
    """Passes the epoch to the collator and the progress to the caller; raises if the loss is not finite."""

    def __init__(self, collator: ListwiseCollator, on_progress: Callable[[int, int], None] | None) -> None:
        self._collator, self._on_progress = collator, on_progress

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - the library's
        self._collator.epoch = int(state.epoch)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:  # noqa: ARG002
        loss, length = logs.get("loss", 0.0), logs.get("grad_norm", 0.0)
        if not (math.isfinite(loss) and math.isfinite(length)):
            raise NotFiniteError(
                f"training: step {state.global_step} of {state.max_steps}: expected a finite loss and gradient, got "
                f"{loss} and {length}; nothing is kept: lower the learning rate"
            )

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        if self._on_progress is not None:
            self._on_progress(state.global_step, state.max_steps)


class NotFiniteError(ModelError):
    """The loss or its gradient is not finite."""


def hardness_weights(
    model: SentenceTransformer,
    examples: Sequence[ListwiseExample],
    hardness: float,
    max_tokens: int | None,
    similarity: str,
) -> list[Floats]:
    """Return, for each example, the weight of each text when negatives are drawn: exp(hardness * z).

    z is the standardised similarity of the text to the first anchor, computed with the model as it is now.
    """
    longest = model.max_seq_length
    found = []
    for example in examples:
        anchor = _vectors(model, [example.anchors[0].text], longest, similarity)[0]
        scores = _vectors(model, example.texts, max_tokens or longest, similarity) @ anchor
        standard = (scores - scores.mean()) / max(float(scores.std()), 1e-9)
        found.append(np.exp(hardness * standard))
    model.max_seq_length = longest
    return found


def _vectors(
    model: SentenceTransformer, texts: Sequence[EncodedText], max_tokens: int | None, similarity: str
) -> Floats:
    model.max_seq_length = max_tokens
    found: Any = model.encode(
        model_inputs(texts),
        prompt=texts[0].prefix or None,
        normalize_embeddings=similarity != "dot",
        show_progress_bar=False,
    )
    vectors: Floats = found.astype(np.float64)
    return vectors


@contextmanager
def own_randomness() -> Iterator[None]:
    """Restore the random state of the process after the block, since the trainer sets seeds."""
    of_python, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - what the trainer seeds
    with torch.random.fork_rng():
        try:
            yield
        finally:
            random.setstate(of_python)
            np.random.set_state(of_numpy)  # noqa: NPY002
