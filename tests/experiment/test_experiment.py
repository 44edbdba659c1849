"""Experiment: the same runs, scores and tables as the commands give, of systems in any form."""

import json
import statistics
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from doors import RunMismatchError
from evidencebench import (
    BM25,
    EvidenceWarning,
    Experiment,
    Measure,
    Query,
    Ranking,
    RankingTask,
    evaluate,
    load_sample,
    open_run,
)
from kit.command_line import Command

TASKS = ("er_at_10", "er_at_optimal")


def first_ten(query: Query, task: RankingTask) -> list[int]:
    assert not hasattr(query, "labels")
    return list(range(min(task.budget or 10, len(query.sentences))))


@dataclass(frozen=True)
class Shifted:
    """Ranks from the sentence whose number is ten times the seed."""

    seed: int = 0

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        assert task.budget != 0
        n = len(query.sentences)
        return Ranking(sentences=tuple((place + 10 * self.seed) % n for place in range(n)))


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        yield


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    folder = tmp_path_factory.mktemp("runs")
    return Experiment(["bm25", "cues", first_ten], "sample", tasks=TASKS, folder=folder).run()


def paths(experiment: Experiment, *names: str) -> str:
    return " ".join(str(experiment.folder / f"{name}.jsonl") for name in names)


AT = " ".join(f"--task {task}" for task in TASKS)


@pytest.mark.parametrize("form", ["csv", "markdown", "latex"])
@pytest.mark.parametrize("what", ["leaderboard", "table"])
def test_a_command_on_the_runs_prints_what_the_experiment_gives(
    what: str, form: str, experiment: Experiment, command: Command
) -> None:
    runs = paths(experiment, "bm25", "bm25.wrong_hypothesis", "cues", "cues.wrong_hypothesis")
    alone = Experiment(["bm25", "cues"], "sample", tasks=TASKS, folder=experiment.folder)
    call, rows = {"leaderboard": ("leaderboard", "tasks"), "table": ("leaderboard --table", "rows")}[what]
    assert getattr(getattr(alone, what)(), form)() in command(f"{call} {runs} -d sample {AT} --format {form}").out
    printed = command(f"{call} {runs} -d sample {AT} --json").json[rows]
    assert json.loads(msgspec.json.encode(getattr(alone, what)().fields[rows])) == printed


def test_comparisons_and_controls_have_the_digits_of_the_commands(experiment: Experiment, command: Command) -> None:
    printed = command(f"compare {paths(experiment, 'bm25', 'cues')} -d sample {AT} --format csv").out
    assert printed.rstrip() == experiment.compare("bm25", "cues").csv()
    printed = command(f"controls bm25 cues -d sample {AT} --format csv").out
    controls = Experiment(["bm25", "cues"], "sample", tasks=TASKS, folder=experiment.folder).controls().csv()
    # The control stands there by its option's name, here in words.
    assert sorted(controls.replace("wrong hypothesis", "wrong_hypothesis").splitlines()) == sorted(printed.splitlines())


def test_what_is_run_already_is_not_run_again(experiment: Experiment) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in experiment.folder.iterdir()}
    asked = []

    def on_progress(name: str, n_done: int, n_all: int) -> None:
        asked.append((name, n_done, n_all))

    again = Experiment(["bm25", "cues"], "sample", tasks=TASKS, folder=experiment.folder, on_progress=on_progress)
    assert again.leaderboard().csv().splitlines()[1:]
    assert {path.name: path.stat().st_mtime_ns for path in experiment.folder.iterdir()} == before
    assert not asked


def test_systems_in_every_form_score_as_evaluate_says(tmp_path: Path) -> None:
    data = load_sample()
    answers = {one.id: list(range(10)) for one in data}
    stored = tmp_path / "stored.json"
    stored.write_text(json.dumps(answers), encoding="utf-8")
    systems: dict[str, Any] = {
        "name": "bm25",
        "object": BM25(),
        "class": BM25,
        "function": first_ten,
        "dict": answers,
        "file": stored,
    }
    found = Experiment(systems, "sample", tasks="er_at_10", controls=()).scored.scores
    bm25 = evaluate({"bm25": BM25()}, data, "er_at_10")["bm25"]["er_at_10"].recalls
    lead = evaluate({"lead": answers}, data, "er_at_10")["lead"]["er_at_10"].recalls
    for name, expected in {
        "name": bm25,
        "object": bm25,
        "class": bm25,
        "function": lead,
        "dict": lead,
        "file": lead,
    }.items():
        assert found[name]["er_at_10"].recalls.tolist() == expected.tolist(), name


