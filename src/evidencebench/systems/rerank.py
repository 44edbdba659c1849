"""A cross-encoder over the first sentences of another system's answer."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evidencebench.errors import ModelError, SystemSpecError
from evidencebench.models.embedding.encoder import loaded_once
from evidencebench.models.embedding.local import (
    Dtype,
    LocalModel,
    PinnedDigest,
    pinned_files,
    quiet_loading,
    require_model,
)
from evidencebench.models.model_card import fine_tuned_on
from evidencebench.provenance import library_versions, require_extra
from evidencebench.query import Query
from evidencebench.system import NamedSystem, Ranking, RankingTask, Traits, merged_notes
from evidencebench.systems.fusion import full_order

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

_MIN_TOKENS = 8  # for two texts and the marks around them


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerank:
    """Another system's first sentences, reordered by a model that reads each with the hypothesis.

    The model is a cross-encoder with one output, which is the score, without a sigmoid. Sentences behind the first
    ``top`` keep the other system's order, and so do sentences of equal scores. The answer has scores only if the model
    read every sentence. The model is loaded when it is first asked. Weights must be safetensors, and code that comes
    with a model is not run.
    """

    system: NamedSystem  # whose answer is reordered; a set without order is taken in paper order
    model: str  # a folder, or a hub id such as cross-encoder/ms-marco-MiniLM-L6-v2
    revision: str | None = None  # for a hub id: commit, branch or tag
    top: int = 20  # how many sentences the model reads
    max_tokens: int | None = None  # of hypothesis and sentence together; None: the limit in the model's own files
    batch_size: int = 32  # how many sentences the model reads at once
    device: str = "auto"  # as torch names it, such as cpu or cuda:1; auto: a GPU if the machine has one
    dtype: Dtype = "float32"
    _files: PinnedDigest = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_files", pinned_files(self.model, self.revision))
        for name, value in (("top", self.top), ("batch_size", self.batch_size)):
            if value < 1:
                raise SystemSpecError(f"rerank: {name}: expected a number of at least 1, got {value}")
        if self.max_tokens is not None and self.max_tokens < _MIN_TOKENS:
            raise SystemSpecError(f"rerank: max_tokens: expected at least {_MIN_TOKENS}, got {self.max_tokens}")
        require_extra("rerank", "dense", "sentence_transformers")
        require_model("rerank", self.model, self.revision)

    @property
    def traits(self) -> Traits:
        return Traits(versions=self._versions, trained_on=lambda: fine_tuned_on(self.model))

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        answer = self.system.rank(query, task)
        order = full_order(answer, len(query.sentences))
        first, rest = order[: self.top], order[self.top :]
        texts = {index: query.sentences[index] for index in first}
        # The model reads equal sentences once, so that their scores are equal to the last bit.
        score_of, cut = self._read(query.hypothesis, list(dict.fromkeys(texts.values())))
        reordered = sorted(first, key=lambda index: -score_of[texts[index]])
        n_cut = sum(text in cut for text in texts.values())
        return Ranking(
            sentences=(*reordered, *rest),
            scores=None if rest else tuple(score_of[texts[index]] for index in reordered),
            notes=merged_notes(answer.notes, {"truncated_sentences": n_cut} if n_cut else {}),
        )

    def _versions(self) -> dict[str, str]:
        """Return the versions of the libraries and the checksum of the model; it is downloaded for that if needed."""
        libraries = library_versions("torch", "sentence-transformers", "transformers", "tokenizers")
        return {**libraries, f"model {self.model}": f"sha256:{self._files.digest()}"}

    def _read(self, hypothesis: str, texts: list[str]) -> tuple[dict[str, float], set[str]]:
        """Return text -> score, and the texts that were cut because they are too long for the model."""
        if not texts:
            return {}, set()
        model = _load_cross_encoder(
            LocalModel(
                sha256=self._files.digest(),
                model=self.model,
                revision=self.revision,
                max_tokens=self.max_tokens,
                dtype=self.dtype,
                device=self.device,
            )
        )
        pairs = [(hypothesis, text) for text in texts]
        outputs = model.predict(pairs, batch_size=self.batch_size, show_progress_bar=False)
        if outputs.shape != (len(texts),):
            raise ModelError(f"rerank: model '{self.model}': expected one score a sentence, got shape {outputs.shape}")
        score_of: dict[str, float] = dict(zip(texts, outputs.tolist(), strict=True))
        for text, score in score_of.items():
            if not math.isfinite(score):
                raise ModelError(f"rerank: model '{self.model}': expected finite scores, got {score} for '{text[:60]}'")
        read = model.tokenizer([hypothesis] * len(texts), texts, truncation=False, padding=False, verbose=False)
        limit = model.max_seq_length or math.inf
        return score_of, {text for text, ids in zip(texts, read["input_ids"], strict=True) if len(ids) > limit}


@loaded_once
def _load_cross_encoder(local: LocalModel) -> "CrossEncoder":
    import torch  # noqa: PLC0415 - an extra, and slow to import
    from sentence_transformers import CrossEncoder  # noqa: PLC0415

    folder = local.folder
    try:
        with quiet_loading():
            loaded: CrossEncoder = CrossEncoder(
                str(folder),
                device=None if local.device == "auto" else local.device,
                max_length=local.max_tokens,
                trust_remote_code=False,
                local_files_only=True,
                activation_fn=torch.nn.Identity(),
                model_kwargs={"use_safetensors": True},
            )
            loaded.to(getattr(torch, local.dtype))  # in place
    except Exception as error:  # broken files can fail in any library
        raise ModelError(f"rerank: model '{local.model}': cannot be loaded: {type(error).__name__}: {error}") from error
    local.digest()  # raises if the files changed while they were loaded
    return loaded
