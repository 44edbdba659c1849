"""The table of a selector's training lies on the disk, holds each sentence's features, and is fitted alike there."""

from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
import pytest

from evidencebench.data.sample import load_sample
from evidencebench.errors import DataError
from evidencebench.systems.selectors.features import chosen_features, feature_table
from evidencebench.systems.selectors.paper_columns import Floats, PaperColumns
from evidencebench.training.lazy_instances import LazyInstances
from evidencebench.training.selector_fitting import fit_models, fit_ridges
from evidencebench.training.selector_table import SCOPES, SelectorTable, TableRows, table_file, write_table

SAMPLE = list(load_sample())
FEATURES = chosen_features()


def table_of(folder: Path) -> SelectorTable:
    with table_file(folder / "model") as file:
        return write_table(file, SAMPLE, FEATURES, None, lambda *_: None)


def test_rows_are_the_features_of_each_sentence_and_leave_no_file(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    assert list(tmp_path.iterdir()) == []
    for place, instance in enumerate(SAMPLE):
        rows = table.features[table.rows_of(place)]
        assert rows.tobytes() == feature_table(PaperColumns(instance.query), FEATURES).tobytes()
        for scope in SCOPES:
            stated = [
                sum(index in instance.labels.sources.get(aspect, ()) for aspect in instance.labels.that_count(scope))
                for index in range(len(instance.query.sentences))
            ]
            expected = np.array(stated) / max(1, len(instance.labels.that_count(scope)))
            assert table.shares[scope][table.rows_of(place)].tolist() == pytest.approx(expected.tolist())
    assert table.papers == tuple(instance.query.paper_id for instance in SAMPLE)
    chosen = table.rows([3, 1])
    expected_rows = np.concatenate([table.features[table.rows_of(place)] for place in (3, 1)])
    assert np.array_equal(chosen[:], expected_rows)
    assert np.array_equal(chosen[5:9], expected_rows[5:9])
    assert len(chosen) == len(expected_rows)


def test_a_ridge_regression_read_in_blocks_solves_the_textbook_equations() -> None:
    generator = np.random.default_rng(0)
    table: Floats = generator.normal(3, 2, size=(230_000, 3))  # more than two blocks
    values = table @ [0.5, -1.0, 0.0] + generator.normal(size=len(table))
    found = fit_ridges("all", TableRows(table, np.arange(len(table))), {"share": values})[0]
    standard = (table - table.mean(axis=0)) / table.std(axis=0)
    expected = np.linalg.lstsq(
        np.concatenate([standard, np.sqrt(1000.0) * np.eye(3)]), np.concatenate([values - values.mean(), np.zeros(3)])
    )[0]
    assert found.center == pytest.approx(table.mean(axis=0).tolist())
    assert found.scale == pytest.approx(table.std(axis=0).tolist())
    assert found.weights == pytest.approx(expected.tolist())


def test_models_fitted_to_rows_on_the_disk_score_as_those_fitted_in_memory(tmp_path: Path) -> None:
    pytest.importorskip("lightgbm", reason="needs the extra 'selector'")
    table = table_of(tmp_path)
    groups = [range(len(SAMPLE)), range(5)]
    in_memory = fit_models(table, groups, FEATURES, seed=0)
    on_disk = fit_models(table, groups, FEATURES, seed=0, most_rows=0)
    for one, other in zip(in_memory, on_disk, strict=True):
        for scope in SCOPES:
            pairs = [
                (one.scores_in(rows)[scope], other.scores_in(rows)[scope])
                for rows in (table.features[table.rows_of(place)] for place in range(len(SAMPLE)))
            ]
            # LightGBM leaves columns that can split nothing out of one of them, so what is drawn by chance differs.
            assert np.corrcoef(*np.concatenate(pairs, axis=1))[0, 1] > 0.97


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"file: cannot be written: .*; choose another folder"):
        table_file(tmp_path / "file" / "model")


def test_a_full_disk_is_said_in_words() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    with full.open("wb", buffering=0) as file, pytest.raises(DataError, match=r"No space .*; it needs \d+ bytes a sen"):
        write_table(file, SAMPLE, FEATURES, None, lambda *_: None)


def test_lazy_instances_are_those_of_the_data_in_order() -> None:
    dataset = load_sample()
    found = LazyInstances([dataset, dataset], 4)
    assert [one.id for one in found] == [*dataset.ids[:4], *dataset.ids[:4]]
    assert len(found) == 8
    assert (found[5].id, [one.id for one in found[3:5]]) == (dataset.ids[1], [dataset.ids[3], dataset.ids[0]])
    with TemporaryFile() as file:
        table = write_table(file, found, FEATURES, None, lambda *_: None)
    assert len(table.papers) == 8
