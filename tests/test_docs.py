"""The documents say what is true: every command in them runs, and every output shown is what comes out."""

import doctest
import inspect
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

import click
import pytest
from click.testing import CliRunner

import evidencebench
from doors import LazyGroup, cli
from evidencebench import SYSTEMS, TASKS, answers_from, evaluate, load_sample, make_system, open_dataset
from kit.examples import IS_THOROUGH
from kit.fake_models import RunningServer, running_fake_server
from make_cli_reference import GROUPS, REFERENCE, helps, reference
from site_pages import public_names

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TASKS_PAGE = (ROOT / "docs" / "tasks-and-measures.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text: str, language: str) -> list[str]:
    return [found["body"] for found in _BLOCK.finditer(text) if found["language"] == language]


def shown_commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield (command, the output shown under it, maybe empty or its beginning) of the console blocks."""
    for block in blocks(text, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def printed_by(command: str) -> str:
    """Run a command of a document, in this process; fail where it does not end well."""
    program, *arguments = shlex.split(command)
    assert program == "evidencebench", command
    if arguments[:2] == ["construct", "demo"] and not IS_THOROUGH:
        arguments += ["--faults", "0"]  # or it waits half a minute before it asks again
    result = CliRunner().invoke(cli, arguments, auto_envvar_prefix="EVIDENCEBENCH")
    assert result.exit_code == 0, f"{command}: {result.output}"
    return result.stdout


def run_python(code: str) -> None:
    """Run the Python of a document as a program, in this process, where a warning fails it unless it is ours."""
    exec(compile(code, "<document>", "exec"), {"__name__": "__main__"})  # noqa: S102 - a document of our own


SHOWN_PORT = "8123"
"""Where the documents say that the fake server listens."""


@pytest.fixture
def oracle() -> Iterator[RunningServer]:
    """Run the server that the documents ask."""
    with running_fake_server(load_sample()) as server:
        yield server


@pytest.mark.usefixtures("_empty_folder")
def test_the_commands_about_language_models_run_and_its_python_prints_an_answer(
    oracle: RunningServer, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "docs" / "llm.md").read_text(encoding="utf-8").replace(SHOWN_PORT, str(oracle.port))
    for command, output in shown_commands(text):
        assert printed_by(command).startswith(output), command
    (code,) = blocks(text, "python")
    capsys.readouterr()
    run_python(code)
    printed = capsys.readouterr().out
    assert printed.startswith("Ranking(sentences=(")
    assert "0 sent, 1 stored, 0 failed" in printed  # since the run above asked the same


@pytest.mark.usefixtures("_empty_folder")
def test_every_command_in_readme_runs_and_prints_what_is_shown() -> None:
    Path("shared_words.py").write_text(blocks(README, "python")[0], encoding="utf-8")
    for command, output in shown_commands(README):
        assert printed_by(command).startswith(output), command


TUTORIALS = ("read-papers.md", "build-systems.md", "build-benchmarks.md")


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_is_walked_by_pasting_its_commands_into_a_shell(name: str, tmp_path: Path) -> None:
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    for code in blocks(text, "python")[:1]:
        (tmp_path / "shared_words.py").write_text(code, encoding="utf-8")
    (tmp_path / "home").mkdir()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command, output in shown_commands(text):
        pasted = command + (" --faults 0" if "construct demo" in command and not IS_THOROUGH else "")
        done = subprocess.run(
            ["/bin/sh", "-c", pasted],
            cwd=tmp_path,
            env={**os.environ, "HOME": str(tmp_path / "home"), "PATH": path},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)
        assert done.stdout.startswith(output), command


def test_a_tutorial_is_short() -> None:
    for name in TUTORIALS:
        assert _n_words((ROOT / "docs" / name).read_text(encoding="utf-8")) < 800, name
    assert _n_words(README) <= 600


# Which document needs more than an empty folder for its Python; a test above or below brings it.
RUN_ELSEWHERE = {"llm.md": 1, "data-format.md": 1}
PYTHON = [
    (path.name, number)
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for number in range(RUN_ELSEWHERE.get(path.name, 0), len(blocks(path.read_text(encoding="utf-8"), "python")))
]


@pytest.mark.parametrize(("name", "number"), PYTHON)
@pytest.mark.usefixtures("_empty_folder")
def test_all_python_of_the_documents_runs_and_prints_what_is_shown_below_it(
    name: str, number: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_here(words: list[str], *, check: bool) -> None:
        assert (words[:3], check) == ([sys.executable, "-m", "evidencebench"], True)
        click.echo(printed_by(shlex.join(words[2:])), nl=False)

    folder = ROOT if name == "README.md" else ROOT / "docs"
    found = list(_BLOCK.finditer((folder / name).read_text(encoding="utf-8")))
    (place,) = [n for n, one in enumerate(found) if one["language"] == "python"][number : number + 1]
    code, after = found[place], found[place + 1] if place + 1 < len(found) else None
    monkeypatch.setattr(subprocess, "run", run_here)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    run_python(code["body"])
    printed, told = capsys.readouterr()
    assert told == ""
    if after is not None and after["language"] == "text" and not code.string[code.end() : after.start()].strip():
        assert printed == after["body"]


@pytest.mark.usefixtures("_empty_folder")
def test_the_system_of_the_documents_runs() -> None:
    text = (ROOT / "docs" / "systems.md").read_text(encoding="utf-8")
    Path("shared_words.py").write_text(blocks(text, "python")[0], encoding="utf-8")
    Path("words.py").write_text(blocks(text, "python")[1], encoding="utf-8")
    for command, _ in shown_commands(text):
        printed_by(command)
    assert len(Path("shared_words.jsonl").read_text(encoding="utf-8").splitlines()) == 11


@pytest.mark.usefixtures("_empty_folder")
def test_the_training_of_the_documents_is_cross_validated() -> None:
    text = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    Path("telling_words.py").write_text(blocks(text, "python")[0], encoding="utf-8")
    for command, _ in shown_commands(text):
        assert "telling_words:TellingWords" in printed_by(command)


@pytest.mark.usefixtures("_empty_folder")
def test_the_example_in_the_data_format_holds() -> None:
    failures, n_examples = doctest.testfile(str(ROOT / "docs" / "data-format.md"), module_relative=False)
    assert n_examples > 0
    assert failures == 0


@pytest.mark.usefixtures("_empty_folder")
def test_the_instance_of_the_data_format_is_valid_and_its_optima_are_those_that_solve_derives() -> None:
    (shown,) = blocks((ROOT / "docs" / "data-format.md").read_text(encoding="utf-8"), "json")
    Path("shown.json").write_text(shown, encoding="utf-8")
    assert printed_by("evidencebench data validate shown.json --optima").endswith("valid\n")
    record = json.loads(shown)
    own = {key: value for key, value in record["tea_1"].items() if not key.endswith("_evaluation")}
    assert len(own) == len(record["tea_1"]) - 4
    Path("mine.json").write_text(json.dumps({"tea_1": own}), encoding="utf-8")
    printed_by("evidencebench data solve mine.json -o solved.json")
    assert json.loads(Path("solved.json").read_text(encoding="utf-8")) == record


def test_the_make_commands_of_readme_are_what_ci_runs() -> None:
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    made = re.findall(r"^make \w+", README, re.MULTILINE)
    assert made == ["make demo", "make test"]
    assert all(re.search(rf"^(?:EVIDENCEBENCH_TESTS=thorough )?{command}$", ci, re.MULTILINE) for command in made)


def test_the_cli_reference_is_what_help_prints() -> None:
    assert REFERENCE.read_text(encoding="utf-8") == reference(), "run 'make generated'"


def test_the_reference_says_of_every_command_each_of_its_options_and_what_is_shared_once() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    shared, *sections = re.split(r"^## (?!Shared)", text, flags=re.MULTILINE)
    assert len(sections) == len(list(helps()))
    for (name, printed), section in zip(helps(), sections, strict=True):
        assert section.startswith(f"{name.removeprefix('evidencebench ')}\n")
        options = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", printed, re.MULTILINE)) - {"--help"}
        groups = {title for title in GROUPS.values() if f"*{title}*" in section}
        told = section + "".join(shared.partition(f"**{title}**")[2].partition("\n**")[0] for title in groups)
        assert [option for option in options if option not in told] == []
    assert text.count("Use the provider's batch API") == text.count("Print one JSON object.") == 1


def test_every_help_fits_a_terminal_shows_an_example_and_cuts_no_line_short() -> None:
    shown = list(helps())
    for name, text in shown:
        assert "\nCommands:\n" in text or re.search(rf"^ +(Example: )?{name}( |$)", text, re.MULTILINE), name
    lines = [line for _, text in shown for line in text.splitlines()]
    assert (len(shown) > 45, max(map(len, lines)) <= 80) == (True, True)
    assert [line for line in lines if line.endswith("...") and not line.startswith("Usage:")] == []
    assert [line for line in lines if "RANGE" in line] == [], "how numbers are called in the code says nothing"


def test_the_lazy_tables_of_commands_say_what_the_commands_say() -> None:
    groups: list[click.Group] = [cli]
    for group in groups:
        assert isinstance(group, LazyGroup)
        context = click.Context(group)
        for name, line in group.lines.items():
            command = group.get_command(context, name)
            assert command is not None
            assert (command.help or "").splitlines()[0] == line
            groups += [command] if isinstance(command, click.Group) else []
    assert len(groups) == 9


@pytest.mark.parametrize("document", ["README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))])
def test_documents_name_only_what_is_public(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    imported = re.findall(r"(?:from|import) (evidencebench\S*)(?: import (.+))?$", text, re.MULTILINE)
    assert {module for module, _ in imported} <= {"evidencebench"}
    named = {name for _, names in imported for name in names.split(", ")}
    named |= {name for name in re.findall(r"`evidencebench\.(\w+)[`(]", text) if name != "jsonl"}
    assert named - {""} <= set(dir(evidencebench))


def test_the_documents_are_short_enough_to_be_read() -> None:
    pages = [path for path in (ROOT / "docs").glob("*.md") if path != REFERENCE]
    n_words = {path.name: _n_words(path.read_text(encoding="utf-8")) for path in pages}
    assert sum(n_words.values()) <= 35_000, sorted(n_words.items(), key=lambda one: -one[1])


def _n_words(text: str) -> int:
    """Count words; each has a letter or a digit, so that the lines of tables do not count."""
    return sum(re.search(r"\w", word) is not None for word in text.split())


def test_the_site_has_every_public_name_once() -> None:
    parts = public_names(Path(evidencebench.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    named = [part.strip().rpartition(".")[2] for part in parts if part.startswith("::: ")]
    assert sorted([*named, "__version__"]) == dir(evidencebench)


def test_every_public_name_is_there_and_the_list_is_sorted() -> None:
    for name in dir(evidencebench):
        assert getattr(evidencebench, name) is not None
    assert vars(evidencebench)["__all__"] == dir(evidencebench) == sorted(dir(evidencebench))
    assert len(dir(evidencebench)) > 60


def test_every_public_function_class_and_method_has_a_docstring() -> None:
    public: dict[str, Any] = {name: getattr(evidencebench, name) for name in dir(evidencebench)}
    named: dict[str, Any] = {
        name: value for name, value in public.items() if inspect.isclass(value) or inspect.isfunction(value)
    }
    for name, value in list(named.items()):
        if inspect.isclass(value) and value.__module__.startswith("evidencebench"):
            own = {part: member for part, member in vars(value).items() if not part.startswith("_")}
            named |= {f"{name}.{part}": one for part, one in own.items() if isinstance(one, (FunctionType, property))}
    assert [name for name, value in named.items() if not value.__doc__] == []
    assert len(named) > 100


def test_type_checkers_see_the_public_names_where_they_are() -> None:
    stub = Path(evidencebench.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    seen = re.findall(r"^from (\S+) import (\w+) as (\w+)$", stub, re.MULTILINE)
    assert len(seen) == len(re.findall("^[^#\n]", stub, re.MULTILINE))
    assert sorted(name for _, name, _ in seen) == dir(evidencebench)
    for module, name, public in seen:
        assert name == public
        assert getattr(import_module(module), name) is getattr(evidencebench, name)


@pytest.mark.data
def test_the_table_of_the_tasks_holds_the_measured_means() -> None:
    dataset = open_dataset(_train_file())
    names = ["random", "lead", "bm25", "bm25_abstract_first", "oracle"]
    assert set(names) <= set(SYSTEMS)
    scores = evaluate({name: answers_from(make_system(name)) for name in names}, dataset, list(TASKS.values()))
    rows = {row[0].strip("` "): row[3:] for row in _table_rows(TASKS_PAGE) if row[0].strip("` ") in TASKS}
    assert list(rows) == list(TASKS)
    for task, cells in rows.items():
        means = [100 * scores[name][task].scores["aspect_recall"].mean() for name in names]
        shown = [f"{mean:.1f}" for mean in means]
        if TASKS[task].budget is None:
            shown[:-1] = [""] * (len(names) - 1)
        assert cells == shown, task


def _table_rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def _train_file() -> Path:
    path = ROOT.parent / "shared" / "data" / "evidencebench_train_set.json"
    if not path.exists():
        pytest.skip("needs ../shared/data, which is not here")
    return path


@pytest.fixture
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for module in ("shared_words", "telling_words"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setenv("EVIDENCEBENCH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