def test_an_instance_counts_with_its_mean_over_the_seeds(tmp_path: Path) -> None:
    experiment = Experiment([Shifted], "sample", tasks="er_at_10", seeds=3, controls=(), folder=tmp_path)
    scored = experiment.scored
    one = [
        evaluate({"it": Shifted(seed)}, "sample", "er_at_10")["it"]["er_at_10"].recalls.tolist() for seed in range(3)
    ]
    mean = [sum(values) / 3 for values in zip(*one, strict=True)]
    assert scored.scores["Shifted"]["er_at_10"].recalls.tolist() == pytest.approx(mean)
    assert len({tuple(values) for values in one}) == 3
    deviation = statistics.stdev(statistics.fmean(values) for values in one)
    assert f" ± {100 * deviation:.1f}" in experiment.table(uncertainty="epochs").text()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "Shifted.jsonl",
        "Shifted.seed1.jsonl",
        "Shifted.seed2.jsonl",
    ]
    header = open_run(tmp_path / "Shifted.seed2.jsonl").header
    assert header is not None
    assert header.seed == 2


def test_latex_has_the_heads_the_caption_and_the_label_that_are_given(experiment: Experiment) -> None:
    text = experiment.table().latex(heads={"er_at_10": "ER@10"}, caption="Ours & theirs.", label="tab:ours")
    assert r"ER@10" in text
    assert r"\caption{Ours \& theirs.}" in text
    assert r"\label{tab:ours}" in text
    with pytest.raises(ValueError, match=r"heads: .*'er_at_5'.*er_at_10"):
        experiment.table().latex(heads={"er_at_5": "ER@5"})


def test_frames_and_notebooks_show_every_result(experiment: Experiment) -> None:
    frame = experiment.leaderboard().frame(backend="polars")
    assert frame["n"].dtype.is_integer()
    assert set(frame["task"]) == set(TASKS)
    assert experiment.per_instance(backend="polars").shape[0] == 3 * 2 * 10
    assert experiment.compare().frame(backend="polars").shape[0] == 3 * 2
    page = experiment.controls()._repr_html_()
    assert "<table>" in page
    assert "first_ten" in page


def test_a_result_draws_the_picture_of_its_command(experiment: Experiment, command: Command, tmp_path: Path) -> None:
    two = Experiment(["bm25", "cues"], "sample", tasks=TASKS, controls=(), folder=experiment.folder)
    runs = paths(experiment, "bm25", "cues")
    for name, result in (("leaderboard", two.leaderboard()), ("compare", two.compare())):
        mine = result.plot(tmp_path / f"{name}.svg")
        command(f"{name} {runs} --data sample {AT} --plot {tmp_path}/theirs.svg")
        assert mine.read_text(encoding="utf-8") == (tmp_path / "theirs.svg").read_text(encoding="utf-8")
        with pytest.raises(ValueError, match=r"picture\.pdf: .*\.svg or \.png"):
            result.plot(tmp_path / "picture.pdf")
    for without in (experiment.table(), Experiment(["lead"], "sample", tasks="er_at_10", controls=()).compare()):
        with pytest.raises(ValueError, match=r"no chart.*leaderboard"):
            without.plot(tmp_path / "none.svg")
    size = Measure(name="size", of=lambda outcome: outcome.n_selected, label="sentences")
    sized = Experiment(["lead"], "sample", tasks="er_at_10", controls=(), measures=[size])
    with pytest.raises(ValueError, match=r"'lead': .*0\.\.1, got 10"):
        sized.leaderboard(size).plot(tmp_path / "none.svg")
    assert not (tmp_path / "none.svg").exists()


