"""Systems of installed packages: found by name, listed, kept in headers; a broken one breaks nothing else."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from doors import SystemSpecError, cli, read_run
from evidencebench import SYSTEMS, execute, load_sample, make_system
from kit.examples import thorough_only
from runs.test_runs import many

RANKING = """
from dataclasses import dataclass
from evidencebench import Ranking

@dataclass(frozen=True, kw_only=True)
class Backwards:
    "The last sentence first."
    k1: float = 1.5

    def rank(self, query, task):
        return Ranking(sentences=tuple(range(len(query.sentences)))[::-1])
"""
ODDLY_TYPED = f"{RANKING}\nclass Odd(Backwards):\n    k2: 'Nothing' = 1"

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Give a function that installs a package as pip leaves it: a module, and metadata with entry points."""
    count = 0

    def installed(package: str, entries: str, *, code: str = RANKING, module: str = "") -> Path:
        nonlocal count
        count += 1
        folder = tmp_path / f"site{count}"
        metadata = folder / f"{package.replace('-', '_')}-1.2.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        (metadata / "entry_points.txt").write_text(f"[evidencebench.systems]\n{entries}\n")
        name = module or package.replace("-", "_")
        (folder / f"{name}.py").write_text(code)
        monkeypatch.syspath_prepend(folder)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return folder

    return installed


