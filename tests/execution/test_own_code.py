"""Own code is found in the current folder, in a package and in a file, and no other import finds anything by it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from doors import SystemSpecError, code_digest, find_own_code, parse_specification, trainable, write_specification
from evidencebench import (
    CrossValidation,
    Engine,
    InProcess,
    Processes,
    RankingTask,
    Resampling,
    Threads,
    cross_validate,
    execute,
    load_sample,
    make_system,
)
from kit.examples import IS_THOROUGH
from kit.own_training import OWN_TRAINING
from runs.test_runs import many

SYSTEM = """
from dataclasses import dataclass

from evidencebench import Ranking


@dataclass(frozen=True, kw_only=True)
class Backwards:
    start: int = 0

    def rank(self, query, task):
        from helper import backwards  # imported late, when nobody looks for own code any more

        return Ranking(sentences=backwards(len(query.sentences))[self.start :])


def made(**options):
    return Backwards(start=options.get("start", 0))


def failing(**options):
    raise RuntimeError("no model here")


def hopeless():
    return "text"


class Cheat:
    def rank_knowing(self, labels, task):
        return labels
"""
HELPER = "def backwards(n):\n    return tuple(range(n))[::-1]\n"
SHADOWS = ("statistics", "random", "socket", "tempfile", "numpy")
"""Modules of Python and a package that an innocent file of the same name must not hide."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a folder with own code that is the current one; what was imported from it is forgotten afterwards."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    (tmp_path / "backwards.py").write_text(SYSTEM)
    (tmp_path / "helper.py").write_text(HELPER)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def last_sentence(spec: str) -> int:
    """Return what a system names first of a paper, less the number of its last sentence."""
    query = load_sample()[0].query
    return make_system(spec).rank(query, RankingTask(budget=3)).sentences[0] - len(query.sentences) + 1


@pytest.mark.parametrize(
    "spec",
    ["backwards:Backwards", "backwards.py:Backwards", "./backwards.py:Backwards", "{here}/backwards.py:Backwards"],
)
def test_own_code_is_named_by_its_module_or_its_file_with_options_or_without(folder: Path, spec: str) -> None:
    spec = spec.replace("{here}", str(folder))
    assert last_sentence(spec) == 0
    assert last_sentence(f"{spec}:start=2") == -2
    assert make_system(f"{spec}:start=2").options == {"start": 2}
    assert make_system(f"{spec}:start=2").name == spec.removeprefix("./")
    assert last_sentence(f"{spec.replace('Backwards', 'made')}:start=2") == -2


def test_own_code_finds_what_lies_beside_it_and_its_folder_stands_behind_all_others(folder: Path) -> None:
    (folder / "sub").mkdir()
    for name in ("backwards.py", "helper.py"):
        (folder / name).rename(folder / "sub" / name)
    before = [*sys.path]
    for _ in range(2):
        assert last_sentence("sub/backwards.py:Backwards") == 0
    assert sys.path == [*before, *dict.fromkeys(map(str, (folder, folder / "sub")))]


def test_a_file_of_the_name_of_a_module_of_python_hides_nothing_and_can_be_named_by_its_path(folder: Path) -> None:
    (folder / "statistics.py").write_text(SYSTEM)
    import_module("statistics")
    with pytest.raises(SystemSpecError, match=r"'Backwards'.*\./statistics\.py:Backwards"):
        make_system("statistics:Backwards")
    assert last_sentence("statistics.py:Backwards") == 0
    assert hasattr(import_module("statistics"), "fmean")


