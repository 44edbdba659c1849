"""Every format in the table gives back what was written, and work over its files is the same on every engine."""

from pathlib import Path

import pytest

from command_line import SAMPLE
from evidencebench.data.dataset import open_dataset, write_dataset
from evidencebench.data.instance import DataSource
from evidencebench.data.optima import solve_file
from evidencebench.data.sources import FORMATS, file_of, open_source
from evidencebench.data.validation import validate_files
from evidencebench.engine.local import InProcess, Threads
from evidencebench.engine.processes import Processes
from evidencebench.engine.protocol import Engine

ENGINES = [InProcess(), Threads(2), Processes(2)]


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_source_has_the_instances_that_were_written(suffix: str, packed: str, tmp_path: Path) -> None:
    path = tmp_path / f"data{suffix}{packed}"
    assert write_dataset(path, SAMPLE) == len(SAMPLE)
    source: DataSource = open_source(path)
    assert source.ids == SAMPLE.ids
    assert source.repeated_ids == ()
    assert [source.instance(name) for name in source.ids] == list(SAMPLE)
    assert all(name in source for name in source.ids)
    assert "another" not in source
    fields, repeated = source.fields(source.ids[0])
    assert (fields["hypothesis"], repeated) == (SAMPLE[0].query.hypothesis, [])
    assert open_source(file_of(source)).snapshot.sha256 == source.snapshot.sha256


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)
def test_validation_and_solving_say_the_same_on_every_engine(engine: Engine, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    write_dataset(broken, SAMPLE)
    broken.write_text(broken.read_text().replace('"optimal":', '"optimum":'))
    assert validate_files([broken], engine=engine) == validate_files([broken])
    assert solve_file(SAMPLE, tmp_path / "solved.json", engine=engine) == solve_file(SAMPLE, tmp_path / "again.json")
    assert (tmp_path / "solved.json").read_bytes() == (tmp_path / "again.json").read_bytes()
    assert [one.labels for one in open_dataset(tmp_path / "solved.json")] == [one.labels for one in SAMPLE]
