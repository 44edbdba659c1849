"""Systems in any language, as programs that answer lines of JSON: what they are sent, and how they fail."""

import json
import re
import shlex
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from doors import (
    Failure,
    ProgramEndedError,
    ProgramError,
    ProgramOutputError,
    ProgramTimeoutError,
    StopError,
    SystemSpecError,
    file_sha256,
)
from evidencebench import (
    Query,
    Ranking,
    RankingTask,
    Threads,
    execute,
    load_sample,
    make_system,
    open_run,
    rank_by_score,
)
from kit.command_line import until
from kit.line_programs import SHARED_WORDS, write_program
from runs.test_runs import many

SAMPLE = load_sample()
QUERY = SAMPLE[0].query
GREETING = "print('{\"protocol\": 1}', flush=True)\n"
TASK = RankingTask(budget=3, scope="results", name="result_er_at_3")


@dataclass(frozen=True, kw_only=True)
class SharedWords:
    """The same as the program in `line_programs`."""

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        words = set(query.hypothesis.lower().split())
        return rank_by_score([len(words & set(text.lower().split())) for text in query.sentences])


def spec_of(tmp_path: Path, code: str, *, options: str = "") -> str:
    return f"exec:{write_program(tmp_path / 'program', code)}{options}"


def answering(does: str, *, before: str = "") -> str:
    """Return the code of a program that does the same with each line that it is sent."""
    return f"import os, sys, time\n{before}{GREETING}for line in sys.stdin:\n    {does}\n"


def test_a_program_answers_as_the_same_system_in_python_does(word_program: Path, tmp_path: Path) -> None:
    data = many(tmp_path / "data.json", 40)
    execute(SharedWords(), data, tmp_path / "python.jsonl")
    expected = open_run(tmp_path / "python.jsonl")
    spec = f"exec:{word_program}"
    asked: list[dict[str, Any]] = [{"jobs": 2}, {"engine": Threads(4)}]
    for number, options in enumerate(asked):
        path = tmp_path / f"{number}.jsonl"
        report = execute(make_system(spec) if "engine" in options else spec, data, path, **options)
        assert (report.n_instances, report.n_failed) == (len(data), 0)
        run = open_run(path)
        assert all(run.answer(one.id, "er_at_10") == expected.answer(one.id, "er_at_10") for one in data)


def test_no_program_waits_beside_those_of_the_workers(tmp_path: Path) -> None:
    started = tmp_path / "started"
    code = answering(
        # Sentence 1 where the program that was started first, for the command itself, has ended; else sentence 0.
        "print('{\"sentences\":[%d]}' % (not os.path.exists('/proc/' + first)), flush=True)",
        before=f"open({str(started)!r}, 'a').write(str(os.getpid()) + '\\n')\n"
        f"first = open({str(started)!r}).readline().strip()\n",
    )
    report = execute(spec_of(tmp_path, code), many(tmp_path / "data.json", 40), tmp_path / "run.jsonl", jobs=2)
    assert report.n_failed == 0
    run = open_run(tmp_path / "run.jsonl")
    assert {run.answer(one, "er_at_10") for one, _ in run.done} == {Ranking(sentences=(1,))}
    assert len(started.read_text().split()) in {2, 3}  # the second worker may come too late for any work


def test_the_header_holds_the_command_its_file_and_what_the_program_says(word_program: Path, tmp_path: Path) -> None:
    execute(f"exec:{word_program} --depth 3,timeout_seconds=30", SAMPLE, tmp_path / "run.jsonl")
    header = open_run(tmp_path / "run.jsonl").header
    assert header is not None
    command = f"{word_program} --depth 3"
    assert header.system.options == {"command": command, "timeout_seconds": 30.0, "start_seconds": 120.0}
    assert header.versions["words"] == "3"
    assert header.versions[f"code of {word_program}"] == f"sha256:{file_sha256(word_program)}"
    again = execute(f"exec:{command},timeout_seconds=30", SAMPLE, tmp_path / "run.jsonl")
    assert again.n_resumed == len(SAMPLE)


def test_every_file_of_the_command_counts_and_the_first_line_says_the_traits(tmp_path: Path) -> None:
    line = '{"protocol": 1, "reads_task": true, "selects": true, "reads_hypothesis": false}'
    system = make_system(spec_of(tmp_path, f"print('{line}', flush=True)\ninput()\n"))
    assert (system.reads_task, system.selects, system.traits.reads_hypothesis) == (True, True, False)
    script = tmp_path / "words.py"
    script.write_text(SHARED_WORDS)
    versions = make_system(f"exec:{sys.executable} {script}").versions()
    assert versions[f"code of {script}"] == f"sha256:{file_sha256(script)}"
    assert f"code of {sys.executable}" in versions