@pytest.mark.parametrize("jobs", [1, 2] if IS_THOROUGH else [2])
def test_files_named_as_modules_of_python_break_no_run_whatever_the_number_of_processes(
    folder: Path, jobs: int
) -> None:
    data = many(Path("data.json"), 40)
    for name in SHADOWS:
        (folder / f"{name}.py").write_text(f"raise RuntimeError('{name} of this folder')\n")
    # As the installed command does, without the current folder at the head of the search path.
    words = [sys.executable, "-P", "-m", "evidencebench", "run", "backwards:Backwards", "--data", "data.json"]
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    ran = subprocess.run(
        [*words, "-o", "run.jsonl", "-j", str(jobs)], capture_output=True, text=True, check=False, env=environ
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert len(Path("run.jsonl").read_text().splitlines()) == 1 + len(data)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("backwards.py", r"'backwards\.py': .*backwards\.py:Name"),
        ("absent.py:Backwards", r"'absent\.py:Backwards': .*absent\.py: no such file"),
        ("backwards.py:Backward", "'Backward' .*'Backwards'"),
        ("backwards:Backward", "'Backward' .*'Backwards'"),
        ("backwards.py:Backwards:begin=1", "'begin'.*start"),
        ("backwards.py:SYSTEM", "'SYSTEM'"),
        ("backwards:Backwards:start=x", "'start': .*'x'"),
        ("backwards:hopeless", r"rank\(query, task\), got 'text'"),
        ("backwards:hopeless:start=1", "argument 'start'"),
        ("backwards:failing", "no model here"),
        ("backwards:Cheat", "got Cheat$"),
        ("arity.py:one", r"expected two parameters, query and task, got one\(query\)$"),
        ("arity.py:three", r"expected two parameters, query and task, got three\(query, task, more\)$"),
        ("arity.py:Needs", r"needs 'k'; write arity\.py:Needs:k=\.\.\.$"),
        ("arity.py:Half", r"expected two parameters, query and task, got Half\.rank\(query\)$"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_a_file_does_not_hold_is_refused_in_words(spec: str, message: str) -> None:
    Path("arity.py").write_text(
        "def one(query): ...\n"
        "def three(query, task, more): ...\n"
        "class Needs:\n    def __init__(self, k): ...\n    def rank(self, query, task): ...\n"
        "class Half:\n    def rank(self, query): ...\n"
    )
    with pytest.raises(SystemSpecError, match=message):
        make_system(spec)


@pytest.mark.usefixtures("folder")
def test_a_pipe_in_the_place_of_own_code_is_refused_and_not_waited_for() -> None:
    os.mkfifo("pipe.py")
    with pytest.raises(SystemSpecError, match="is a pipe"):
        make_system("pipe.py:Any")


@pytest.mark.usefixtures("folder")
def test_a_file_of_a_package_is_named_by_its_module_and_says_so(folder: Path) -> None:
    (folder / "packed").mkdir()
    (folder / "packed" / "near.py").write_text("")
    (folder / "packed" / "own.py").write_text(f"from . import near\n{SYSTEM}")
    with pytest.raises(SystemSpecError, match=r"relative import.*by its module"):
        make_system("packed/own.py:Backwards")
    assert last_sentence("packed.own:Backwards") == 0


def test_a_file_that_fails_while_it_is_imported_is_imported_anew_the_next_time(folder: Path) -> None:
    odd = folder / "odd-name.py"
    for code, why in {
        "1 / 0": "division by zero",
        "def": "invalid syntax",
        "import nowhere": "No module named",
    }.items():
        odd.write_text(code)
        with pytest.raises(SystemSpecError, match=rf"odd-name\.py:Backwards.*{why}"):
            make_system("odd-name.py:Backwards")
    odd.write_text(SYSTEM)
    assert last_sentence("odd-name.py:Backwards") == 0


def test_what_a_file_with_a_dot_in_its_name_imports_counts_too(folder: Path) -> None:
    digests = []
    for number, helper in enumerate((HELPER, HELPER.replace("[::-1]", ""))):
        (folder / "helper.py").write_text(helper)
        (folder / f"v1.{number}.py").write_text(SYSTEM)  # another module with the same source
        digests.append(code_digest(find_own_code(f"v1.{number}.py:Backwards")[1]))
    assert digests[0] != digests[1]


@pytest.mark.parametrize("name", ["mine.py:Class", "a,b+c.py:Class", "/some where/x-y.py:Class"])
def test_the_name_of_a_file_is_written_and_read_back_nested_too(name: str) -> None:
    inner = {"name": name, "options": {"k": 1}}
    text = write_specification("fuse", {"systems": [inner, {"name": "bm25", "options": {}}]})
    assert parse_specification(text).name == "fuse"
    written = write_specification(name, {"k": 1})
    assert parse_specification(written).name == name
    assert parse_specification(written).options == {"k": "1"}


def test_a_training_in_a_file_is_answered_by_the_system_beside_it_in_every_process(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "memory.py").write_text(OWN_TRAINING)
    found = trainable("sub/memory.py:Memory")
    assert found is not None
    assert found.system == "sub/memory.py:Recall"
    (figures,) = cross_validate(
        CrossValidation(systems="sub/memory.py:Memory", n_folds=2, n_seeds=1, resampling=Resampling(n_draws=50)),
        load_sample(),
        jobs=2,
    )
    assert figures.n_failed == 0
    papers = [json.loads(line)["papers"] for line in Path("fits.jsonl").read_text().splitlines()]
    assert papers


@pytest.mark.parametrize("how", ["asyncio.CancelledError", "Own", "SystemExit"])
def test_whatever_own_code_raises_fails_one_answer_in_a_process_in_threads_and_in_processes(
    how: str, folder: Path
) -> None:
    failing = many(folder / "data.json", 40).ids[22]
    (folder / "raising.py").write_text(
        "import asyncio\nfrom evidencebench import Ranking\nclass Own(BaseException): pass\n"
        "class Raising:\n    def rank(self, query, task):\n"
        f"        if query.instance_id == '{failing}':\n            raise {how}('gone')\n"
        "        return Ranking(sentences=(0,))\n"
    )
    engines: list[Engine] = [InProcess(), Threads(2)]
    if IS_THOROUGH or how == "SystemExit":  # which ends a process if anything does
        engines.append(Processes(2))
    for engine in engines:
        system = make_system("raising.py:Raising") if isinstance(engine, Threads) else "raising.py:Raising"
        report = execute(system, "data.json", f"{type(engine).__name__}.jsonl", engine=engine)
        assert (report.n_instances, report.n_failed) == (40, 1)
        assert report.first_error == f"{failing}: {how.rpartition('.')[2]}: gone"
