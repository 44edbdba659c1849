"""Trees predict with numpy alone what LightGBM predicts, and are refused where their text is damaged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import Forest, ModelError, Tree, mean_forest
from kit.examples import examples

STUMP = Tree(feature=(0,), threshold=(0.5,), left=(-1,), right=(-2,), leaf=(1.0, 4.0))


@examples(12)
@given(
    seed=st.integers(0, 10_000),
    n_leaves=st.integers(2, 40),
    objective=st.sampled_from(["regression", "binary", "lambdarank"]),
    are_extra=st.booleans(),
)
def test_trees_predict_what_lightgbm_predicts(seed: int, n_leaves: int, objective: str, *, are_extra: bool) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="needs the extra 'train'")
    generator = np.random.default_rng(seed)
    # Few different values, so that many lie on a threshold; some columns are constant.
    table = generator.integers(-3, 4, size=(300, 6)) * generator.choice([0.0, 0.1, 1e-40, 1e6], size=6)
    values = (table[:, 0] * table[:, 1] + generator.normal(size=300) > 0).astype(float)
    parameters = {
        "objective": objective,
        "num_leaves": n_leaves,
        "min_data_in_leaf": 3,
        "extra_trees": are_extra,
        "seed": seed,
        "verbose": -1,
        "num_threads": 1,
    }
    group = [100, 200] if objective == "lambdarank" else None
    booster = lightgbm.train(parameters, lightgbm.Dataset(table, values, group=group), 20)
    forest = Forest.from_lightgbm(booster.model_to_string())
    asked = np.concatenate([table, generator.normal(size=(50, 6))])
    expected = booster.predict(asked, raw_score=True, num_threads=1)
    assert forest.predict(asked).tolist() == expected.tolist()
    assert Forest.from_text(forest.text()).predict(asked).tolist() == expected.tolist()


def test_forests_of_single_leaves_means_of_forests_and_no_sentences_are_scored() -> None:
    forest, other = Forest([Tree(leaf=(0.25,)), STUMP], 1), Forest([Tree(leaf=(2.0,)), STUMP, STUMP], 1)
    table = np.array([[0.5], [0.6]])
    assert forest.predict(table).tolist() == [1.25, 4.25]
    assert mean_forest([Forest([STUMP], 1), other]).predict(table).tolist() == [2.5, 7.0]
    assert forest.predict(np.zeros((0, 1))).tolist() == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "invalid literal"),
        ("1\n{", "truncated"),
        ('1\n{"leaf":["x"]}', "float"),
        ('1\n{"feature":[1],"threshold":[0.5],"left":[-1],"right":[-2],"leaf":[1,2]}', "features 0..0"),
        ('1\n{"feature":[0],"threshold":[0.5],"left":[0],"right":[-2],"leaf":[1,2]}', "no leaf"),
        ('1\n{"feature":[0],"threshold":[0.5],"left":[-3],"right":[-2],"leaf":[1,2]}', "no leaf"),
        ('1\n{"feature":[0],"threshold":[0.5],"left":[-1],"right":[-2],"leaf":[1]}', "2 leaves"),
    ],
)
def test_damaged_text_is_refused(text: str, told: str) -> None:
    with pytest.raises(ModelError, match=told):
        Forest.from_text(text)
