"""Fine-tuned models learn what they are shown, the same again after a kill, and are there whole or not at all."""

import json
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from doors import (
    DataError,
    EmbedderTraining,
    MissingExtraError,
    ModelError,
    RerankerTraining,
    SystemSpecError,
    model_digest,
)
from evidencebench import Instance, Labels, RankingTask, make_system
from kit.cross_encoders import make_cross_encoder
from kit.embedding_models import make_backbone, make_embedding_model
from kit.examples import thorough_only
from kit.labelled_papers import PAPERS, paper

Training = EmbedderTraining | RerankerTraining
NONE = (0.0, float("nan"))  # which are no learning rates

OPTIONS: dict[str, Any] = {
    "epochs": 2,
    "batch_size": 2,
    "learning_rate": 1e-3,
    "positives": 2,
    "negatives": 4,
    "trained_layers": None,
    "checkpoint_steps": 1000,  # none, unless a test goes on from one: a checkpoint takes longer than many steps
    "device": "cpu",
}
EMBEDDER = {"format": "plain", **OPTIONS}


def interrupted(training: Training, folder: Path, at: int) -> None:
    def report(step: int, _: int) -> None:
        if step == at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        training.fit(PAPERS, folder, on_progress=report)


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Compute with one thread: for models this small, threads that wait for each other take most of the time."""
    torch = pytest.importorskip("torch", reason="needs the extra 'finetune'")
    pytest.importorskip("datasets", reason="needs the extra 'finetune'")
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)


@pytest.fixture(scope="module")
def embedder(embedding_model: Path) -> Callable[..., EmbedderTraining]:
    """Give what makes a training of the tiny embedder."""
    return lambda **options: EmbedderTraining(base=str(embedding_model), **{**EMBEDDER, **options})


@pytest.fixture(scope="module")
def reranker(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., RerankerTraining]:
    """Give what makes a training of a reranker from a tiny encoder without a head."""
    base = make_backbone(tmp_path_factory.mktemp("backbone"))
    return lambda **options: RerankerTraining(base=str(base), **{**OPTIONS, **options})


@pytest.fixture(scope="module")
def whole(embedder: Callable[..., EmbedderTraining], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the model of a training that nothing interrupted; no test may change it."""
    folder = tmp_path_factory.mktemp("whole") / "model"
    embedder().fit(PAPERS, folder)
    return folder


