"""A selector is trained alike each time, written as plain files whole or not at all, and refused where damaged."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from evidencebench.data.instance import Instance
from evidencebench.data.sample import load_sample
from evidencebench.errors import DataError, MissingExtraError, ModelError, SystemSpecError
from evidencebench.execution.making import make_system
from evidencebench.models.model_card import card_digest
from evidencebench.query import Query
from evidencebench.system import Brief
from evidencebench.systems.selectors.features import chosen_features
from evidencebench.systems.selectors.paper_columns import PaperColumns
from evidencebench.systems.selectors.selector import Selector
from evidencebench.systems.selectors.selector_model import SelectorModel, load_model, read_card
from evidencebench.training.selector import TUNED_TASKS, SelectorTraining, write_model
from evidencebench.training.selector_fitting import STRENGTH
from examples import IS_THOROUGH

pytest.importorskip("lightgbm", reason="needs the extra 'selector'")

SAMPLE = list(load_sample())
TOP_10 = Brief(budget=10)
N = len(chosen_features())


@pytest.fixture(scope="module")
def blind_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a selector trained without the hypothesis."""
    folder = tmp_path_factory.mktemp("blind") / "model"
    SelectorTraining(hypothesis=False).fit(SAMPLE, folder)
    return folder


@pytest.fixture
def own_model(selector_model: Path, tmp_path: Path) -> Path:
    """Give a copy of the model that a test may damage."""
    return Path(shutil.copytree(selector_model, tmp_path / "model"))


def loaded(folder: Path) -> SelectorModel:
    return load_model(folder, card_digest(folder))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# Training


def test_training_twice_writes_the_same_bytes_and_tells_its_progress(selector_model: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int, str]] = []
    SelectorTraining().fit(
        SAMPLE,
        tmp_path / "again",
        data={"sha256": load_sample().sha256},
        on_progress=lambda done, total, doing="": told.append((done, total, doing)),
    )
    assert contents(tmp_path / "again") == contents(selector_model)
    n_fitted = 2 * (3 + 1)  # for each scope: three folds, and all papers
    assert told == [(done, n, doing) for doing, n in (("reading", 10), ("fitting", n_fitted)) for done in range(n + 1)]


def test_the_card_says_what_the_model_was_made_from_and_how_good_it_is(selector_model: Path) -> None:
    card = read_card(selector_model)
    assert card.features == tuple(feature.name for feature in chosen_features())
    assert card.data == {"n_instances": 10, "n_papers": 9, "sha256": load_sample().sha256}
    assert card.training == {"hypothesis": True, "embedding": False, "seed": 0}
    assert set(card.cross_validated["aspect_recall"]) == set(TUNED_TASKS)
    assert all(0 < recall < 1 for recall in card.cross_validated["aspect_recall"].values())
    assert "by paper" in card.cross_validated["folds"]
    assert card.strength == STRENGTH
    assert card.cross_validated["strengths_tried"] == [STRENGTH]
    assert set(card.versions) == {"evidencebench", "lightgbm", "numpy", "python"}
    for scope in ("all", "results"):
        targets = [member.target for member in card.members if member.scope == scope]
        assert sorted(targets) == sorted([*["share", "relative", "any"] * 2, "lambdarank", "rank_xendcg"])


def test_the_files_are_text_and_all_named_by_the_card(selector_model: Path) -> None:
    files = contents(selector_model)
    named = {
        member["file"]: member["sha256"] for member in json.loads(files.pop("card.json"))["members"] if "file" in member
    }
    assert set(files) == set(named)
    for name, content in files.items():
        assert sha256(content).hexdigest() == named[name]
        assert content.decode("utf-8").startswith("tree\nversion=")


def few_papers(n: int) -> list[Instance]:
    papers = sorted({instance.query.paper_id for instance in SAMPLE})[:n]
    return [instance for instance in SAMPLE if instance.query.paper_id in papers]


def without_results() -> list[Instance]:
    return [replace(instance, labels=replace(instance.labels, results=())) for instance in SAMPLE]


