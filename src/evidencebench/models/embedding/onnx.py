"""Local models on ONNX Runtime, faster without a GPU: converted once and cached; each text is computed alone."""

import hashlib
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evidencebench.engine.local import usable_processors
from evidencebench.errors import CacheError, DataError, ModelError
from evidencebench.files.atomic import write_whole
from evidencebench.files.disk import read_whole
from evidencebench.models.embedding.encoder import EncodedText, Floats, VectorBatch, loaded_once
from evidencebench.models.embedding.local import LocalModel, load_transformer
from evidencebench.provenance import library_versions

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

LIBRARIES = ("onnxruntime", "tokenizers")
_CONVERSION = "1"  # raised when the conversion changes
_MOST_BYTES = 4 << 30  # twice what an ONNX model may have
_TEXTS_A_BATCH = 64
_LEAST_COSINE = 0.9999
_PROBES = ("Tea.", "Tea lowered blood pressure by 3 mmHg (95% CI 1 to 5).", "The trial was small. " * 12)


class OnnxEncoder:
    """A converted model. Make one with `onnx_encoder`, which loads each model once."""

    def __init__(self, local: LocalModel, *, folder: Path | None) -> None:
        import onnxruntime  # noqa: PLC0415 - an extra, and slow to import
        from tokenizers import Tokenizer  # noqa: PLC0415

        identity = f"sha256={local.digest()}|pooling={local.pooling}|max_tokens={local.max_tokens}"
        content = _convert(local) if folder is None else _load_or_convert(local, identity, folder)
        options = onnxruntime.SessionOptions()
        # Each text runs on one thread, several texts at a time. That is faster than several threads for one text, and
        # gives the same sums for any number of processors.
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        metadata = self._session.get_modelmeta().custom_metadata_map
        self._tokenizer = Tokenizer.from_str(metadata["tokenizer"])
        self._tokenizer.no_padding()
        if "max_tokens" in metadata:
            self._tokenizer.enable_truncation(int(metadata["max_tokens"]))
        self._inputs = frozenset(given.name for given in self._session.get_inputs())
        versions = ",".join(f"{name}={number}" for name, number in library_versions(*LIBRARIES).items())
        self.identity: str = f"onnx{_CONVERSION}|{identity}|float32|{versions}"

    def batches(self, texts: Sequence[EncodedText]) -> Iterator[VectorBatch]:
        """Yield vectors in the order of the texts; batches only set how many are stored at a time."""
        inputs = [
            text.prefix + text.text if text.title is None else (text.prefix + text.title, text.text) for text in texts
        ]
        n_processors = usable_processors()
        for start in range(0, len(texts), _TEXTS_A_BATCH):
            encodings = self._tokenizer.encode_batch(inputs[start : start + _TEXTS_A_BATCH])
            with ThreadPoolExecutor(min(len(encodings), n_processors)) as pool:
                vectors = np.concatenate(list(pool.map(self._vector, encodings)))
            yield VectorBatch(
                positions=range(start, start + len(encodings)),
                vectors=vectors,
                is_truncated=[bool(encoding.overflowing) for encoding in encodings],
            )

    def _vector(self, tokens: Any) -> Floats:
        by_name = {"input_ids": tokens.ids, "attention_mask": tokens.attention_mask, "token_type_ids": tokens.type_ids}
        given = {name: np.array([values], np.int64) for name, values in by_name.items() if name in self._inputs}
        vector: Floats = self._session.run(None, given)[0]
        return vector


@loaded_once
def onnx_encoder(local: LocalModel, *, folder: Path | None) -> OnnxEncoder:
    return OnnxEncoder(local, folder=folder)


