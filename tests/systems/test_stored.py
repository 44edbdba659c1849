"""Answers in a file can be fused and reordered like any others, and only where they belong."""

import json
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import pytest

from doors import (
    DataHeader,
    Failure,
    QueryControl,
    RunError,
    RunFile,
    RunFormatError,
    RunHeader,
    RunMismatchError,
    SystemHeader,
    SystemSpecError,
    TaskError,
    check_answers,
    read_run,
    runs_by_label,
)
from evidencebench import (
    Experiment,
    Ranking,
    RankingTask,
    answer_instance,
    execute,
    load_sample,
    make_system,
    open_dataset,
    task_named,
    write_dataset,
)

SAMPLE = load_sample()
FIRST = SAMPLE.ids[0]


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Path]:
    """Give a function that runs a system on the sample."""

    def run_of(spec: str, name: str = "run.jsonl", **options: Any) -> Path:
        execute(spec, SAMPLE, tmp_path / name, **options)
        return tmp_path / name

    return run_of


def asked(spec: str, task: RankingTask | None = None) -> Ranking:
    return make_system(spec).rank(SAMPLE[FIRST].query, task or RankingTask(budget=3))


def test_a_stored_run_stands_for_the_system_that_made_it(run: Callable[..., Path]) -> None:
    stored = run("bm25")
    fused = run(f"fuse:systems=[stored:run={stored}+structure]", "fused.jsonl")
    direct = run("fuse:systems=[bm25+structure]", "direct.jsonl")
    assert fused.read_bytes().splitlines()[1:] == direct.read_bytes().splitlines()[1:]
    header = read_run(fused).header
    assert header is not None
    assert header.system.options["systems"][0] == {"name": "stored", "options": {"run": str(stored)}}
    assert header.versions[f"run {stored}"].startswith("sha256:")
    assert asked(f"diverse:system=stored:run={stored},strength=0").sentences == asked("bm25").sentences


def test_a_run_is_not_continued_where_a_stored_part_of_it_changed(run: Callable[..., Path]) -> None:
    stored = run("bm25")
    spec = f"fuse:systems=[stored:run={stored}+structure]"
    run(spec, "fused.jsonl", limit=2)
    stored.unlink()
    run("tfidf")
    with pytest.raises(RunMismatchError, match=r"run .*run\.jsonl changed;"):
        run(spec, "fused.jsonl", limit=2)


def test_a_missing_or_failed_answer_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "plain.json"
    path.write_text(json.dumps({FIRST: [4, 2], SAMPLE.ids[1]: None}))
    system = make_system(f"fuse:systems=[stored:run={path}]")
    answers = [answer_instance(system, SAMPLE[number], None) for number in range(3)]
    assert isinstance(answers[0], Ranking)
    assert answers[0].sentences[:3] == (2, 4, 0)
    failures = [answer.error for answer in answers[1:] if isinstance(answer, Failure)]
    assert failures == [
        f"RunError: {path}: {SAMPLE.ids[1]}: the stored answer failed: null in the answers file",
        f"RunError: {path}: {SAMPLE.ids[2]}: the file has no answer",
    ]


def lines(path: Path, *tasks: tuple[str | None, list[int]]) -> str:
    path.write_text(
        "".join(
            json.dumps({"id": FIRST, "sentences": sentences} | ({"task": task} if task else {})) + "\n"
            for task, sentences in tasks
        )
    )
    return f"stored:run={path}"


def test_of_answers_for_each_task_the_task_finds_its_own(tmp_path: Path) -> None:
    names = ("er_at_optimal", "er_at_10", "result_er_at_5", "result_er_unconstrained")
    spec = lines(tmp_path / "lines.jsonl", *((name, [number]) for number, name in enumerate(names, 1)))
    assert make_system(f"diverse:system={spec}").reads_task
    assert asked(spec, RankingTask(budget=10)).sentences == (2,)
    assert asked(spec, RankingTask(budget=7, name="er_at_optimal")).sentences == (1,)
    assert asked(spec, RankingTask(budget=10, name="er_at_optimal")).sentences == (1,)
    assert asked(spec, RankingTask(budget=5, scope="results")).sentences == (3,)
    assert asked(spec, RankingTask(budget=None, scope="results")).sentences == (4,)
    with pytest.raises(RunError, match=r"er_at_7, .*er_at_10, er_at_optimal"):
        asked(spec, RankingTask(budget=7))  # whose number happens to be nobody's optimum
    with pytest.raises(RunError, match="result_er_at_6"):
        asked(spec, RankingTask(budget=6, scope="results"))
    with_one_for_all = lines(tmp_path / "all.jsonl", ("er_at_10", [2]), (None, [9]))
    assert asked(with_one_for_all, RankingTask(budget=6)).sentences == (9,)
    assert not make_system(lines(tmp_path / "plain.jsonl", (None, [9]))).reads_task