def without_aspects() -> list[Instance]:
    return [replace(instance, labels=replace(instance.labels, aspects=(), results=())) for instance in SAMPLE]


@pytest.mark.parametrize(
    ("instances", "message"),
    [
        ([], "training: expected at least 6 papers, got 0"),
        (few_papers(5), "training: expected at least 6 papers, got 5"),
        (SAMPLE[:1] * 20, "training: expected at least 6 papers, got 1"),
        (without_aspects(), "training: no instance has an aspect"),
    ],
)
def test_too_little_to_learn_from_is_refused_and_leaves_nothing(
    instances: list[Instance], message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message):
        SelectorTraining().fit(instances, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_data_without_results_labels_as_the_100k_has_trains_a_model_that_serves_both_scopes(tmp_path: Path) -> None:
    SelectorTraining().fit(without_results(), tmp_path / "model")
    system = Selector(model=tmp_path / "model")
    query = SAMPLE[0].query
    of_all, of_results = (system.rank(query, Brief(budget=5, scope=scope)) for scope in ("all", "results"))
    assert of_all == of_results
    assert sorted(of_all.sentences) == list(range(len(query.sentences)))


# Writing


def test_a_model_written_over_another_leaves_no_file_of_it(own_model: Path, blind_model: Path) -> None:
    before = Selector(model=own_model).rank(SAMPLE[0].query, TOP_10)
    (own_model / ".card.json.1.part").write_text("torn")
    (own_model / "notes.txt").write_text("mine")
    write_model(loaded(blind_model), own_model)
    assert contents(own_model) == contents(blind_model) | {"notes.txt": b"mine"}
    after = Selector(model=own_model).rank(SAMPLE[0].query, TOP_10)
    assert after == Selector(model=blind_model).rank(SAMPLE[0].query, TOP_10) != before


DYING = """
import os, signal, sys
from pathlib import Path
from evidencebench.models.model_card import card_digest
from evidencebench.systems.selectors.selector_model import load_model
from evidencebench.training.selector import write_model

class Dying(dict):
    def items(self):
        for n, item in enumerate(super().items()):
            if n == int(sys.argv[3]):
                os.kill(os.getpid(), signal.SIGKILL)
            yield item
        os.kill(os.getpid(), signal.SIGKILL)

model = load_model(Path(sys.argv[1]), card_digest(Path(sys.argv[1])))
model.trees = Dying(model.trees)
write_model(model, Path(sys.argv[2]))
"""


def write_and_die(model: Path, folder: Path, n_files: int) -> None:
    words = [sys.executable, "-c", DYING, str(model), str(folder), str(n_files)]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL


@pytest.mark.parametrize("n_files", [0, 3, 99] if IS_THOROUGH else [3])
def test_a_training_killed_while_it_writes_leaves_the_old_model_or_none(
    n_files: int, own_model: Path, blind_model: Path, tmp_path: Path
) -> None:
    before = Selector(model=own_model).rank(SAMPLE[0].query, TOP_10)
    write_and_die(blind_model, own_model, n_files)
    assert Selector(model=own_model).rank(SAMPLE[0].query, TOP_10) == before
    write_and_die(blind_model, tmp_path / "new", n_files)
    with pytest.raises(ModelError, match=r"new: no model: expected card\.json"):
        Selector(model=tmp_path / "new")
    write_model(loaded(blind_model), tmp_path / "new")
    assert contents(tmp_path / "new") == contents(blind_model)


# Answers


def test_a_selector_that_read_no_hypothesis_in_training_selects_alike_for_any(blind_model: Path) -> None:
    assert not loaded(blind_model).reads_hypothesis
    selector, query = Selector(model=blind_model), SAMPLE[0].query
    for hypothesis in ("", "Tea.", SAMPLE[5].query.hypothesis):
        other = replace(query, hypothesis=hypothesis)
        assert selector.rank(other, TOP_10) == selector.rank(query, TOP_10)


def test_the_weight_of_the_hypothesis_finds_other_evidence_for_another_hypothesis_of_one_paper(
    blind_model: Path,
) -> None:
    first, second = SAMPLE[1].query, SAMPLE[2].query
    assert first.paper_id == second.paper_id

    def shared(weight: float) -> int:
        selector = Selector(model=blind_model, hypothesis_weight=weight)
        tops = [set(selector.rank(query, TOP_10).sentences[:10]) for query in (first, second)]
        return len(tops[0] & tops[1])

    assert shared(0.0) == 10
    assert 10 > shared(1.0) >= shared(10.0)


def test_results_and_all_evidence_are_different_orders(selector_model: Path) -> None:
    selector, query = Selector(model=selector_model), SAMPLE[0].query
    assert selector.rank(query, TOP_10) != selector.rank(query, Brief(budget=10, scope="results"))
    assert selector.rank(query, TOP_10) == selector.rank(query, Brief(budget=None))


def test_scores_of_a_scope_are_the_mean_of_its_members_standard_scores(selector_model: Path) -> None:
    scores = loaded(selector_model).scores(PaperColumns(SAMPLE[0].query))
    assert set(scores) == {"all", "results"}
    for values in scores.values():
        assert len(values) == len(SAMPLE[0].query.sentences)
        assert values.mean() == pytest.approx(0, abs=1e-9)
        assert 0 < values.std() <= 1


def test_a_paper_without_sentences_is_answered_with_none(selector_model: Path) -> None:
    query = Query(instance_id="i", paper_id="p", hypothesis="h", sentences=(), kinds=())
    assert Selector(model=selector_model, hypothesis_weight=1).rank(query, TOP_10).sentences == ()


def test_the_header_of_a_run_holds_the_digest_of_the_model(selector_model: Path) -> None:
    versions = make_system(f"selector:model={selector_model}").versions()
    assert versions[f"model {selector_model}"] == f"sha256:{card_digest(selector_model)}"
    assert versions["lightgbm"]


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
def test_a_weight_that_is_none_is_refused(weight: float, selector_model: Path) -> None:
    with pytest.raises(SystemSpecError, match="hypothesis_weight: expected a finite number of at least 0, got"):
        Selector(model=selector_model, hypothesis_weight=weight)


# Damage

SelectorCard = dict[str, Any]


def linear(card: SelectorCard) -> SelectorCard:
    member: SelectorCard = next(member for member in card["members"] if member["type"] == "linear")
    return member


def trees(card: SelectorCard) -> SelectorCard:
    member: SelectorCard = next(member for member in card["members"] if member["type"] == "trees")
    return member


def first_tree(folder: Path) -> Path:
    return folder / str(trees(json.loads((folder / "card.json").read_text()))["file"])


def rename_tree(folder: Path, card: SelectorCard) -> None:
    shutil.move(first_tree(folder), folder.parent / "trees.txt")
    trees(card)["file"] = "../trees.txt"


def spoil_tree(folder: Path, card: SelectorCard) -> None:
    first_tree(folder).write_text("tree\nversion=v4\n")
    trees(card)["sha256"] = sha256(first_tree(folder).read_bytes()).hexdigest()


def drop_feature(_: Path, card: SelectorCard) -> None:
    card["features"].pop()
    for member in card["members"]:
        if member["type"] == "linear":
            for key in ("center", "scale", "weights"):
                member[key].pop()


IN_CARD: Mapping[str, tuple[Callable[[Path, SelectorCard], Any], str]] = {
    "strength over 1": (lambda _, card: card.update(strength=1.5), r"strength: expected a number in 0\.\.1, got 1\.5"),
    "strength below 0": (lambda _, card: card.update(strength=-1), r"strength: expected a number in 0\.\.1, got -1"),
    "strength no number": (lambda _, card: card.update(strength="much"), "Expected `float`, got `str`"),
    "another format": (lambda _, card: card.update(format="evidencebench-selector/2"), "Invalid enum value"),
    "no such feature": (lambda _, card: card["features"].__setitem__(0, "luck"), "no feature 'luck' in this version"),
    "no feature": (lambda _, card: card["features"].clear(), "features: expected some, each once"),
    "a feature twice": (lambda _, card: card["features"].append("bm25"), "features: expected some, each once"),
    "one feature less": (drop_feature, f"expected trees on {N - 1} features, got {N}"),
    "no members": (lambda _, card: card["members"].clear(), "members: expected some of the scope 'all'"),
    "a member of no sort": (lambda _, card: linear(card).update(type="forest"), "Invalid value 'forest'"),
    "weights too few": (lambda _, card: linear(card)["weights"].pop(), f"a linear member: expected {N} finite numbers"),
    "a weight missing": (lambda _, card: linear(card)["weights"].__setitem__(0, None), "Expected `float`, got `null`"),
    "a scale of 0": (lambda _, card: linear(card)["scale"].__setitem__(0, 0.0), "scales other than 0"),
    "a file elsewhere": (rename_tree, r"the file '\.\./trees\.txt' of the card is missing"),
    "a file that is a folder": (lambda _, card: trees(card).update(file=""), "the file '' of the card is missing"),
    "trees that are none": (spoil_tree, r"trees-\w+\.txt: LightGBM: .*; train the model again"),
}

IN_FILES: Mapping[str, tuple[Callable[[Path], Any], str]] = {
    "no folder": (shutil.rmtree, r"model: no model: expected card\.json"),
    "no card": (lambda folder: (folder / "card.json").unlink(), r"model: no model: expected card\.json"),
    "an empty card": (lambda folder: (folder / "card.json").write_bytes(b""), r"card\.json: .* expected what 'evidenc"),
    "a cut card": (lambda folder: os.truncate(folder / "card.json", 900), r"card\.json: .*truncated.*expected what"),
    "a card of other bytes": (
        lambda folder: (folder / "card.json").write_bytes(b'{"features": ["\xff"]}'),
        r"card\.json: .*; expected what",
    ),
    "not a number": (
        lambda folder: (folder / "card.json").write_text('{"strength": NaN}'),
        r"card\.json: JSON is malformed: .*; expected what",
    ),
    "too large a number": (
        lambda folder: (folder / "card.json").write_text('{"features": [], "members": [], "strength": 1e999}'),
        r"card\.json: Number out of range",
    ),
    "a tree less": (lambda folder: first_tree(folder).unlink(), r"the file 'trees-\w+\.txt' of the card is missing"),
    "a changed tree": (
        lambda folder: first_tree(folder).write_text(first_tree(folder).read_text().replace("0.", "1.", 1)),
        r"trees-\w+\.txt: expected the sha256 of the card",
    ),
    "a cut tree": (lambda folder: os.truncate(first_tree(folder), 5000), r"expected the sha256 of the card"),
}


@pytest.mark.parametrize("damage", IN_CARD)
def test_a_damaged_card_is_refused_in_words(damage: str, own_model: Path) -> None:
    change, message = IN_CARD[damage]
    card = json.loads((own_model / "card.json").read_text())
    change(own_model, card)
    (own_model / "card.json").write_text(json.dumps(card))
    with pytest.raises(ModelError, match=message):
        make_system(f"selector:model={own_model}")


@pytest.mark.parametrize("damage", IN_FILES)
def test_damaged_files_are_refused_in_words(damage: str, own_model: Path) -> None:
    change, message = IN_FILES[damage]
    change(own_model)
    with pytest.raises(ModelError, match=message):
        make_system(f"selector:model={own_model}")


def test_without_lightgbm_the_error_says_how_to_get_it(
    selector_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)  # so that importing it fails, as where it is not installed
    command = r"pip install 'evidencebench\[selector\]'"
    with pytest.raises(MissingExtraError, match=f"selector: needs LightGBM: {command}"):
        make_system(f"selector:model={selector_model}")
    with pytest.raises(MissingExtraError, match=f"train selector: needs LightGBM: {command}"):
        SelectorTraining().fit(SAMPLE, tmp_path / "model")
