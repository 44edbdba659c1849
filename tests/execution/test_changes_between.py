"""What is replaced or edited while a run is under way, or between two of them, is never mixed into one."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from doors import ChangedDataError, RunError, RunMismatchError, read_run, reopen_dataset, solve_file
from evidencebench import CrossValidation, Resampling, cross_validate, execute, load_sample, open_dataset
from runs.test_runs import many

SAMPLE = load_sample()
FEW = Resampling(n_draws=50)

OWN = """
from dataclasses import dataclass
from evidencebench import Ranking
from {helper} import WORD

@dataclass(frozen=True)
class Own:
    size: int = 1
    def rank(self, query, task):
        return Ranking(sentences=(WORD,))
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Work in a folder with own code that imports a helper, and give its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    name = f"own_{abs(hash(tmp_path))}"
    Path(f"{name}.py").write_text(OWN.format(helper=f"{name}_helper"))
    Path(f"{name}_helper.py").write_text("WORD = 1\n")
    yield f"{name}:Own"
    forget(name)


def edit(own: str) -> None:
    Path(f"{own.partition(':')[0]}_helper.py").write_text("WORD = 22\n")


def forget(own: str) -> None:
    """Have own code imported again, as a new process does."""
    for module in [one for one in sys.modules if one.startswith("own_")]:
        del sys.modules[module]
    assert own.partition(":")[0] not in sys.modules