def test_a_report_of_the_experiment_is_one_page(experiment: Experiment, tmp_path: Path) -> None:
    page = experiment.report(tmp_path / "report.html", title="Mine & yours").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "Mine &amp; yours" in page


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda made: made.compare("bm25", "bm52"), ValueError, "'bm52'.*'bm25', 'cues'"),
        (lambda made: made.table(uncertainty="std"), ValueError, "uncertainty: .*interval, error, .*'std'"),
        (lambda _: Experiment(["lead"], "sample", controls=()).controls(), ValueError, "controls: nothing.*give"),
        (lambda _: Experiment([], "sample"), ValueError, "systems: .*at least one"),
        (lambda _: Experiment({}, "sample"), ValueError, "systems: "),
        (lambda _: Experiment(["random"], "sample", seeds=0), ValueError, "seeds: .*at least one"),
        (lambda _: Experiment(["bm25", "bm25"], "sample"), TypeError, "two .*'bm25'"),
        (lambda _: Experiment([{"a": [1]}], "sample"), TypeError, "no name"),
    ],
)
def test_wrong_names_are_told_in_words(
    experiment: Experiment, ask: Callable[[Experiment], object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ask(experiment)


def test_code_of_a_notebook_is_known_by_what_it_does(tmp_path: Path) -> None:
    def typed(n: int) -> Any:
        cell: dict[str, Any] = {"__name__": "typed_into_a_notebook"}
        exec(f"def mine(query, task):\n    return list(range({n}))", cell)  # noqa: S102 - as a notebook does
        return cell["mine"]

    sys.modules["typed_into_a_notebook"] = ModuleType("typed_into_a_notebook")
    try:
        for n in (3, 3):
            Experiment([typed(n)], "sample", tasks="er_at_10", controls=(), folder=tmp_path).run()
        with pytest.raises(RunMismatchError, match="typed_into_a_notebook:mine"):
            Experiment([typed(4)], "sample", tasks="er_at_10", controls=(), folder=tmp_path).run()
        how: dict[str, Any] = {"tasks": "er_at_10", "controls": (), "folder": tmp_path}
        with pytest.raises(RunMismatchError, match=r"overwrite=True"):
            Experiment([typed(4)], "sample", **how).table()
        edited = Experiment([typed(4)], "sample", overwrite=True, **how)
        assert edited.table().text() == edited.run().table().text()  # it is made anew once
        assert Experiment([typed(4)], "sample", **how).table().text() == edited.table().text()
    finally:
        del sys.modules["typed_into_a_notebook"]


def test_what_cannot_be_run_is_told_when_the_experiment_is_made() -> None:
    for given in (3, partial(print)):
        with pytest.raises(TypeError, match="expected"):
            Experiment({"mine": given}, "sample")  # type: ignore[dict-item] # as a user might


def test_a_warning_names_the_line_that_the_user_wrote() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _ = Experiment({"empty": {}}, "sample", tasks="er_at_10", controls=()).leaderboard()
    assert {Path(one.filename).name for one in caught} == {Path(__file__).name}


def test_a_measure_a_test_and_a_control_of_the_users_own_reach_every_table(tmp_path: Path) -> None:
    size = Measure(name="size", of=lambda outcome: outcome.n_selected / 100, label="size")
    asked: list[tuple[int, int]] = []

    def certain(first: Any, second: Any, clusters: Sequence[str]) -> float:
        asked.append((len(first), len(clusters)))
        return 0.5 if (first == second).all() else 0.01

    def shouted(query: Query) -> str:
        return query.hypothesis.upper()

    systems = {"ten": first_ten, "three": lambda _query, _task: [0, 1, 2]}
    experiment = Experiment(
        systems, "sample", tasks="er_at_10", measures=[size], test=certain, controls=shouted, folder=tmp_path
    )
    board = experiment.leaderboard("size")
    assert {row.system: row.recall.mean for row in board.found["er_at_10"].standings}["ten"] == pytest.approx(0.1)
    assert "size" in board.text().splitlines()[1]
    (pair,) = experiment.compare("ten", "three", size).found
    assert (pair.test.p_value, asked[0]) == (0.01, (10, 10))
    assert "certain over papers" in experiment.table("size").tables[0].caption
    assert "test:certain" in experiment.table().signatures[0]
    assert {result.control for result in experiment.controls().found} == {"changed: shouted"}
    assert json.loads((tmp_path / "controls" / "shouted.jsonl").read_text().splitlines()[0])["hypothesis"].isupper()
