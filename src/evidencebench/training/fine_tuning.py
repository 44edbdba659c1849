"""Fine-tune embedders and rerankers: a thin layer over the trainers and losses of sentence-transformers.

A row of their data is a hypothesis, sentences of its paper, and what each of these is to score.
"""

import hashlib
import math
import re
import shutil
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np

from evidencebench.data.instance import Instance
from evidencebench.errors import DataError, ModelError, SystemSpecError
from evidencebench.files.atomic import restore_folder, swap_folder, write_whole
from evidencebench.files.disk import PathText
from evidencebench.files.places import hold
from evidencebench.models.embedding.encoder import FORMATS, hypothesis_text, sentence_texts
from evidencebench.models.embedding.local import (
    LIBRARIES,
    MINILM_PACKAGE,
    LocalModel,
    chosen_device,
    load_transformer,
    minilm_folder,
    model_digest,
    model_folder,
    quietly,
    require_model,
)
from evidencebench.models.model_card import CARD, FineTunedCard, require_replaceable
from evidencebench.provenance import require_extra
from evidencebench.query import AspectScope
from evidencebench.training.folds import data_entries, version_entries

Row = dict[str, Any]

_SCOPES: Mapping[str, tuple[AspectScope, ...]] = {"all": ("all",), "results": ("results",), "both": ("all", "results")}
_LEAST = {"learning_rate": 1e-12, "temperature": 1e-12, "max_tokens": 8}  # others: 1
_EMBEDDING = re.compile(r"embed|\bwte\b|\bwpe\b")
_LAYER = re.compile(r"(?:^|\.)(?:layers?|h|block|blocks)\.(\d+)\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _FineTuning:
    """A fine-tuning, with the options that both kinds share; docs/training.md says what each is."""

    kind: ClassVar[str]  # the kind of model in its card
    system: ClassVar[str]  # that answers with the model

    base: str = "minilm"
    revision: str | None = None
    scope: Literal["all", "results", "both"] = "both"
    epochs: int = 2
    batch_size: int = 4
    learning_rate: float = 1e-4
    positives: int = 12
    negatives: int = 24
    trained_layers: int | None = 3
    max_tokens: int | None = 128
    checkpoint_steps: int = 10
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"

    def __post_init__(self) -> None:
        name = f"train {self.kind}"
        for option, value in asdict(self).items():
            lowest = _LEAST.get(option, 1)
            if type(value) in {int, float} and not lowest <= value < math.inf:
                raise SystemSpecError(f"{name}: {option}: expected at least {lowest}, got {value}")
        require_extra(name, "finetune", "torch", "sentence_transformers", "accelerate", "datasets")
        if self.base != "minilm":
            require_model(name, self.base, self.revision)
            return
        require_extra(name, "minilm", MINILM_PACKAGE)
        if self.revision is not None:
            raise SystemSpecError(f"{name}: revision: 'minilm' lies in a package, which has none; leave it out")

    def _trainer(self, base: Path, rows: list[Row], device: str, seed: int, arguments: dict[str, Any]) -> Any:
        raise NotImplementedError

    def fit(
        self,
        instances: Sequence[Instance],
        folder: PathText,
        *,
        seed: int = 0,
        data: Mapping[str, Any] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> FineTunedCard:
        """Fine-tune the base and save it as a folder that the system loads; an older model in it is replaced.

        Checkpoints lie in ``FOLDER.part``; after an interruption, the same call goes on from the last one.
        ``on_progress`` is called with (steps taken, steps in all).
        """
        folder = Path(folder).expanduser().resolve()
        base = minilm_folder() if self.base == "minilm" else model_folder(self.base, self.revision)
        rows = self._rows(instances, seed)
        options = {key: value for key, value in asdict(self).items() if key not in {"base", "revision"}}
        described: dict[str, Any] = {
            "evidencebench_model": self.kind,
            "base": {
                "model": base.name if Path(self.base).expanduser().is_dir() else self.base,
                "revision": self.revision,
                "sha256": model_digest(base),
            },
            "options": options | {"seed": seed},
            "data": data_entries([instance.query.paper_id for instance in instances], data),
            "versions": version_entries(*LIBRARIES, "accelerate"),
        }
        with _training_folder(folder, described, rows) as (work, checkpoint), quietly():
            arguments = {
                "output_dir": str(work),
                "num_train_epochs": 1,  # the rows hold those of all epochs
                "per_device_train_batch_size": self.batch_size,
                "learning_rate": self.learning_rate,
                "warmup_steps": 0.1,
                "weight_decay": 0.01,
                "save_strategy": "steps",
                "save_steps": self.checkpoint_steps,
                "save_total_limit": 1,
                "seed": seed,
                "use_cpu": chosen_device(self.device) == "cpu",
                "logging_steps": 1,
                "logging_nan_inf_filter": False,
                "report_to": "none",
                "disable_tqdm": True,
            }
            trainer = self._trainer(base, rows, chosen_device(self.device), seed, arguments)
            model = trainer.model
            layers = {name: int(match[1]) for name, _ in model.named_parameters() if (match := _LAYER.search(name))}
            first = 1 + max(layers.values(), default=-1) - (self.trained_layers or 0)
            for name, weights in model.named_parameters() if self.trained_layers else ():
                weights.requires_grad_(layers[name] >= first if name in layers else not _EMBEDDING.search(name))
            longest, model.max_seq_length = model.max_seq_length, self.max_tokens or model.max_seq_length
            _train(trainer, checkpoint, work, on_progress)
            model.max_seq_length = longest
            losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
            card = FineTunedCard(
                answers_with={"system": self.system, "options": getattr(self, "answers_with", {})},
                n_steps=trainer.state.global_step,
                loss=tuple(float(part.mean()) for part in np.array_split(losses, self.epochs) if len(part)),
                **described,
            )
            _put_model(model, card, work, folder)
        return card

    def _rows(self, instances: Sequence[Instance], seed: int) -> list[Row]:
        """Return the rows of all epochs; a label is the logarithm of a text's share of the aspects of its row."""
        sources: dict[str, set[str]] = {}  # paper -> sentences that state something of any of its hypotheses
        for instance in instances:
            indices = {index for stating in instance.labels.sources.values() for index in stating}
            sources.setdefault(instance.query.paper_id, set()).update(instance.query.sentences[n] for n in indices)
        generator = np.random.default_rng(seed)
        rows = [
            row
            for _ in range(self.epochs)
            for instance in instances
            for scope in _SCOPES[self.scope]
            if (row := self._row(instance, scope, sources[instance.query.paper_id], generator))
        ]
        if not rows:
            wanted = f"expected instances with a source to find (scope: {self.scope})"
            raise DataError(f"training: {wanted}, got none among {len(instances)}")
        return rows

    def _row(
        self, instance: Instance, scope: AspectScope, sources: set[str], generator: np.random.Generator
    ) -> Row | None:
        """Return a row; the sources of the paper's other instances are not wrong, and a repetition is no other text."""
        query, labels = instance.query, instance.labels
        text_format = FORMATS[getattr(self, "format", "plain")]
        texts = [text.prefix + text.text for text in sentence_texts(query, text_format, scope)]
        counts: Counter[str] = Counter()  # text -> how many of the scope's aspects it states
        for aspect in labels.that_count(scope):
            counts.update(dict.fromkeys((texts[index] for index in labels.sources.get(aspect, ())), 1))
        own = {index for aspect in labels.aspects for index in labels.sources.get(aspect, ())}
        is_known = (index in own or sentence not in sources for index, sentence in enumerate(query.sentences))
        known = dict.fromkeys(text for text, judged in zip(texts, is_known, strict=True) if judged)
        right, wrong = list(counts), [text for text in known if text not in counts]
        if not right or not wrong:
            return None
        n_right = min(self.positives, len(right))
        n_wrong = self.positives + self.negatives - n_right  # all rows are of one length
        drawn = [right[place] for place in generator.choice(len(right), n_right, replace=False)]
        drawn += [wrong[place] for place in generator.choice(len(wrong), n_wrong, replace=len(wrong) < n_wrong)]
        total = sum(counts[text] for text in drawn)
        anchor = hypothesis_text(query, text_format, scope)
        label = [math.log(counts[text] / total) if text in counts else -math.inf for text in drawn]
        return {"anchor": anchor.prefix + anchor.text, "texts": drawn, "label": label}


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderTraining(_FineTuning):
    """The training of an embedder for `Dense`."""

    kind: ClassVar[str] = "embedder"
    system: ClassVar[str] = "dense"

    format: Literal["plain", "e5", "e5_mistral", "gritlm", "bge"] = "e5_mistral"
    temperature: float = 0.05

    @property
    def answers_with(self) -> dict[str, Any]:
        """The options of `Dense`, beside ``model``, that make it write texts as in training."""
        return {} if self.format == "plain" else {"format": self.format}

    def _trainer(self, base: Path, rows: list[Row], device: str, seed: int, arguments: dict[str, Any]) -> Any:  # noqa: ARG002 - nothing is drawn
        import sentence_transformers as library  # noqa: PLC0415 - an extra, and slow to import
        from datasets import Dataset  # noqa: PLC0415
        from sentence_transformers.sentence_transformer.losses import DistillKLDivLoss  # noqa: PLC0415
        from sentence_transformers.util import pairwise_cos_sim  # noqa: PLC0415

        model = load_transformer(LocalModel(model=str(base), pooling=FORMATS[self.format].pooling), device)
        model.model_card_data.widget = [{}]  # else examples are computed, under a bar of progress
        columns = []
        for row in rows:
            texts = {f"text{place}": text for place, text in enumerate(row["texts"])}
            label = [self.temperature * value for value in row["label"]]  # the loss divides by it
            columns.append({"anchor": row["anchor"], **texts, "label": label})
        return library.SentenceTransformerTrainer(
            model=model,
            args=library.SentenceTransformerTrainingArguments(**arguments),
            train_dataset=Dataset.from_list(columns),
            loss=DistillKLDivLoss(model, similarity_fct=pairwise_cos_sim, temperature=self.temperature),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankerTraining(_FineTuning):
    """The training of a reranker for `Rerank`: an encoder gets a new head, a cross-encoder keeps its own."""

    kind: ClassVar[str] = "reranker"
    system: ClassVar[str] = "rerank"

    epochs: int = 3

    def _trainer(self, base: Path, rows: list[Row], device: str, seed: int, arguments: dict[str, Any]) -> Any:
        import sentence_transformers as library  # noqa: PLC0415 - an extra, and slow to import
        import torch  # noqa: PLC0415
        from datasets import Dataset  # noqa: PLC0415
        from sentence_transformers.cross_encoder.losses import ListNetLoss  # noqa: PLC0415

        torch.manual_seed(seed)  # decides the weights of a new head
        try:
            model = library.CrossEncoder(
                str(base),
                device="cpu",  # whatever the training's is, so that the head is the same
                num_labels=1,
                trust_remote_code=False,
                local_files_only=True,
                activation_fn=torch.nn.Identity(),
                model_kwargs={"use_safetensors": True, "dtype": torch.float32},
            ).to(device)
        except Exception as error:  # broken files can fail in any library
            raise ModelError(f"{base}: cannot be loaded as a base for a reranker: {error}") from error
        model.model_card_data.widget = [{}]  # else examples are computed, under a bar of progress
        return library.CrossEncoderTrainer(
            model=model,
            args=library.CrossEncoderTrainingArguments(**arguments),
            train_dataset=Dataset.from_list(rows),
            loss=ListNetLoss(model),
        )


def _train(trainer: Any, checkpoint: Path | None, work: Path, on_progress: Callable[[int, int], None] | None) -> None:
    from transformers import PrinterCallback, TrainerCallback  # noqa: PLC0415 - an extra, and slow to import

    class Watch(TrainerCallback):
        has_begun = False  # then the checkpoint was read

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - the library's
            self.has_begun = True
            if on_progress is not None:
                on_progress(state.global_step, state.max_steps)

        def on_log(self, args: Any, state: Any, control: Any, **given: Any) -> None:  # noqa: ARG002
            if not math.isfinite(given["logs"].get("loss", 0.0) + given["logs"].get("grad_norm", 0.0)):
                shutil.rmtree(work)
                step = f"step {state.global_step} of {state.max_steps}"
                raise ModelError(f"training: {step}: loss or gradient is not finite; lower the learning rate")

    watch = Watch()
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(watch)
    try:
        trainer.train(resume_from_checkpoint=checkpoint and str(checkpoint))
    except Exception as error:  # damaged files can fail in any library
        if checkpoint is None or watch.has_begun:
            raise
        raise ModelError(f"{checkpoint}: cannot be read: {error}; delete {work} to start over") from error


@contextmanager
def _training_folder(
    folder: Path, described: Mapping[str, Any], rows: Sequence[Row]
) -> Iterator[tuple[Path, Path | None]]:
    """Yield the folder for the checkpoints of this very training, which is locked, and its last whole one, if any."""
    from safetensors import SafetensorError  # noqa: PLC0415 - an extra

    require_replaceable(folder, FineTunedCard)
    part = folder.with_name(f"{folder.name}.part")
    options = described["options"] | {"checkpoint_steps": None}  # decides no weight, so it may change
    plan = msgspec.json.encode([{**described, "options": options}, rows])
    work = part / hashlib.sha256(plan).hexdigest()[:16]
    try:
        work.mkdir(parents=True, exist_ok=True)
        with hold(part / "lock") as is_held:
            if not is_held:
                raise ModelError(f"{part}: another process trains here; wait for it, or choose another folder")
            restore_folder(folder, part / "old")
            checkpoints = sorted(work.glob("checkpoint-*"), key=lambda path: path.stat().st_mtime_ns)
            whole = [path for path in checkpoints if (path / "trainer_state.json").is_file()]  # which is written last
            yield work, whole[-1] if whole else None
    except (OSError, SafetensorError, DataError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "PytorchStreamWriter" not in str(error):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(
            f"{part}: cannot be written: {reason}; make room and run the same command again to resume"
        ) from error


def _put_model(model: Any, card: FineTunedCard, work: Path, folder: Path) -> None:
    """Write a model, then move it to its folder in place of what was there; checkpoints of other trainings stay."""
    draft, part = work / "model", work.parent
    shutil.rmtree(draft, ignore_errors=True)
    tokenizer = getattr(model.tokenizer, "backend_tokenizer", None)
    if tokenizer is not None:  # otherwise its file would hold the last limits of cutting and padding
        tokenizer.no_truncation()
        tokenizer.no_padding()
    model.save_pretrained(str(draft), create_model_card=False)
    write_whole(draft / CARD, msgspec.json.format(msgspec.json.encode(card), indent=1))
    mode = stat.S_IMODE((draft / CARD).stat().st_mode)
    for path in draft.rglob("*.*"):
        path.chmod(mode)  # safetensors writes files that only their owner may read
    swap_folder(draft, folder, part / "old")
    shutil.rmtree(work)
    if [path.name for path in part.iterdir()] == ["lock"]:
        shutil.rmtree(part)