@pytest.mark.parametrize("name", ["data.json", "data.jsonl.gz"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_data_file_that_was_replaced_is_not_answered_under_the_old_checksum(
    name: str, jobs: int, tmp_path: Path
) -> None:
    path, run = tmp_path / name, tmp_path / "run.jsonl"
    dataset = many(path, 40)
    checksum = dataset.sha256
    many(path, 40, first=1)
    if jobs == 1 and name.endswith(".gz"):  # of which this process has a copy
        execute("longest", dataset, run)
        many(path, 40)
        execute("longest", open_dataset(path), tmp_path / "again.jsonl")
        first, second = (read_run(one).answer for one in (run, tmp_path / "again.jsonl"))
        assert all(first(one, None) == second(one, None) for one in dataset.ids)
        return
    with pytest.raises(ChangedDataError):
        execute("longest", dataset, run, jobs=jobs)
    assert (read_run(run).ids, dataset.sha256) == (frozenset(), checksum)


def test_workers_that_solve_take_no_other_file(tmp_path: Path) -> None:
    dataset = many(tmp_path / "data.json.gz", 70)
    _ = dataset.sha256
    many(tmp_path / "data.json.gz", 70, first=1)
    with pytest.raises(ChangedDataError):
        solve_file(dataset, tmp_path / "solved.json", jobs=2)


def test_a_file_is_known_by_its_checksum_where_it_lies_on_another_disk(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    dataset = many(path, 3)
    by_state = dataset.file
    _ = dataset.sha256
    by_checksum = dataset.file
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)  # the same content with another inode and other times, as on another machine
    assert list(reopen_dataset(by_checksum)) == list(many(tmp_path / "same.json", 3))
    with pytest.raises(ChangedDataError):
        reopen_dataset(by_state)
    many(path, 3, first=1)
    with pytest.raises(ChangedDataError, match="every machine"):
        reopen_dataset(by_checksum)


@pytest.mark.parametrize("edited", ["", "_helper"])
def test_a_run_of_own_code_is_not_continued_after_an_edit(edited: str, own: str) -> None:
    module, path = own.partition(":")[0], Path("run.jsonl")
    execute(own, SAMPLE, path, limit=4)
    before = read_run(path)
    assert execute(own, SAMPLE, path, limit=4).n_resumed == 4
    Path("unrelated.py").write_text("WORD = 5\n")
    source = Path(f"{module}{edited}.py")
    text = source.read_text()
    source.write_text(f"{text}print('scores')\n# edited\n")
    forget(module)
    if not edited:  # what the system does not use is none of it
        assert execute(own, SAMPLE, path, limit=4).n_resumed == 4
        source.write_text(text.replace("size: int = 1", "size: int = 1\n    depth = 2"))
        forget(module)
    with pytest.raises(RunMismatchError, match=rf"run\.jsonl: .*code of {own} changed; "):
        execute(own, SAMPLE, path, limit=4)
    execute(own, SAMPLE, Path("new.jsonl"), limit=4)
    after = read_run(Path("new.jsonl"))
    assert before.name == after.name
    assert before.signature != after.signature
    assert before.signature.startswith(f"{own}(size=1)[code ")


def test_a_run_of_own_code_that_an_earlier_version_began_is_read_and_not_continued(own: str) -> None:
    execute(own, SAMPLE, Path("run.jsonl"), limit=4)
    old = read_run(Path("run.jsonl"))
    assert old.header is not None
    digest = old.header.versions[f"code of {own}"]
    text = Path("run.jsonl").read_text().replace(f',"code of {own}":"{digest}"', "")
    assert digest not in text
    Path("run.jsonl").write_text(text)
    assert read_run(Path("run.jsonl")).signature == f"{own}(size=1)"
    with pytest.raises(RunMismatchError, match=f"code of {own} was not given"):
        execute(own, SAMPLE, Path("run.jsonl"), limit=4)


def test_own_code_within_another_system_counts_too(own: str) -> None:
    spec = f"diverse:system=[{own}]"
    execute(spec, SAMPLE, Path("run.jsonl"), limit=2)
    edit(own)
    forget(own)
    with pytest.raises(RunMismatchError, match=f"code of {own}"):
        execute(spec, SAMPLE, Path("run.jsonl"), limit=2)


def test_workers_that_would_import_edited_code_are_told(own: str) -> None:
    dataset = many(Path("data.json"), 40)
    execute(own, dataset, Path("whole.jsonl"))
    edit(own)
    assert execute(own, dataset, Path("again.jsonl")).n_failed == 0  # here runs what was imported
    assert read_run(Path("again.jsonl")).signature == read_run(Path("whole.jsonl")).signature
    with pytest.raises(RunMismatchError, match=f"'{own}' .*since the work began: code of {own}"):
        execute(own, dataset, Path("run.jsonl"), jobs=2)
    assert read_run(Path("run.jsonl")).ids == frozenset()


def test_a_cross_validation_of_own_code_is_not_continued_after_an_edit(own: str) -> None:
    what, journal = CrossValidation(systems=own, n_folds=2, n_seeds=1, resampling=FEW), Path("cells.jsonl")
    cross_validate(what, SAMPLE, journal=journal)
    edit(own)
    forget(own)
    with pytest.raises(RunMismatchError, match=f"code of {own}"):
        cross_validate(what, SAMPLE, journal=journal)
    journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])
    cross_validate(what, SAMPLE, journal=journal)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_data_file_that_is_replaced_during_a_run_stops_it_and_its_copy_goes_on(jobs: int, tmp_path: Path) -> None:
    data, other, run = tmp_path / "data.json", tmp_path / "other.json", tmp_path / "run.jsonl"
    dataset = many(data, 64)
    kept = data.read_bytes()
    many(other, 64, first=1)

    def replace_once(n_done: int, _: int) -> None:
        if n_done >= 3 and other.exists():
            other.replace(data)

    with pytest.raises(ChangedDataError):
        execute("longest", dataset, run, jobs=jobs, on_progress=replace_once)
    n_kept = len(read_run(run).ids)
    assert 3 <= n_kept < 64
    data.write_bytes(kept)
    report = execute("longest", open_dataset(data), run)
    assert (report.n_resumed, report.n_unanswered) == (n_kept, 0)


@pytest.mark.parametrize("overwrite", [False, True])
def test_the_same_run_at_once_is_written_by_one_and_refused_to_the_other(overwrite: bool, tmp_path: Path) -> None:  # noqa: FBT001 - as a user says it
    run = tmp_path / "run.jsonl"

    def run_too(*_: int) -> None:
        before = run.read_bytes()
        with pytest.raises(RunError, match=f"{run}: another process .*wait for it"):
            execute("lead", SAMPLE, run, overwrite=overwrite)
        assert run.read_bytes() == before

    assert execute("lead", SAMPLE, run, on_progress=run_too).n_failed == 0
    assert read_run(run).ids == set(SAMPLE.ids)
