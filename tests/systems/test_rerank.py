"""A reranker reorders the first sentences by what its model says, and refuses models that are missing or unsafe."""

import importlib.util
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import MissingExtraError, ModelError, SystemSpecError
from evidencebench import Kind, Query, RankingTask, make_system
from kit.cross_encoders import make_cross_encoder, name_layer
from kit.examples import examples
from kit.strategies import queries

TASK = RankingTask(budget=3)
INNERS = ("bm25", "random", "structure")


@pytest.fixture(scope="module")
def model(cross_encoder: Path) -> Path:
    return cross_encoder


@pytest.fixture(scope="module")
def read(model: Path) -> Callable[[str, str], float]:
    """Give a function that has the model read one pair alone."""
    import torch  # noqa: PLC0415 - slow to import, as the next
    from sentence_transformers import CrossEncoder  # noqa: PLC0415

    encoder = CrossEncoder(str(model), activation_fn=torch.nn.Identity())
    return lambda hypothesis, text: float(encoder.predict([(hypothesis, text)], show_progress_bar=False)[0])


def asked(*sentences: str, hypothesis: str = "tea") -> Query:
    kinds = (Kind.BODY,) * len(sentences)
    return Query(instance_id="q", paper_id="p", hypothesis=hypothesis, sentences=sentences, kinds=kinds)


@examples(60)
@given(query=queries(), top=st.integers(1, 12), inner=st.sampled_from(INNERS))
def test_the_first_sentences_are_in_the_models_order_and_the_rest_in_the_other_systems(
    model: Path, read: Callable[[str, str], float], query: Query, top: int, inner: str
) -> None:
    ranking = make_system(f"rerank:system={inner},model={model},top={top},batch_size=3").rank(query, TASK)
    named = make_system(inner).rank(query, TASK).sentences
    before = (*named, *(index for index in range(len(query.sentences)) if index not in named))
    first, rest = ranking.sentences[:top], ranking.sentences[top:]
    assert rest == before[top:]
    assert sorted(first) == sorted(before[:top])
    scores = [read(query.hypothesis, query.sentences[index]) for index in first]
    assert all(high >= low - 1e-5 for high, low in pairwise(scores))
    if rest:
        assert ranking.scores is None
    else:
        assert ranking.scores == pytest.approx(scores, abs=1e-5)


def test_repeated_sentences_score_the_same_and_keep_the_other_systems_order(model: Path) -> None:
    query = asked("tea fell", "the tea", "tea fell", "pressure", "tea fell")
    order = make_system(f"rerank:system=lead,model={model},batch_size=1").rank(query, TASK).sentences
    assert [index for index in order if query.sentences[index] == "tea fell"] == [0, 2, 4]


def test_a_text_longer_than_the_model_can_read_is_cut(model: Path) -> None:
    query = asked("tea " * 500, "pressure", hypothesis="tea " * 500)
    for limit in ("", ",max_tokens=8"):
        ranking = make_system(f"fuse:systems=[rerank:system=lead,model={model}{limit}]").rank(query, TASK)
        assert len(ranking.sentences) == 2
        assert ranking.notes == {"truncated_sentences": 2}  # for one of them, the hypothesis alone is too long
    short = replace(query, hypothesis="tea")
    for spec, n_cut in (("lead", 1), ("lead,top=1", 1)):
        ranking = make_system(f"diverse:system=[rerank:system={spec},model={model}]").rank(short, TASK)
        assert ranking.notes == {"truncated_sentences": n_cut}
    readable = replace(short, sentences=("tea fell", "pressure"))
    assert make_system(f"rerank:system=lead,model={model}").rank(readable, TASK).notes == {}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_precision_is_the_one_asked_for(model: Path, dtype: str) -> None:
    import torch  # noqa: PLC0415 - slow to import

    scores = make_system(f"rerank:system=lead,model={model},dtype={dtype}").rank(asked("tea", "fell"), TASK).scores
    assert scores is not None
    rounded = torch.tensor(scores, dtype=torch.float64).to(torch.bfloat16).to(torch.float64).tolist()
    assert (list(scores) == rounded) == (dtype == "bfloat16")


def test_the_header_holds_libraries_and_the_models_checksum(model: Path, tmp_path: Path) -> None:
    versions = make_system(f"fuse:systems=[bm25+rerank:system=bm25,model={model}]").versions()
    assert {"torch", "sentence-transformers", "transformers", f"model {model}"} <= set(versions)
    other = make_cross_encoder(tmp_path / "other", seed=1)
    differing = make_system(f"rerank:system=bm25,model={other}").versions()[f"model {other}"]
    assert differing.startswith("sha256:")
    assert differing != versions[f"model {model}"]


def ask(model: Path) -> None:
    make_system(f"rerank:system=lead,model={model}").rank(asked("tea", "fell"), TASK)


def test_outputs_that_are_no_score_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"one score.*\(2, 3\)"):
        ask(make_cross_encoder(tmp_path / "three", n_outputs=3))
    with pytest.raises(ModelError, match="nan for 'tea'"):
        ask(make_cross_encoder(tmp_path / "nan", weight=math.nan))


def test_a_model_that_cannot_be_read_is_refused_by_name_and_not_read_again_for_each_paper(tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path / "torn")
    (folder / "model.safetensors").write_bytes(b"torn")
    for _ in range(2):
        with pytest.raises(ModelError, match=f"model '{folder}': cannot be loaded"):
            ask(folder)
    make_cross_encoder(folder)
    ask(folder)  # which is another model by now


def test_models_that_are_missing_or_unsafe_are_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    import torch  # noqa: PLC0415 - slow to import, as the next
    from transformers import BertForSequenceClassification  # noqa: PLC0415

    (tmp_path / "empty").mkdir()
    pickled = make_cross_encoder(tmp_path / "pickled")
    state = BertForSequenceClassification.from_pretrained(pickled).state_dict()
    (pickled / "model.safetensors").unlink()
    torch.save(state, pickled / "pytorch_model.bin")
    coded = make_cross_encoder(tmp_path / "coded")
    name_layer(coded, "own_code.Layer")
    told = {
        "none": f"{tmp_path}/none",
        "empty": "config.json",
        "pickled": "pickle",
        "coded": "own_code.Layer",
    }
    for name, words in told.items():
        with pytest.raises(ModelError, match=words):
            make_system(f"rerank:system=bm25,model={tmp_path / name}")


@pytest.mark.parametrize("option", ["top=0", "max_tokens=7", "batch_size=-1", "dtype=int8", "revision=main"])
def test_options_that_do_not_fit_are_refused(model: Path, option: str) -> None:
    with pytest.raises(SystemSpecError, match=rf"\b{option.partition('=')[0]}\b"):
        make_system(f"rerank:system=bm25,model={model},{option}")


def test_without_the_extra_the_command_that_installs_it_is_named(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "sentence_transformers" else find(name)
    )
    with pytest.raises(MissingExtraError, match=r"\[dense\]"):
        make_system(f"rerank:system=bm25,model={model}")


def test_making_a_reranker_loads_no_heavy_library(model: Path) -> None:
    code = (
        "import sys; from evidencebench import make_system; "
        f"make_system('rerank:system=bm25,model={model}'); "
        "sys.exit(any(name in sys.modules for name in ('torch', 'transformers', 'sentence_transformers')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