def listed(*arguments: str) -> tuple[str, str]:
    result = CliRunner().invoke(cli, ["systems", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def test_a_system_of_an_installed_package_is_named_by_its_entry_point_in_every_process(
    install: Install, tmp_path: Path
) -> None:
    install("back-wards", "my-bm25 = back_wards:Backwards")
    assert make_system("my-bm25:k1=2").options == {"k1": 2.0}
    assert "my-bm25" in SYSTEMS
    assert list(SYSTEMS)[-1] == "my-bm25"
    assert len(SYSTEMS) == len(list(SYSTEMS))
    with pytest.raises(SystemSpecError, match="'my-bm25'"):
        make_system("my-bm52")
    data = many(tmp_path / "data.json", 40)
    for jobs in (1, 2):
        report = execute("my-bm25:k1=2", data, tmp_path / f"{jobs}.jsonl", jobs=jobs)
        assert (report.n_instances, report.n_failed) == (40, 0)
    first, second = (read_run(tmp_path / f"{jobs}.jsonl") for jobs in (1, 2))
    assert first.done == second.done
    assert all(first.answer(*key) == second.answer(*key) for key in first.done)
    header = first.header
    assert header is not None
    assert (header.system.name, header.versions["back-wards"]) == ("my-bm25", "1.2")
    assert header.versions["code of my-bm25"].startswith("sha256:")
    nested = make_system("diverse:system=[my-bm25:k1=3]")
    assert nested.options["system"] == {"name": "my-bm25", "options": {"k1": 3.0}}
    assert nested.versions()["back-wards"] == "1.2"


def test_it_is_listed_with_its_package_and_completed(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("back-wards", "my-bm25 = back_wards:Backwards")
    text, warnings = listed()
    assert "see 'systems --only my-bm25' [back-wards 1.2]" in text
    assert warnings == ""
    unread = {"description": None, "options": None, "package": "back-wards 1.2"}
    assert json.loads(listed("--json")[0])["my-bm25"] == unread
    assert "back_wards" not in sys.modules
    text, _ = listed("--only", "my-bm25")
    assert "The last sentence first. [back-wards 1.2]" in text
    assert "k1=1.5" in text
    read = {"description": "The last sentence first.", "options": {"k1": 1.5}}
    assert json.loads(listed("--only", "my-bm25", "--json")[0])["my-bm25"] == unread | read
    monkeypatch.setenv("_EVIDENCEBENCH_COMPLETE", "bash_complete")
    environment = {**os.environ, "COMP_WORDS": "evidencebench run my-", "COMP_CWORD": "2"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    completed = subprocess.run(
        [sys.executable, "-m", "evidencebench"], env=environment, capture_output=True, text=True, check=True
    )
    assert completed.stdout.split() == ["plain,my-bm25"]


@pytest.mark.parametrize(
    ("entries", "code", "message"),
    [
        ("odd = broken_one:Odd", "import no_such_module", "'odd' of package 'broken-one': broken_one:Odd cannot be"),
        ("odd = broken_one:Odd", "class Own(BaseException): pass\nraise Own('no')", "cannot be imported: Own: no"),
        ("odd = broken_one:Odd", ODDLY_TYPED, "cannot be imported: NameError: name 'Nothing' is not defined"),
        ("odd = broken_one:Odd", "raise SystemExit(3)", "cannot be imported: SystemExit: 3; mend, update or uninstall"),
        ("odd = broken_one:Odd", "", "module 'broken_one' has no attribute 'Odd'"),
        ("odd = broken_one:Odd", "Odd = 3", "expected a class or function that makes a system, got 3"),
        ("odd = broken_one", "", "expected an entry point such as my-system"),
        ("o.dd = broken_one:Odd", "Odd = 3", "a name of letters, digits, - and _"),
    ],
)
def test_a_broken_one_is_named_with_its_package_and_breaks_no_other(
    entries: str, code: str, message: str, install: Install
) -> None:
    install("broken-one", entries, code=code)
    install("back-wards", "my-bm25 = back_wards:Backwards")
    with pytest.raises(SystemSpecError) as caught:
        make_system(entries.partition(" ")[0])
    assert message in str(caught.value)
    assert "broken-one" in str(caught.value)
    assert make_system("my-bm25").name == "my-bm25"
    assert make_system("bm25").name == "bm25"
    text, warnings = listed()
    is_told = "entry point such as" in message or "letters, digits" in message  # by its metadata alone
    assert (message in warnings) == is_told
    assert ("\nodd" in text) != is_told
    assert "my-bm25" in text
    only = CliRunner().invoke(cli, ["systems", "--only", entries.partition(" ")[0]])
    assert message in str(only.exception)


def test_what_packages_do_when_they_are_imported_touches_no_list_and_no_other_system(
    install: Install, tmp_path: Path
) -> None:
    codes = ("print('hello')", "import os; os._exit(7)", "raise KeyboardInterrupt", "import time; time.sleep(600)")
    for number, code in enumerate(codes):
        install(f"bad-{number}", f"odd-{number} = bad_{number}:Backwards", code=f"{code}\n{RANKING}")
    install("back-wards", "my-bm25 = back_wards:Backwards")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def ran(*words: str) -> str:
        command = [sys.executable, "-m", "evidencebench", *words]
        ended = subprocess.run(
            command, env=environment, cwd=tmp_path, timeout=300, capture_output=True, text=True, check=True
        )
        assert "warning" not in ended.stderr
        return ended.stdout

    found = json.loads(ran("systems", "--json"))
    names = [*(f"odd-{number}" for number in range(len(codes))), "my-bm25"]
    packages = [*(f"bad-{number} 1.2" for number in range(len(codes))), "back-wards 1.2"]
    assert [found[name]["package"] for name in names] == packages
    ran("run", "my-bm25", "--data", "sample", "-o", "run.jsonl")
    assert json.loads(ran("systems", "--only", "odd-0", "--json"))["odd-0"]["options"] == {"k1": 1.5}


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("entry_points.txt", b"[evidencebench.systems]\nodd\n"),
        ("entry_points.txt", b"[evidencebench.systems]\nodd = \xff\n"),
        ("METADATA", b"Name: \xff\n"),
    ],
)
def test_a_package_with_torn_metadata_is_named_and_breaks_no_other(
    file: str, content: bytes, install: Install, tmp_path: Path
) -> None:
    folder = install("torn-one", "odd = torn_one:Backwards")
    (folder / "torn_one-1.2.dist-info" / file).write_bytes(content)
    install("back-wards", "my-bm25 = back_wards:Backwards")
    where = "torn_one-1.2.dist-info: its entry points cannot be read: "
    text, warnings = listed()
    assert where in warnings
    assert "my-bm25" in text
    execute("my-bm25", load_sample(), tmp_path / "run.jsonl", limit=1)
    with pytest.raises(SystemSpecError, match=f"'odd'.*{where}.*uninstall"):
        make_system("odd")


def test_one_that_takes_a_name_of_ours_is_warned_of_and_ours_stays(install: Install) -> None:
    install("back-wards", "bm25 = back_wards:Backwards")
    assert make_system("bm25").module is None
    assert make_system("back_wards:Backwards").name == "back_wards:Backwards"
    _, warnings = listed()
    assert "system 'bm25' of package 'back-wards': evidencebench has a system of this name, which stays" in warnings
    assert "name this one by its place: back_wards:Backwards" in warnings


def test_two_packages_with_one_name_are_both_named(install: Install) -> None:
    install("back-wards", "my-bm25 = back_wards:Backwards")
    install("for-wards", "my-bm25 = for_wards:Backwards")
    with pytest.raises(SystemSpecError, match=r"wards' and '.*wards' both have one; uninstall one"):
        make_system("my-bm25")
    assert "my-bm25" not in SYSTEMS
    result = CliRunner().invoke(cli, ["crossval", "my-bm25", "--data", "sample"])
    assert "both have one" in str(result.exception)
    assert "both have one" in listed("--json")[1]


@pytest.mark.parametrize("name", ["My-Ranker", "bm25", "json", "class", "a--b", "-a", "../a", "numpy"])
def test_a_new_package_is_refused_a_name_that_cannot_be(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["systems", "new", "--", name])
    assert isinstance(result.exception, SystemSpecError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@thorough_only
def test_a_new_package_is_installed_by_pip_into_a_fresh_environment_and_runs(tmp_path: Path) -> None:
    def ran(*words: str | Path) -> str:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        ended = subprocess.run(
            [str(word) for word in words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    written = ran(sys.executable, "-m", "evidencebench", "systems", "new", "my-ranker")
    assert "next: pip install --editable my-ranker" in written
    venv.create(tmp_path / "fresh")
    python = tmp_path / "fresh" / "bin" / "python"
    site = ran(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip()
    # What is installed here, evidencebench among it, is seen there; nothing is fetched.
    seen = [sysconfig.get_paths()["purelib"], *(path for path in sys.path if path.endswith(("site-packages", "src")))]
    Path(site, "seen.pth").write_text("\n".join(dict.fromkeys(seen)) + "\n")
    pip = ("--python", python, "install", "--no-index", "--no-deps", "--no-build-isolation", "--quiet")
    ran(sys.executable, "-m", "pip", *pip, tmp_path / "my-ranker")
    listed_there = json.loads(ran(python, "-m", "evidencebench", "systems", "--json"))
    assert listed_there["my-ranker"]["package"] == "my-ranker 0.1.0"
    ran(python, "-m", "evidencebench", "run", "my-ranker:weight=2", "--data", "sample", "-o", "mine.jsonl")
    header = read_run(tmp_path / "mine.jsonl").header
    assert header is not None
    assert header.versions["my-ranker"] == "0.1.0"
    assert "1 passed" in ran(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "my-ranker/tests")