@pytest.fixture(scope="module")
def _half_trained(embedder: Callable[..., EmbedderTraining], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("half_trained")
    interrupted(embedder(checkpoint_steps=3), folder / "model", at=4)
    return folder


@pytest.fixture
def half_trained(_half_trained: Path, tmp_path: Path) -> Path:
    """Give where the model of a training will lie that was interrupted at step 4, with a checkpoint of step 3."""
    shutil.copytree(_half_trained / "model.part", tmp_path / "model.part")
    return tmp_path / "model"


# What is learned


def test_an_embedder_learns_what_each_scope_asks_for_and_dense_loads_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    base = make_embedding_model(tmp_path, max_tokens=400)  # letters, so that an instruction is long
    options = {
        **OPTIONS,
        "epochs": 24,
        "negatives": 6,
        "batch_size": 3,
        "learning_rate": 1e-2,
        "temperature": 0.1,
    }
    training = EmbedderTraining(base=str(base), **options)
    sources = {"design": (2,), "people": (2,), "outcome": (5,)}
    labels = Labels(aspects=tuple(sources), results=("outcome",), sources=sources)
    papers = [replace(one, labels=labels) for one in PAPERS]
    calls: list[tuple[int, int]] = []
    tuned = tmp_path / "tuned"
    capfd.readouterr()  # what making the base has printed
    card = training.fit(papers, tuned, data={"name": "mine"}, on_progress=lambda *call: calls.append(call))
    assert capfd.readouterr() == ("", "")
    assert card.loss[-1] < 0.4 * card.loss[0]
    assert calls == [(step, 80) for step in range(1, 81)]
    assert training.answers_with == {"format": "e5_mistral"}
    found = make_system(f"dense:model={tuned},format=e5_mistral,device=cpu")
    for one in papers:
        assert found.rank(one.query, RankingTask(budget=1)).sentences[0] == 2
        assert found.rank(one.query, RankingTask(budget=1, scope="results")).sentences[0] == 5
    written = json.loads((tuned / "card.json").read_bytes())
    assert written["data"]["name"] == "mine"
    assert (written["data"]["n_instances"], written["data"]["n_papers"]) == (5, 5)
    assert written["base"] == {"model": "model", "revision": None, "sha256": model_digest(base)}
    assert written["loss"] == list(card.loss)
    assert model_digest(tuned) != model_digest(base)
    assert not (tmp_path / "tuned.part").exists()
    files = [path for path in tuned.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} <= {".json", ".safetensors", ".txt"}
    assert len({path.stat().st_mode for path in files}) == 1


def test_a_reranker_learns_and_rerank_loads_it(reranker: Callable[..., RerankerTraining], tmp_path: Path) -> None:
    card = reranker(epochs=8, negatives=6, learning_rate=5e-3).fit(PAPERS, tmp_path / "model")
    assert card.loss[-1] < 0.75 * card.loss[0]
    system = make_system(f"rerank:system=lead,model={tmp_path / 'model'},device=cpu")
    tops = [set(system.rank(instance.query, RankingTask(budget=2)).sentences[:2]) for instance in PAPERS]
    assert tops == [{2, 5}] * len(PAPERS)


def test_a_cross_encoder_keeps_its_head(cross_encoder: Path, tmp_path: Path) -> None:
    RerankerTraining(base=str(cross_encoder), epochs=1, learning_rate=1e-12, device="cpu").fit(PAPERS, tmp_path / "m")
    specs = [f"rerank:system=lead,model={model},device=cpu" for model in (cross_encoder, tmp_path / "m")]
    first, second = (make_system(spec).rank(PAPERS[0].query, RankingTask(budget=2)) for spec in specs)
    assert first.scores == pytest.approx(second.scores, abs=1e-5)


def test_a_row_is_a_hypothesis_and_sentences_of_its_paper_with_their_shares_of_its_aspects(
    embedder: Callable[..., EmbedderTraining], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from datasets import Dataset  # noqa: PLC0415 - an extra

    rows: list[dict[str, Any]] = []

    def note(given: list[dict[str, Any]]) -> Dataset:
        rows.extend(given)
        raise KeyboardInterrupt

    monkeypatch.setattr(Dataset, "from_list", note)
    one, other = paper(1, paper_id="p"), paper(1, paper_id="p", sources=(5, 7))
    sentences = list(one.query.sentences)
    sentences[0] = sentences[1]  # a repetition
    sentences[7] = other.query.sentences[7]
    one = replace(one, query=replace(one.query, sentences=tuple(sentences)))
    training = embedder(format="e5_mistral", epochs=1, positives=2, negatives=4, temperature=0.5)
    with pytest.raises(KeyboardInterrupt):
        training.fit([one, other], tmp_path / "model")
    found = []
    for row in rows:
        texts = [row[f"text{place}"] for place in range(6)]
        shares = [float(np.exp(label / 0.5)) for label in row["label"]]
        assert len(texts) == len(shares) == len(row) - 2
        assert sum(shares) == pytest.approx(1)
        right = {text: share for text, share in zip(texts, shares, strict=True) if share}
        assert right.keys().isdisjoint(text for text, share in zip(texts, shares, strict=True) if not share)
        found.append((row["anchor"], right, texts))
    everything, results = found[:2]
    assert everything[0] != results[0]
    assert everything[0].endswith(one.query.hypothesis)
    assert everything[1] == {sentences[2]: pytest.approx(0.5), sentences[5]: pytest.approx(0.5)}
    assert results[1] == {sentences[5]: pytest.approx(1)}
    # What another hypothesis of the paper found is neither right nor wrong; other aspects of its own are, for results.
    assert set(everything[2]) <= {*sentences} - {sentences[7]}
    assert set(results[2]) == {*sentences} - {sentences[7]}
    assert len(set(everything[2])) == 6


def test_layers_that_are_frozen_stay_as_they_are(
    embedder: Callable[..., EmbedderTraining], embedding_model: Path, tmp_path: Path
) -> None:
    import torch  # noqa: PLC0415 - slow to import, as the next
    from safetensors.torch import load_file  # noqa: PLC0415

    embedder(trained_layers=1, epochs=1).fit(PAPERS, tmp_path / "model")
    before, after = (load_file(folder / "model.safetensors") for folder in (embedding_model, tmp_path / "model"))
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all("layer.1." in name for name in changed)
    embedder(trained_layers=9, epochs=1).fit(PAPERS, tmp_path / "all")
    everything = load_file(tmp_path / "all" / "model.safetensors")
    assert any("layer.0." in name and not torch.equal(before[name], everything[name]) for name in before)
    assert all(torch.equal(before[name], everything[name]) for name in before if "embeddings" in name)


# The same again


def test_equal_seeds_give_equal_models_and_others_do_not(
    embedder: Callable[..., EmbedderTraining], whole: Path, tmp_path: Path
) -> None:
    import torch  # noqa: PLC0415 - slow to import

    for name, seed in (("b", 0), ("c", 2)):
        torch.manual_seed(len(name))  # what others have drawn makes no difference
        embedder().fit(PAPERS, tmp_path / name, seed=seed)
    first, again, other = map(model_digest, (whole, tmp_path / "b", tmp_path / "c"))
    assert first == again != other


KILLED = """
import os, signal, sys
from pathlib import Path
from training.test_fine_tuning import EMBEDDER, PAPERS
from doors import EmbedderTraining

def report(step, total):
    if step == 4:
        os.kill(os.getpid(), signal.SIGKILL)

training = EmbedderTraining(base=sys.argv[1], **{**EMBEDDER, "checkpoint_steps": int(sys.argv[3])})
training.fit(PAPERS, Path(sys.argv[2]), on_progress=report)
"""


@thorough_only
@pytest.mark.parametrize("every", [1, 3])
def test_a_killed_training_goes_on_to_the_same_weights(
    embedder: Callable[..., EmbedderTraining], embedding_model: Path, whole: Path, tmp_path: Path, every: int
) -> None:
    command = [sys.executable, "-c", KILLED, str(embedding_model), str(tmp_path / "killed"), str(every)]
    paths = [str(Path(__file__).parents[1]), *filter(None, sys.path)]
    environment = {"PYTHONPATH": ":".join(paths), "OMP_NUM_THREADS": "1"}
    killed = subprocess.run(command, check=False, env=environment, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (tmp_path / "killed").exists()
    steps: list[int] = []
    training = embedder(checkpoint_steps=every)
    card = training.fit(PAPERS, tmp_path / "killed", on_progress=lambda step, _: steps.append(step))
    assert steps[0] == 4
    assert not (tmp_path / "killed.part").exists()
    assert list(card.loss) == json.loads((whole / "card.json").read_bytes())["loss"]
    assert (tmp_path / "killed" / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_an_interrupted_training_goes_on_from_its_checkpoint_to_the_same_weights(
    embedder: Callable[..., EmbedderTraining], whole: Path, half_trained: Path
) -> None:
    steps: list[int] = []
    # How often it is saved decides no weight, so that it may change.
    card = embedder().fit(PAPERS, half_trained, on_progress=lambda step, _: steps.append(step))
    assert steps[0] == 4
    assert list(card.loss) == json.loads((whole / "card.json").read_bytes())["loss"]
    assert (half_trained / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert not half_trained.with_name("model.part").exists()


def test_a_training_interrupted_when_only_its_model_is_not_in_its_place_goes_on_to_the_same_weights(
    embedder: Callable[..., EmbedderTraining], whole: Path, tmp_path: Path
) -> None:
    interrupted(embedder(checkpoint_steps=5), tmp_path / "torn", at=10)
    embedder().fit(PAPERS, tmp_path / "torn")
    assert model_digest(tmp_path / "torn") == model_digest(whole)


def test_a_checkpoint_of_another_training_is_kept_for_that_one(
    embedder: Callable[..., EmbedderTraining], half_trained: Path
) -> None:
    def first_step(training: EmbedderTraining, papers: list[Instance], seed: int = 0) -> int:
        steps: list[int] = []

        def report(step: int, _: int) -> None:
            steps.append(step)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            training.fit(papers, half_trained, seed=seed, on_progress=report)
        return steps[0]

    assert first_step(embedder(learning_rate=2e-3), PAPERS) == 1
    assert first_step(embedder(), PAPERS[:4]) == 1
    assert first_step(embedder(), PAPERS, seed=7) == 1
    assert first_step(embedder(checkpoint_steps=5), PAPERS) == 4


@pytest.mark.parametrize("damaged", ["model.safetensors", "optimizer.pt", "trainer_state.json"])
def test_a_damaged_checkpoint_is_named(
    embedder: Callable[..., EmbedderTraining], half_trained: Path, damaged: str
) -> None:
    path = next(half_trained.with_name("model.part").glob("*/checkpoint-3")) / damaged
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelError, match=r"checkpoint-3: [\s\S]*delete .*model.part\S+ to start over"):
        embedder().fit(PAPERS, half_trained)


# Refusals


def test_a_loss_that_is_not_finite_stops_the_training_and_leaves_nothing(
    embedder: Callable[..., EmbedderTraining], tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=r"step \d+ of 10: .*lower the learning rate"):
        embedder(learning_rate=1e30).fit(PAPERS, tmp_path / "model")
    assert not (tmp_path / "model").exists()
    interrupted(embedder(), tmp_path / "model", at=1)  # other options are no longer refused


def test_a_full_disk_is_named_and_the_training_goes_on_later(
    embedder: Callable[..., EmbedderTraining], tmp_path: Path
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(ModelError, match=r"model.part: .*make room"):
            embedder(checkpoint_steps=1).fit(PAPERS, tmp_path / "model")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not (tmp_path / "model").exists()
    embedder().fit(PAPERS, tmp_path / "model")


def test_only_a_fine_tuned_model_is_replaced(
    embedder: Callable[..., EmbedderTraining], whole: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(ModelError, match=r"mine: .*lost"):
        embedder().fit(PAPERS, tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
    shutil.copytree(whole, tmp_path / "model")
    assert embedder(epochs=1).fit(PAPERS, tmp_path / "model").n_steps == 5
    assert json.loads((tmp_path / "model" / "card.json").read_bytes())["n_steps"] == 5


def test_two_processes_do_not_train_in_one_place(embedder: Callable[..., EmbedderTraining], tmp_path: Path) -> None:
    def again(_: int, __: int) -> None:
        embedder().fit(PAPERS, tmp_path / "model")

    with pytest.raises(ModelError, match="another process"):
        embedder().fit(PAPERS, tmp_path / "model", on_progress=again)


def test_data_without_a_source_are_refused(embedder: Callable[..., EmbedderTraining], tmp_path: Path) -> None:
    bare = [replace(one, labels=Labels(aspects=("a",), sources={})) for one in PAPERS]
    for papers in (bare, []):
        with pytest.raises(DataError, match="with a source"):
            embedder().fit(papers, tmp_path / "model")
    assert not (tmp_path / "model.part").exists()


@pytest.mark.parametrize("training", [EmbedderTraining, RerankerTraining])
def test_options_out_of_range_are_refused(embedding_model: Path, training: type[Training]) -> None:
    for option, value, least in [("epochs", 0, 1), ("max_tokens", 2, 8), *(("learning_rate", x, 1e-12) for x in NONE)]:
        with pytest.raises(SystemSpecError, match=f"{option}: .*{least}, got {value}"):
            training(base=str(embedding_model), **{option: value})  # type: ignore[arg-type]


def test_a_base_or_an_extra_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for training in (EmbedderTraining, RerankerTraining):
        with pytest.raises(ModelError, match="nowhere"):
            training(base="./nowhere")
        with pytest.raises(SystemSpecError, match="revision: 'minilm'"):
            training(revision="main")
        with pytest.raises(ModelError, match="a model's folder"):
            training(base=str(tmp_path))
    three = make_cross_encoder(tmp_path / "three", n_outputs=3)
    with pytest.raises(ModelError, match="for a reranker"):
        RerankerTraining(base=str(three), device="cpu").fit(PAPERS, tmp_path / "model")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "sentence_transformers" else name)
    for training in (EmbedderTraining, RerankerTraining):
        with pytest.raises(MissingExtraError, match=r"\[finetune\]"):
            training()


def test_a_model_that_a_killed_training_had_moved_away_is_there_again_with_the_next_one(
    embedder: Callable[..., EmbedderTraining], whole: Path, tmp_path: Path
) -> None:
    shutil.copytree(whole, tmp_path / "model")
    before = (tmp_path / "model" / "card.json").read_bytes()
    (tmp_path / "model.part").mkdir()
    (tmp_path / "model").rename(tmp_path / "model.part" / "old")
    interrupted(embedder(), tmp_path / "model", at=1)
    assert (tmp_path / "model" / "card.json").read_bytes() == before
