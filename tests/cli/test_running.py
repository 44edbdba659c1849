"""Running systems, the environment and the demonstration."""

import re
import sys
from pathlib import Path

import pytest

from kit.command_line import SAMPLE, Command
from kit.examples import thorough_only


def test_a_run_is_resumed_limited_and_started_over(command: Command) -> None:
    assert command("run bm25 --data sample -o run.jsonl --limit 4 --json").json["n_instances"] == 4
    again = command("run bm25 --data sample -o run.jsonl --limit 4")
    assert (again.code, "4 instances, 4 of them from earlier; 0 answers failed" in again.out) == (0, True)
    refused = command("run bm25 --data sample -o run.jsonl")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("error: run.jsonl: was made with other settings: limit was 4, now None")
    assert command("run bm25 --data sample -o run.jsonl --overwrite --json").json["n_resumed"] == 0
    assert command("score run.jsonl --data sample --set draws=50 --json").json["er_at_10"]["n"] == 10


def test_the_next_command_that_a_run_names_works(command: Command) -> None:
    found = command("run lead --data sample -o {my run.jsonl}")
    assert found.code == 0
    following = found.out.split("next: evidencebench ")[1].strip()
    quoted = re.sub(r"'([^']*)'", r"{\1}", following)
    assert command(f"{quoted} --set draws=50").code == 0


def test_failed_answers_are_counted_said_and_asked_again_on_request(command: Command) -> None:
    found = command("run own:Slow:fails=true --data sample -o run.jsonl")
    assert found.code == 1
    assert "10 instances; 10 answers failed" in found.out
    assert "failed: own code  10 of 10" in found.err
    first = f"the first, {SAMPLE.ids[0]}: ConnectionError: the server is down"
    assert first in " ".join(found.err.split())
    assert command("run own:Slow:fails=true --data sample -o run.jsonl").code == 1  # they still fail: nothing is mended
    assert command("score run.jsonl --data sample --set draws=50 --json").json["er_at_10"]["failed"] == 10
    assert command("run own:Slow:fails=true --data sample -o run.jsonl --retry-failed --json").json["n_failed"] == 10