def test_a_program_is_sent_what_a_system_may_read_and_nothing_else(tmp_path: Path) -> None:
    sent = tmp_path / "sent.jsonl"
    code = answering('open(sys.argv[1], "a").write(line); print(\'{"sentences": [], "ordered": false}\', flush=True)')
    system = make_system(f"exec:{write_program(tmp_path / 'program', code)} {sent}")
    for instance in SAMPLE:
        assert system.rank(instance.query, TASK) == Ranking(sentences=(), ordered=False)
    expected = []
    for number, instance in enumerate(SAMPLE, 1):
        query = {
            "instance_id": instance.id,
            "paper_id": instance.query.paper_id,
            "hypothesis": instance.query.hypothesis,
            "sentences": list(instance.query.sentences),
            "kinds": [str(kind) for kind in instance.query.kinds],
            "goal": None,
        }
        task = {"budget": 3, "scope": "results", "name": "result_er_at_3"}
        expected.append({"protocol": 1, "id": number, "query": query, "task": task})
    assert [json.loads(line) for line in sent.read_text().splitlines()] == expected


# What a program does once it is asked -> the error, and words of its message.
FAULTS = {
    "time.sleep(60)": (ProgramTimeoutError, "no answer within 5 s; a program must flush"),
    "sys.exit(3)": (ProgramEndedError, "the program ended with status 3 before it answered"),
    "os.kill(os.getpid(), 9)": (ProgramEndedError, "the program was killed by signal 9"),
    "os.close(1); sys.stderr.write('out of memory'); sys.exit(1)": (ProgramEndedError, "standard error: out of memory"),
    "print('4 0', flush=True)": (ProgramOutputError, "expected an answer, such as"),
    "print('{\"sentence\": [4]}', flush=True)": (ProgramOutputError, "unknown field `sentence`"),
    "print('{}', flush=True)": (ProgramOutputError, "expected either sentences or an error"),
    'print(\'{"sentences": [0], "id": 7}\', flush=True)': (ProgramOutputError, "answer to request 1, got that to 7"),
    'print(\'{"sentences": [0]}\\n{"sentences": [1]}\', flush=True)': (ProgramOutputError, "expected one line"),
    "sys.stdout.buffer.write(b'\\xff\\n'); sys.stdout.flush()": (ProgramOutputError, "expected an answer"),
    "[sys.stdout.write('x' * 2**20) for _ in range(20)]": (ProgramOutputError, "of at most 16,777,216 bytes"),
    'print(\'{"error": "too long"}\', flush=True)': (ProgramError, "the program says: too long"),
}


@pytest.mark.parametrize("does", FAULTS)
def test_what_is_no_answer_is_a_failure_of_its_class_and_the_next_query_is_answered(does: str, tmp_path: Path) -> None:
    seconds = 5 if "sleep" in does else 60  # in which the others are answered, on a loaded machine too
    code = answering(
        f"if '{QUERY.instance_id}\"' in line:\n        {does}\n    else:\n"
        "        print('{\"sentences\": [2, 1]}', flush=True)"
    )
    execute(spec_of(tmp_path, code, options=f",timeout_seconds={seconds}"), SAMPLE, tmp_path / "run.jsonl")
    run = open_run(tmp_path / "run.jsonl")
    kind, words = FAULTS[does]
    failed = run.answer(QUERY.instance_id, "er_at_10")
    assert isinstance(failed, Failure)
    assert failed.error.startswith(f"{kind.__name__}: ")
    assert words in failed.error
    answers = [run.answer(one.id, "er_at_10") for one in list(SAMPLE)[1:]]
    assert answers == [Ranking(sentences=(2, 1))] * (len(SAMPLE) - 1)


def test_a_second_line_that_comes_late_is_not_taken_for_the_next_answer(tmp_path: Path) -> None:
    log = tmp_path / "log"  # says that the second line was written
    code = answering(
        "for index in range(2): print('{\"sentences\": [%d]}' % index, flush=True)"
        f"; index and open({str(log)!r}, 'a').write('x')"
    )
    system = make_system(spec_of(tmp_path, code))
    for _ in range(3):
        log.write_text("")
        with suppress(ProgramOutputError):
            assert system.rank(QUERY, TASK).sentences == (0,)
            until(lambda: bool(log.read_text()))
            assert log.read_text()