def _load_or_convert(local: LocalModel, identity: str, folder: Path) -> bytes:
    """Return a conversion of the cache, whose file has its digest in its name; one that is damaged is made again."""
    folder, key = folder / "onnx", hashlib.sha256(f"{_CONVERSION}|{identity}".encode()).hexdigest()[:32]
    for path in folder.glob(f"{key}-*.onnx"):
        with suppress(OSError):
            content = read_whole(path, at_most=_MOST_BYTES)
            if path.stem == f"{key}-{hashlib.sha256(content).hexdigest()}":
                return content
            path.unlink()
    content = _convert(local)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{key}-{hashlib.sha256(content).hexdigest()}.onnx", content)
    except (OSError, DataError) as error:
        raise CacheError(
            f"{folder}: cannot be used to keep a converted model: {getattr(error, 'strerror', None) or error}; set "
            "EVIDENCEBENCH_CACHE to a folder that can be written, or to 'off' to keep none"
        ) from error
    return content


def _convert(local: LocalModel) -> bytes:
    import onnx  # noqa: PLC0415 - an extra, and slow to import

    model = load_transformer(local, "cpu")
    local.digest()  # raises if the files changed while they were loaded
    tokenizer = model.tokenizer
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(
            f"{local.folder}: expected a tokenizer.json to convert it to ONNX, got none; use backend=torch"
        )
    if any(not getattr(part, "include_prompt", True) for part in model):
        raise ModelError(f"{local.folder}: leaves its prompts out when it pools, which ONNX cannot; use backend=torch")
    with tempfile.TemporaryDirectory(prefix="evidencebench-onnx-") as temporary:
        path = Path(temporary) / "model.onnx"
        try:
            _export(model, path)
        except Exception as error:  # an exporter can fail in many ways
            raise ModelError(f"{local.folder}: cannot be converted to ONNX: {error}; use backend=torch") from error
        _require_same(local, model, path)
        metadata = {"tokenizer": tokenizer.backend_tokenizer.to_str()}
        if model.max_seq_length is not None:
            metadata["max_tokens"] = str(model.max_seq_length)
        whole = onnx.load(path)
        onnx.helper.set_model_props(whole, metadata)
        content: bytes = whole.SerializeToString()
        return content


def _export(model: "SentenceTransformer", path: Path) -> None:
    import torch  # noqa: PLC0415 - an extra, and slow to import

    names = [
        name for name in ("input_ids", "attention_mask", "token_type_ids") if name in model.tokenizer.model_input_names
    ]

    class Whole(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *values: torch.Tensor) -> torch.Tensor:
            vectors: torch.Tensor = self.model(dict(zip(names, values, strict=True)))["sentence_embedding"]
            return vectors

    example = model.tokenizer(
        list(_PROBES), padding=True, truncation=True, max_length=model.max_seq_length, return_tensors="pt"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns; `_require_same` checks its result
        torch.onnx.export(
            Whole().eval(),
            tuple(example[name] for name in names),
            str(path),
            input_names=names,
            output_names=["vector"],
            dynamic_axes={name: {0: "texts", 1: "tokens"} for name in names} | {"vector": {0: "texts"}},
            opset_version=17,
            dynamo=False,
        )


def _require_same(local: LocalModel, model: "SentenceTransformer", path: Path) -> None:
    """Raise unless the converted model gives the model's own vectors, also for text lengths that were not exported."""
    import onnxruntime  # noqa: PLC0415 - an extra, and slow to import

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    wanted = model.encode(list(_PROBES), show_progress_bar=False)
    for text, expected in zip(_PROBES, wanted, strict=True):
        tokens = model.tokenizer([text], truncation=True, max_length=model.max_seq_length, return_tensors="np")
        given = {item.name: tokens[item.name].astype(np.int64) for item in session.get_inputs()}
        got = session.run(None, given)[0][0]
        cosine = float(got @ expected / (np.linalg.norm(got) * np.linalg.norm(expected)))
        if not cosine >= _LEAST_COSINE:
            raise ModelError(
                f"{local.folder}: converted to ONNX: expected the model's own vectors, got a cosine of {cosine:.4f} to "
                "them; use backend=torch"
            )