@pytest.mark.parametrize(
    ("variable", "arguments", "shown"),
    [
        ("RUN_JOBS=many", "run lead --data sample -o run.jsonl", "'many' is not a valid whole number"),
        ("RUN_LIMIT=3", "run lead --data sample -o run.jsonl", "run.jsonl: 3 instances"),
        ("RUN_DATA=sample", "run lead -o run.jsonl", "run.jsonl: 10 instances"),
        ("DATA_SOLVE_OUTPUT=solved.json", "data solve sample", "solved.json: 10 instances"),
        ("TASKS_TABLE_FORMAT=csv", "tasks", "er_at_10,10,all"),
    ],
)
def test_an_option_can_be_set_in_the_environment(
    variable: str, arguments: str, shown: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, value = variable.split("=")
    monkeypatch.setenv(f"EVIDENCEBENCH_{name}", value)
    found = command(arguments)
    assert shown in found.out + found.err


@pytest.mark.parametrize("name", ["EVIDENCEBENCH_VERSION", "EVIDENCEBENCH_HELP", "EVIDENCEBENCH_TASKS_HELP"])
def test_a_variable_of_no_option_changes_nothing(name: str, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    before = command("tasks")
    for value in ("0.1.0", "1"):
        monkeypatch.setenv(name, value)
        assert command("tasks") == before


@thorough_only  # `make demo` runs it, too
def test_the_demonstration_ends_with_commands_that_work(command: Command) -> None:
    found, kept = command("demo"), command("demo -o kept")
    assert (found.code, found.err) == (0, "")
    assert kept.out.replace("The runs are in kept.\n\n", "") == found.out
    runs = " ".join(map(str, sorted(Path("kept").glob("*.jsonl"))))
    assert command(f"leaderboard {runs} --data sample --set draws=50").code == 0
    following = re.findall(r"^  evidencebench (.+?)(?:   .*)?$", found.out.split("What to do next")[1], re.MULTILINE)
    assert len(following) == 6
    for arguments in following:
        assert command(arguments.replace(' "', " {").replace('" ', "} ")).code == 0


_NOTING = """
from dataclasses import dataclass
from evidencebench import Ranking, Traits

@dataclass(frozen=True)
class Noting:
    per_task: bool = False
    @property
    def traits(self):
        return Traits(reads_task=self.per_task)
    def rank(self, query, task):
        return Ranking(sentences=(0, 1), notes={"truncated_sentences": 2} if query.instance_id[-1] in "135" else {})
"""


@pytest.mark.parametrize("spec", ["noting:Noting", "noting:Noting:per_task=true"])
def test_what_answers_note_is_said_once_for_each_instance(spec: str, command: Command) -> None:
    Path("noting.py").write_text(_NOTING, encoding="utf-8")
    wanted = 2 * sum(instance_id[-1] in "135" for instance_id in SAMPLE.ids)
    first = command(f"run {spec} --data sample -o noting.jsonl --jobs 2")
    assert f"  {wanted} truncated sentences\n" in first.err
    assert command(f"run {spec} --data sample -o noting.jsonl --json").json["notes"] == {"truncated_sentences": wanted}
    assert "truncated" not in command("run lead --data sample -o lead.jsonl").err


_FAILING = """
from evidencebench import Ranking

class Failing:
    def rank(self, query, task):
        return look_up(query.instance_id)

def look_up(name):
    if name.endswith("_2"):
        raise LookupError("no such word")
    return Ranking(sentences=(0,))
"""


@pytest.mark.parametrize("options", ["", "--json", "--jobs 2"])
def test_a_failing_system_shows_its_own_line_once(options: str, command: Command) -> None:
    Path("failing.py").write_text(_FAILING, encoding="utf-8")
    found = command(f"run failing:Failing --data sample -o run.jsonl {options}")
    assert found.code == 1
    assert options or "10 instances; 1 answer failed\n" in found.out
    assert options == "--json" or "--retry-failed asks again;\n  if you edit your code, start over" in found.err
    assert found.err.count("Traceback (most recent call last):") == 1
    assert found.err.count('failing.py", line 10, in look_up') == 1
    assert "evidencebench/execution/answering.py" not in found.err
    assert "Traceback" not in found.out.replace('"first_trace": "Traceback', "")


def test_a_run_in_which_every_answer_failed_says_what_to_do_and_not_to_score_it(command: Command) -> None:
    Path("all_fail.py").write_text("def fails(query, task):\n    return query.sentence\n", encoding="utf-8")
    found = command("run all_fail.py:fails --data sample -o run.jsonl")
    assert (found.code, found.out.splitlines()[0]) == (1, "run.jsonl: 10 instances; 47 answers failed")
    assert found.out.splitlines()[1:] == ["next: correct the error above, then run the same command with --overwrite"]
    assert "has no attribute 'sentence'" in found.err


def test_a_run_that_is_to_fail_fast_starts_over_once_its_code_is_mended(command: Command) -> None:
    Path("failing.py").write_text(_FAILING, encoding="utf-8")
    arguments = "run failing:Failing --data sample -o run.jsonl --fail-fast"
    found = command(arguments)
    assert (found.code, found.out) == (3, "")
    assert 'failing.py", line 10, in look_up' in found.err
    stopped = (
        f"stopped: {SAMPLE.ids[2]}: LookupError: no such word; rerun to resume"
        "; if you edit your code, start over with --overwrite\n"
    )
    assert stopped in found.err
    Path("failing.py").write_text(_FAILING.replace("_2", "_none"), encoding="utf-8")
    del sys.modules["failing"]
    refused = command(arguments)  # or answers of both would be mixed
    assert refused.code == 2
    assert "code of failing:Failing changed" in refused.err
    assert "start over with --overwrite" in refused.err
    assert "10 instances; 0 answers failed" in command(f"{arguments} --overwrite").out


@pytest.mark.parametrize(
    "arguments",
    [
        "run own:Slow --data sample -o run.jsonl",
        "crossval own:Slow --data sample --folds 2 --seeds 1 --set draws=50",
        "controls own:Slow --data sample --set draws=50",
    ],
)
def test_what_own_code_scores_is_signed_with_its_digest(arguments: str, command: Command) -> None:
    def signatures() -> set[str]:
        sys.modules.pop("own", None)
        found = command(arguments)
        if arguments.startswith("run"):
            found = command("score run.jsonl --data sample --set draws=50")
        return set(re.findall(r"\[code \w{12}\]", found.out))

    first = signatures()
    assert len(first) == 1
    assert signatures() == first
    Path("own.py").write_text(Path("own.py").read_text().replace("sentences=(0, 1)", "sentences=(1, 0)"))
    Path("run.jsonl").unlink(missing_ok=True)
    second = signatures()
    assert (len(second), second & first) == (1, set())


@pytest.mark.parametrize(
    ("system", "shown", "message"),
    [
        ("own:hopeless", 'own.py", line 20, in hopeless', "'own:hopeless': KeyError: 'no such model'"),
        ("broken:make", 'broken.py", line 2\n', "'broken:make': cannot be imported: expected ':' "),
        ("halfway:make", 'halfway.py", line 2, in <module>', "'halfway:make': cannot be imported"),
        ("diverse:system=[own:hopeless]", 'own.py", line 20, in hopeless', "'own:hopeless': KeyError"),
    ],
)
def test_own_code_that_cannot_be_had_shows_its_own_line_above_the_error(
    system: str, shown: str, message: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("broken.py").write_text("\ndef make()")
    Path("halfway.py").write_text("\nimport nowhere_at_all")
    monkeypatch.delitem(sys.modules, "halfway", raising=False)
    found = command(f"run {system} --data sample -o x.jsonl")
    assert found.code == 2
    *trace, error = found.err.splitlines()
    assert re.match(rf"error: .*{re.escape(message)}", error)
    assert shown in "\n".join(trace) + "\n"
    assert all(line.startswith("  ") for line in trace)
    assert "evidencebench/" not in "".join(trace)