@pytest.fixture
def own_task_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give the name of a system whose answer is the sentence at the budget."""
    name = f"reader_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(
        "from evidencebench import Ranking, Traits\n"
        "class Reader:\n"
        "    traits = Traits(reads_task=True)\n"
        "    def rank(self, query, task):\n"
        "        return Ranking(sentences=(task.budget,))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return f"{name}:Reader"


def test_what_scoring_a_file_refuses_its_stored_answers_refuse_too(
    run: Callable[..., Path], own_task_reader: str, tmp_path: Path
) -> None:
    stored, task = run(own_task_reader, tasks=[task_named("er_at_optimal")]), task_named("er_at_5")
    with pytest.raises(TaskError, match=r"er_at_5.*er_at_optimal only"):
        check_answers(read_run(stored), task, SAMPLE)
    for spec in (f"stored:run={stored}", f"fuse:systems=[stored:run={stored}+structure]"):
        with pytest.raises(TaskError, match=r"er_at_5.*er_at_optimal only"):
            execute(spec, SAMPLE, tmp_path / "again.jsonl", tasks=[task])
    assert not (tmp_path / "again.jsonl").exists()


def test_a_stored_run_of_other_data_or_of_changed_queries_is_refused(run: Callable[..., Path], tmp_path: Path) -> None:
    spec = f"fuse:systems=[stored:run={run('bm25')}]"
    other = tmp_path / "other.json"
    write_dataset(other, [*SAMPLE][:3])
    with pytest.raises(RunMismatchError, match=r"sha256.*run the system on this data"):
        execute(spec, open_dataset(other), tmp_path / "fused.jsonl")
    with pytest.raises(RunMismatchError, match="own queries"):
        execute(spec, SAMPLE, tmp_path / "fused.jsonl", control="wrong_hypothesis")
    with pytest.raises(RunMismatchError, match="own queries"):
        Experiment(spec, SAMPLE, tasks="er_at_10").controls()
    wrong = run("bm25", "wrong.jsonl", control="wrong_hypothesis")
    with pytest.raises(RunMismatchError, match="wrong hypothesis"):
        execute(f"stored:run={wrong}", SAMPLE, tmp_path / "fused.jsonl")


def test_a_file_that_is_missing_or_made_by_an_oracle_is_refused_at_once(
    run: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(RunFormatError, match=r"none\.jsonl"):
        make_system(f"diverse:system=[stored:run={tmp_path / 'none.jsonl'}]")
    with pytest.raises(SystemSpecError, match="option 'run'"):
        make_system("stored:run=")
    with pytest.raises(SystemSpecError, match="greedy_oracle"):
        make_system(f"fuse:systems=[bm25+stored:run={run('greedy_oracle')}]")


def test_a_stored_run_answers_without_a_budget_where_its_maker_did(run: Callable[..., Path], tmp_path: Path) -> None:
    assert not make_system(f"stored:run={run('bm25')}").selects
    assert not make_system(lines(tmp_path / "headless.jsonl", (None, [9]))).selects
    selecting = run("bm25")
    content = selecting.read_bytes().replace(b'"result_er_at_10"]', b'"result_er_unconstrained"]', 1)
    (tmp_path / "selecting.jsonl").write_bytes(content)
    assert make_system(f"stored:run={tmp_path / 'selecting.jsonl'}").selects


def test_a_person_is_labelled_by_name_also_when_alone(tmp_path: Path) -> None:
    def person(name: str, *, is_wrong: bool = False) -> RunFile:
        data, system = (
            DataHeader(name="", path="", sha256="0", n=1),
            SystemHeader(name="person", options={"name": name}),
        )
        control = QueryControl(name="wrong_hypothesis") if is_wrong else None
        header = RunHeader(system=system, data=data, tasks=("er_at_10",), control=control)
        return RunFile(tmp_path / f"{name} {is_wrong}.jsonl", header, {})

    assert list(runs_by_label([person("Ada")])) == ["person(name=Ada)"]
    both = [person("Ada"), person("Bob"), person("Bob", is_wrong=True)]
    assert list(runs_by_label(both)) == ["person(name=Ada)", "person(name=Bob)", "person(name=Bob), wrong hypothesis"]


def test_runs_are_labelled_by_the_options_that_tell_them_apart_or_else_by_their_paths(run: Callable[..., Path]) -> None:
    specs = {
        "bm25.jsonl": "bm25",
        "two.jsonl": "fuse:systems=[bm25+structure]",
        "three.jsonl": "fuse:systems=[bm25+structure+lead]",
        "weak.jsonl": "diverse:system=[bm25:k1=1]",
        "strong.jsonl": "diverse:system=[bm25:k1=2]",
    }
    alike = [read_run(run("lead", name)) for name in ("first.jsonl", "second.jsonl")]
    assert list(runs_by_label(alike)) == ["first.jsonl", "second.jsonl"]
    assert list(runs_by_label([read_run(run(spec, name)) for name, spec in specs.items()])) == [
        "bm25",
        "fuse(systems=[bm25+structure])",
        "fuse(systems=[bm25+structure+lead])",
        "diverse(system=bm25(k1=1.0,b=0.4,stopwords=True))",
        "diverse(system=bm25(k1=2.0,b=0.4,stopwords=True))",
    ]


def run_of(name: str, path: str = "run.jsonl", **options: Any) -> RunFile:
    data = DataHeader(name="", path="", sha256="0", n=1)
    header = RunHeader(system=SystemHeader(name=name, options=options), data=data, tasks=("er_at_10",))
    return RunFile(Path(path), header, {})


def test_a_language_model_is_labelled_by_its_model_and_then_only_by_what_differs() -> None:
    mini, nano = "openai/gpt-4o-mini-2024-07-18", "openai/gpt-4o-nano-2024-07-18"
    parts = [{"name": "llm_base", "options": {"model": model}} for model in (mini, nano)]
    cases = {
        ("gpt-4o-mini-2024-07-18 · base",): [run_of("llm_base", model=mini, seed=0)],
        ("llama-3.1-8b · rank",): [run_of("llm_rank", model="openrouter/meta-llama/llama-3.1-8b/")],
        ("gpt-4o-mini-2024-07-18+gpt-4o-nano-2024-07-18 · vote",): [run_of("llm_vote", systems=parts)],
        ("gpt-4o-mini-2024-07-18 · base", "gpt-4o-nano-2024-07-18 · base"): [
            run_of("llm_base", model=model, seed=0) for model in (mini, nano)
        ],
        ("m · base(seed=0)", "m · base(seed=1)", "m · rank"): [
            run_of("llm_base", model="local/m", seed=0),
            run_of("llm_base", model="local/m", seed=1),
            run_of("llm_rank", model="local/m", seed=1),
        ],
        ("m · base(model=local/m)", "m · base(model=vllm/m)"): [
            run_of("llm_base", model="local/m"),
            run_of("llm_base", model="vllm/m"),
        ],
        ("llm_base", "llm_vote"): [run_of("llm_base", model=3), run_of("llm_vote", systems=[[], {"options": 1}])],
    }
    for labels, runs in cases.items():
        assert tuple(runs_by_label(runs)) == labels


def test_runs_have_the_names_that_are_given_and_no_other_name_is_taken() -> None:
    runs = [run_of("bm25", "a.jsonl"), run_of("tfidf", "b.jsonl")]
    assert list(runs_by_label(runs, {"a.jsonl": "Ours"})) == ["Ours", "tfidf"]
    wrong: tuple[tuple[dict[str | PathLike[str], str], str], ...] = (
        ({"c.jsonl": "Ours"}, "names: 'c.jsonl': .*'a.jsonl', 'b.jsonl'"),
        ({"a.jsonl": "tfidf"}, "'tfidf' for 2 runs"),
        ({"a.jsonl": " "}, "got ' '"),
    )
    for names, said in wrong:
        with pytest.raises(RunError, match=said):
            runs_by_label(runs, names)


def test_a_header_nested_without_end_is_shown_to_a_bound() -> None:
    value: Any = {"name": "bm25", "options": {}}
    for _ in range(900):
        value = {"name": "diverse", "options": {"system": value}}
    signature = SystemHeader(name="fuse", options={"systems": [value]}).signature
    assert signature.startswith("fuse(systems=[diverse(system=diverse(")
    assert "system=...)" in signature
    assert len(signature) < 1000