def test_a_program_that_reads_nothing_is_stopped_by_the_time_limit(tmp_path: Path) -> None:
    code = GREETING + "import time\ntime.sleep(60)\n"
    long = Query(instance_id="q", paper_id="p", hypothesis="h", sentences=("word " * 10**6,), kinds=QUERY.kinds[:1])
    system = make_system(spec_of(tmp_path, code, options=",timeout_seconds=0.5"))
    with pytest.raises(ProgramTimeoutError):
        system.rank(long, TASK)


def test_all_that_a_program_started_is_killed_with_it(tmp_path: Path) -> None:
    code = (
        "import os, sys, time\n"
        "if (child := os.fork()) == 0:\n"
        "    time.sleep(600)\n"
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(child))\n" + GREETING + "time.sleep(600)\n"
    )
    system = make_system(spec_of(tmp_path, code, options=",timeout_seconds=0.3"))
    with pytest.raises(ProgramTimeoutError):
        system.rank(QUERY, TASK)
    child = int((tmp_path / "child").read_text())
    until(lambda: not _is_alive(child))
    assert not _is_alive(child)


HANGS = """
import os, signal, sys, time
if "deaf" in sys.argv:
    for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(one, signal.SIG_IGN)
if "parent" in sys.argv:
    child = os.fork()
open(os.path.join(sys.argv[1], str(os.getpid())), "w")
if not ("parent" in sys.argv and child == 0):
    print('{"protocol": 1}', flush=True)
time.sleep(600)
"""
IN_THREADS = """
import sys
from evidencebench import Threads, execute, make_system
execute(make_system(sys.argv[2]), *sys.argv[4:7:2], engine=Threads(4))
"""


@pytest.mark.parametrize(
    ("does", "how"),
    [
        (["wrapped"], "--jobs=1"),
        (["deaf", "parent", "wrapped"], "--jobs=2"),
        (["deaf", "parent", "wrapped"], "threads"),
    ],
)
def test_no_program_outlives_an_evidencebench_that_is_killed(does: list[str], how: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    command = shlex.join([str(write_program(tmp_path / "hangs", HANGS)), str(pids), *does])
    if "wrapped" in does:
        command = shlex.join(["sh", "-c", f"{command}; true"])
    data = many(tmp_path / "data.json", 40).path
    asked = ["run", f"exec:[{command}]", "--data", str(data), "-o", str(tmp_path / "run.jsonl")]
    main = ["-c", IN_THREADS, *asked] if how == "threads" else ["-m", "evidencebench", *asked, how]
    with subprocess.Popen([sys.executable, *main], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as running:
        n_expected = (2 if how == "--jobs=2" else 1) * (2 if "parent" in does else 1)
        until(lambda: len(alive_in(pids)) >= n_expected or running.poll() is not None)
        assert len(alive_in(pids)) >= n_expected
        running.kill()
    until(lambda: not alive_in(pids))
    assert not alive_in(pids)


def alive_in(pids: Path) -> list[int]:
    return [int(one.name) for one in pids.iterdir() if _is_alive(int(one.name))]


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it ended before the file was opened, or since
        return False


def test_a_program_ends_when_its_system_is_no_longer_used(tmp_path: Path) -> None:
    code = f"import os\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n" + GREETING + "input()\n"
    system = make_system(spec_of(tmp_path, code))
    process = int((tmp_path / "pid").read_text())
    assert _is_alive(process)
    del system
    assert not _is_alive(process)


def test_an_answer_that_does_not_fit_the_paper_fails_and_leaves_the_program_running(tmp_path: Path) -> None:
    started = tmp_path / "started"
    before = f"open({str(started)!r}, 'a').write('x')\n"
    code = answering("print('{\"sentences\": [99999]}', flush=True)", before=before)
    report = execute(spec_of(tmp_path, code), SAMPLE, tmp_path / "run.jsonl")
    assert report.n_failed == len(SAMPLE)
    assert "OutOfRangeError" in (report.first_error or "")
    assert started.read_text() == "x"


@pytest.mark.parametrize(
    ("first", "kind", "words"),
    [
        ("print('ready', flush=True)", ProgramOutputError, "first line, got 'ready'"),
        ("print('{\"protocol\": 2}', flush=True)", ProgramOutputError, "protocol 1, got 2"),
        ('print(\'{"protocol": 1, "waits": true}\')', ProgramOutputError, "`waits`"),
        ("raise RuntimeError('no model')", ProgramEndedError, "standard error: .*no model"),
        ("input()", ProgramTimeoutError, r"0\.5 s"),
    ],
)
def test_a_program_that_does_not_begin_as_it_should_is_an_error_before_any_run(
    first: str, kind: type[Exception], words: str, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=words) as caught:
        make_system(spec_of(tmp_path, f"{first}\n", options=",start_seconds=0.5" if first == "input()" else ""))
    assert str(caught.value).startswith(f"exec: '{tmp_path / 'program'}': ")


def test_a_program_that_begins_otherwise_the_second_time_fails(tmp_path: Path) -> None:
    state = tmp_path / "state"
    code = (
        f"import os\nprint('{{\"protocol\": 1, \"selects\": %s}}' % ('true' if os.path.exists({str(state)!r}) else "
        f"'false'), flush=True)\nopen({str(state)!r}, 'w')\ninput()\n"
    )
    system = make_system(spec_of(tmp_path, code))
    with pytest.raises(ProgramEndedError):
        system.rank(QUERY, TASK)
    with pytest.raises(ProgramOutputError, match="same first line"):
        system.rank(QUERY, TASK)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("exec", "'command'"),
        ("exec:", "exec:./my-program"),
        ("exec:no-such-program", "no-such-program.* can be run$"),
        ("exec:here", r"is \./here"),
        ("exec:./here", r"chmod \+x \./here"),
        ("exec:./it's", "No closing quotation"),
        ("exec:true,timeout_seconds=0", "timeout_seconds"),
        ("exec:true,seconds=3", "'seconds'"),
    ],
)
def test_a_command_that_cannot_be_is_refused_in_words(
    spec: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here").write_text("")
    with pytest.raises(SystemSpecError, match=message):
        make_system(spec)


def test_a_script_that_does_not_say_who_reads_it_is_refused_in_words(tmp_path: Path) -> None:
    program = write_program(tmp_path / "program")
    program.write_text(SHARED_WORDS)
    with pytest.raises(ProgramError, match=r"cannot be started.*#!/bin/sh"):
        make_system(f"exec:{program}")


def test_words_are_split_as_by_a_shell_and_no_shell_reads_them(tmp_path: Path) -> None:
    arguments = ["two words", "$HOME", "; touch pwned", "a,b", "a+b"]
    code = f"import json, sys\nassert sys.argv[1:] == {arguments!r}\n" + GREETING + "input()\n"
    program = write_program(tmp_path / "program", code)
    assert make_system(f"exec:[{program} {shlex.join(arguments)}]").name == "exec"
    assert not Path("pwned").exists()


def test_a_program_that_never_answers_is_given_up_after_three_papers(tmp_path: Path) -> None:
    code = GREETING + "import time\ntime.sleep(600)\n"
    spec = spec_of(tmp_path, code, options=",timeout_seconds=0.3")
    for jobs in (1, 2):
        path = tmp_path / f"{jobs}.jsonl"
        with pytest.raises(StopError, match=r"none of 3 .*0\.3 s.*more time"):
            execute(spec, many(tmp_path / "data.json", 40), path, jobs=jobs)
        run = open_run(path)
        assert {type(run.answer(one, "er_at_10")) for one, _ in run.done} == {Failure}
        assert len(run.done) in ({2} if jobs == 1 else {2, 3, 4})


def test_a_program_that_has_answered_once_is_not_given_up(tmp_path: Path) -> None:
    state = tmp_path / "state"
    code = (
        GREETING + f"import os, sys, time\nfor line in sys.stdin:\n    if os.path.exists({str(state)!r}):\n"
        f"        time.sleep(600)\n    open({str(state)!r}, 'w')\n    print('{{\"error\": \"not yet\"}}', flush=True)\n"
    )
    report = execute(spec_of(tmp_path, code, options=",timeout_seconds=2"), SAMPLE, tmp_path / "run.jsonl", limit=4)
    assert report.n_failed == 4


@pytest.mark.parametrize(
    "says",
    [
        "sys.stderr.write('refused: ' + key + '.' * 290); sys.exit(1)",  # which cuts the start of the key off
        "sys.stderr.write('GET /?key=' + urllib.parse.quote(key, safe='')); sys.exit(1)",
        "print('.' * 70 + key, flush=True)",
        "print(json.dumps({'error': 'refused: ' + key}), flush=True)",
    ],
)
def test_a_key_that_a_program_tells_stands_in_no_message(
    says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant/0123456789+abcdefghijklmnop")
    code = f"import json, os, sys, urllib.parse\n{GREETING}input()\nkey = os.environ['ANTHROPIC_API_KEY']\n{says}\n"
    with pytest.raises(ProgramError) as caught:
        make_system(spec_of(tmp_path, code)).rank(QUERY, TASK)
    assert not re.search("0123|mnop|sk-a", str(caught.value))
    assert re.search(r"\*\*\*|\.{290}", str(caught.value))
