"""A finder reads the hypothesis, tells articles apart, says what its scores mean, and is written and read whole."""

import json
import operator
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import (
    FINDER_FEATURES,
    SHIPPED,
    SHIPPED_FOR_QUESTIONS,
    SIGNS,
    WORDINGS,
    DataError,
    Finder,
    FinderExample,
    FinderTraining,
    Goal,
    ModelError,
    SystemSpecError,
    article_slices,
    calibrated,
    card_digest,
    columns_of,
    finder_examples,
    finder_table,
    fit_finder,
    fit_verdict,
    foreign_papers,
    in_other_words,
    load_finder,
    lowered,
    with_distractor,
    write_finder,
)
from evidencebench import Instance, Kind, Query, Ranking, RankingTask, load_sample, make_system, rank_by_score
from kit.examples import IS_THOROUGH, examples
from kit.strategies import queries

pytest.importorskip("lightgbm", reason="needs the extra 'train'")

SAMPLE = list(load_sample())
OF_EFFECTS = tuple(feature.name for feature in FINDER_FEATURES if feature.group != "reporting")
TOP_10 = RankingTask(budget=10)


def asked(hypothesis: str, *sentences: str) -> Query:
    kinds = tuple(Kind.BODY if sentence.endswith(".") else Kind.HEADING for sentence in sentences)
    return Query(instance_id="q", paper_id="p", hypothesis=hypothesis, sentences=sentences, kinds=kinds)


def with_goal(instances: list[Instance], goal: Goal) -> list[Instance]:
    return [
        replace(one, query=replace(one.query, goal=goal, instance_id=f"{one.id} {goal}", paper_id=f"{one.id} {goal}"))
        for one in instances
    ]


LEARNT = SAMPLE if IS_THOROUGH else SAMPLE[:7]
BOTH_GOALS = [*LEARNT, *with_goal(LEARNT, "answer")]
DATA = {"sha256": ["a" * 64, "b" * 64]}


@pytest.fixture(scope="module")
def own_finder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a finder that was trained for both goals."""
    folder = tmp_path_factory.mktemp("finder") / "model"
    FinderTraining().fit(BOTH_GOALS, folder, data=DATA)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# Answering


@examples(15)
@given(query=queries(), goal=st.sampled_from(["answer", "study"]))
def test_every_sentence_is_answered_once_and_has_a_chance(query: Query, goal: Goal) -> None:
    finder = Finder(goal=goal)
    n = len(query.sentences)
    for scope in ("all", "results"):
        task = RankingTask(budget=3, scope=scope)
        assert sorted(finder.rank(query, task).sentences) == list(range(n))
    assert finder.chances(query) is None or goal == "answer"
    chances = Finder(goal="answer").chances(query)
    assert chances is not None
    assert len(chances) == n
    assert all(0 <= chance <= 1 for chance in chances)


TRIAL = (
    "Background",
    "It is not known whether tea, compared with water, changes headaches.",
    "Results",
    "Eighty adults drank tea or water every morning for eight weeks.",
    "Systolic blood pressure fell more with tea than with water (-4.1 mmHg, 95% CI -6.0 to -2.2, p < 0.001).",
    "Body weight did not differ between the groups (p = 0.71).",
    "Headaches were reported by three people who drank tea and by nine who drank water (p = 0.04).",
    "We thank the volunteers.",
)


@pytest.mark.parametrize(
    ("outcome", "sentence"), [("systolic blood pressure", 4), ("body weight", 5), ("headaches", 6)]
)
@pytest.mark.parametrize("spec", ["finder:goal=answer", "cues:goal=answer"])
def test_the_outcome_that_was_asked_about_comes_first(spec: str, outcome: str, sentence: int) -> None:
    query = asked(f"Tea, compared with water, changes {outcome}.", *TRIAL)
    assert make_system(spec).rank(query, TOP_10).sentences[0] == sentence


# A hypothesis, a short text, and the first sentence that reports what was found.
SHORT = (
    (
        "Ginger reduces nausea.",
        (
            "It is not known whether ginger reduces nausea.",
            "We wanted to find out whether ginger reduces nausea in early pregnancy.",
            "Seventy women took ginger or sugar pills for four days.",
            "Nausea was rated on a scale every evening.",
            "Scores fell by 2.1 points with ginger and by 0.9 points with sugar pills.",
            "Weight did not change.",
            "Ginger eased nausea.",
            "Larger trials should follow.",
        ),
        6,
    ),
    (
        "Chlorhexidine, compared with saline, changes wound infection.",
        (
            "Background",
            "The effect of chlorhexidine compared with saline on wound infection remains unknown.",
            "Objective",
            "To determine the effect of chlorhexidine compared with saline on wound infection.",
            "Methods",
            "We randomised 300 patients to washing with chlorhexidine or with saline.",
            "Wounds were inspected at ten days.",
            "Results",
            "Infections developed in 11 wounds after chlorhexidine and in 25 after saline (p = 0.02).",
            "Length of stay did not differ.",
            "Conclusion",
            "Chlorhexidine prevents infection of wounds.",
        ),
        8,
    ),
)


@pytest.mark.parametrize("wording", sorted(set(WORDINGS) - {"keywords", "without comparator"}))
def test_a_question_finds_the_same_in_other_words(wording: str) -> None:
    finder, converted = Finder(goal="answer"), "Tea, compared with water, changes systolic blood pressure."
    query, reworded = (asked(text, *TRIAL) for text in (converted, in_other_words(converted, wording)))
    assert finder.rank(reworded, TOP_10) == finder.rank(query, TOP_10)
    assert finder.chances(reworded) == finder.chances(query)
    assert finder.answers(reworded) == finder.answers(query)


@pytest.mark.parametrize("wording", WORDINGS)
def test_a_paper_answers_its_own_question_and_not_one_of_something_else(wording: str) -> None:
    own = "Tea, compared with water, changes systolic blood pressure."
    other = "Dexamethasone, compared with saline, changes postoperative vomiting."
    told = [Finder(goal="answer").answers(asked(in_other_words(text, wording), *TRIAL)) for text in (own, other)]
    assert told[0]
    assert told[1]
    assert told[0].chance > told[0].none_below > told[1].chance


def test_what_is_asked_beside_changes_the_order_of_what_answers_questions_and_no_chance() -> None:
    sentences = (*TRIAL, "The lute was paid for by a duke.", "Nobody else gave any money.")
    query = replace(asked("Who paid for the tea?", *sentences), goal="answer")
    alone, beside = make_system("finder"), make_system(f"finder:meaning={__file__}:OfMoney")
    assert beside.rank(query, TOP_10).sentences[0] == len(sentences) - 1 != alone.rank(query, TOP_10).sentences[0]
    of_alone, of_beside = (system.chances(query) or () for system in (alone, beside))
    assert sorted(of_alone) == sorted(of_beside) != []
    assert [of_beside[index] for index in beside.rank(query, TOP_10).sentences] == sorted(of_beside, reverse=True)
    effect = replace(query, hypothesis="Does tea lower blood pressure compared with water?")
    assert beside.rank(effect, TOP_10) == alone.rank(effect, TOP_10)
    assert beside.chances(effect) == alone.chances(effect)


class OfMoney:
    def rank(self, query: Query, _: RankingTask) -> Ranking:
        return rank_by_score([100.0 * ("money" in sentence) for sentence in query.sentences])


@pytest.mark.parametrize("kind", [Kind.ABSTRACT, Kind.BODY])
@pytest.mark.parametrize(("hypothesis", "sentences", "finding"), SHORT)
@pytest.mark.parametrize("spec", ["finder:goal=answer", "cues:goal=answer"])
def test_what_was_found_comes_before_what_only_asks(
    spec: str, hypothesis: str, sentences: tuple[str, ...], finding: int, kind: Kind
) -> None:
    query = asked(hypothesis, *sentences)
    query = replace(query, kinds=tuple(kind if "." in text or "?" in text else Kind.HEADING for text in sentences))
    assert make_system(spec).rank(query, TOP_10).sentences[0] == finding


def test_the_goal_of_the_query_counts_unless_an_option_says_otherwise(own_finder: Path) -> None:
    query = SAMPLE[0].query
    goals: tuple[Goal, ...] = ("answer", "study")
    orders = {goal: Finder(model=own_finder, goal=goal).rank(query, TOP_10) for goal in goals}
    assert orders["answer"] != orders["study"]
    for goal in goals:
        assert Finder(model=own_finder).rank(replace(query, goal=goal), TOP_10) == orders[goal]
    assert Finder(model=own_finder).rank(query, TOP_10) == orders["study"]
    with pytest.raises(SystemSpecError, match=r"'goal': .*'both'"):
        make_system("finder:goal=both")


# Several articles in one query


@given(lengths=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5), st.integers(20, 30)), min_size=1, max_size=4))
def test_articles_are_cut_where_they_begin(lengths: list[tuple[int, int, int]]) -> None:
    articles = [[Kind.HEADING] * a + [Kind.ABSTRACT] * b + [Kind.BODY] * c for a, b, c in lengths]
    kinds = [kind for article in articles for kind in article]
    assert [kinds[one] for one in article_slices(kinds)] == articles


@pytest.mark.parametrize("is_before", [True, False])
@pytest.mark.parametrize("goal", ["answer", "study"])
def test_another_article_beside_the_own_one_changes_nothing(goal: Goal, *, is_before: bool) -> None:
    query, distractor = SAMPLE[0].query, SAMPLE[3].query
    mixed = with_distractor(query, distractor, is_before=is_before)
    assert len(article_slices(mixed.query.kinds)) == 2
    finder, n = Finder(goal=goal), len(query.sentences)
    alone = finder.rank(query, TOP_10).sentences
    assert mixed.own_answer(finder.rank(mixed.query, TOP_10)).sentences[:n] == alone
    if goal == "answer":
        chances = finder.chances(mixed.query) or []
        assert chances[mixed.offset : mixed.offset + n] == finder.chances(query)
        assert sum(chances) == pytest.approx(sum(finder.chances(query) or []))


# What scores mean


def test_a_verdict_tells_apart_what_it_was_fitted_to_and_loses_few() -> None:
    generator = np.random.default_rng(0)
    own, other = (generator.normal(center, 1, (300, len(SIGNS))) for center in (0.6, -0.6))
    verdict = fit_verdict(own, other, {})
    told = [np.array([verdict.chance(signs).chance for signs in rows.tolist()]) for rows in (own, other)]
    assert (told[0] < verdict.none_below).mean() <= 0.04
    assert (told[1] < verdict.none_below).mean() >= 0.8
    assert (told[1] >= verdict.found_from).sum() <= 0.02 * sum((rows >= verdict.found_from).sum() for rows in told)


def test_the_most_similar_other_paper_shares_its_rare_words() -> None:
    sentences = {
        "a": "Tea lowers pressure.",
        "b": "Teas and pressures.",
        "c": "Statins and death.",
        "d": "Statin death.",
    }
    papers = [replace(asked("", text), paper_id=name) for name, text in sentences.items()]
    assert {name: other.paper_id for name, other in foreign_papers([papers]).others.items()} == dict(
        zip("abcd", "badc", strict=True)
    )


@given(st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=1, max_size=60), st.integers(1, 20))
def test_chances_ascend_with_scores_and_lie_between_none_and_all(pairs: list[tuple[int, bool]], least: int) -> None:
    scores = np.array([score for score, _ in pairs], dtype=float)
    hits = np.array([hit for _, hit in pairs])
    table = calibrated(scores, hits, least=least)
    assert list(table.scores) == sorted(table.scores)
    assert list(table.shares) == sorted(table.shares)
    assert 0 <= min(table.shares) <= hits.mean() + 1e-9
    assert hits.mean() - 1e-9 <= max(table.shares) <= 1
    chances = table.chances(np.sort(scores))
    assert (np.diff(chances) >= 0).all()


def test_chances_are_those_of_isotonic_regression() -> None:
    isotonic = pytest.importorskip("sklearn.isotonic", reason="needs scikit-learn")
    generator = np.random.default_rng(0)
    scores = generator.normal(size=400)
    hits = generator.random(400) < 1 / (1 + np.exp(-3 * scores))
    expected = isotonic.IsotonicRegression().fit(scores, hits).predict(scores)
    found = calibrated(scores, hits, least=1)
    assert np.abs(found.chances(scores) - expected).mean() < 0.03  # steps of two percent, and lines between them


def test_chances_hold_where_training_leaves_out_sentences_that_are_no_evidence() -> None:
    generator = np.random.default_rng(0)

    def drawn(n: int) -> FinderExample:
        table = generator.normal(size=(n, 4)).astype(np.float32)
        share = 1 / (1 + np.exp(4 - 2 * table[:, 0]))
        return FinderExample(table=table, shares={"all": (generator.random(n) < share).astype(float)})

    folds = [range(start, 24, 3) for start in range(3)]
    examples = [[drawn(300)] for _ in range(24)]
    names = tuple(feature.name for feature in FINDER_FEATURES[:4])
    model = fit_finder({"answer": examples}, features=names, folds={"answer": folds}, seed=0, most_rows=1_800)
    new = drawn(20_000)
    (forest,) = model.forests.values()
    told = model.card.calibrations["answer"].chances(forest.predict(new.table))
    assert told.mean() == pytest.approx(new.shares["all"].mean(), rel=0.1)


# Training and files


def test_training_twice_writes_the_same_bytes_and_the_card_says_what_it_was_made_from(
    own_finder: Path, tmp_path: Path
) -> None:
    again = tmp_path / "again"
    told: list[tuple[object, ...]] = []
    FinderTraining().fit(BOTH_GOALS, again, data=DATA, on_progress=lambda *now: told.append(now))
    assert contents(again) == contents(own_finder)
    card = load_finder(again, card_digest(again)).card
    assert card.trained_on == {"a" * 64, "b" * 64}
    assert card.features == OF_EFFECTS
    assert sorted((one.goal, one.scope) for one in card.members) == [
        *(("answer", "all"), ("study", "all"), ("study", "results"))
    ]
    assert set(card.calibrations) == {"answer", "study"}
    assert set(card.verdicts) == {"answer"}
    assert told == [
        *((n_read, len(BOTH_GOALS)) for n_read in range(1, len(BOTH_GOALS) + 1)),
        *((n_fitted, 8, "fitting trees") for n_fitted in range(9)),  # two goals, each alone and by three folds
    ]


def test_a_goal_without_judgments_is_served_by_the_rules_of_cues(tmp_path: Path) -> None:
    FinderTraining(figures=False).fit(with_goal(SAMPLE, "answer"), tmp_path / "model")
    finder, query = Finder(model=tmp_path / "model", goal="study"), SAMPLE[0].query
    for task in (TOP_10, RankingTask(budget=5, scope="results")):
        assert finder.rank(query, task) == make_system("cues").rank(query, task)
    answers = Finder(model=tmp_path / "model", goal="answer")
    assert answers.rank(query, TOP_10) != make_system("cues:goal=answer").rank(query, TOP_10)
    assert answers.chances(query) is None  # without held-back folds


def test_a_score_is_that_of_the_trees_and_for_study_a_weighted_sum_of_features_too(own_finder: Path) -> None:
    model = load_finder(own_finder, card_digest(own_finder))
    paper = columns_of(SAMPLE[0].query)
    table = finder_table(paper)[:, : len(OF_EFFECTS)].astype(float)
    for member in model.card.members:
        assert len(member.weights) == (len(OF_EFFECTS) if member.goal == "study" else 0)
        linear = [sum(map(operator.mul, row, member.weights)) for row in table.tolist()]
        expected = model.forests[member.file].predict(table) + linear
        scores = model.scores(paper, member.goal, member.scope)
        if member.goal == "study":
            assert scores.tolist() == pytest.approx(expected.tolist())
            continue
        expected, best = lowered(expected, table.astype(np.float32), model.card.features)
        # The best exchange their scores, so that their order is the second trees'.
        assert sorted(scores) == pytest.approx(sorted(expected))
        worth = model.forests[member.order].predict(table[best])
        assert (np.diff(scores[best[np.argsort(-worth, kind="stable")]]) <= 0).all()


WITHOUT_ASPECTS = [replace(one, labels=replace(one.labels, aspects=(), results=())) for one in SAMPLE]


@pytest.mark.parametrize(
    ("instances", "told"),
    [
        ([], "goal 'study': .*6 papers, got 0"),
        (SAMPLE[:1] * 20, "got 1"),
        (WITHOUT_ASPECTS, "aspect"),
    ],
)
def test_too_little_to_learn_from_is_refused_and_leaves_nothing(
    instances: list[Instance], told: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=told):
        FinderTraining().fit(instances, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_data_without_results_labels_as_the_100k_has_trains_a_model_that_serves_both_scopes(tmp_path: Path) -> None:
    without_results = [replace(one, labels=replace(one.labels, results=())) for one in SAMPLE]
    FinderTraining(figures=False).fit(without_results, tmp_path / "model")
    finder, query = Finder(model=tmp_path / "model"), SAMPLE[0].query
    of_all, of_results = (finder.rank(query, RankingTask(budget=5, scope=scope)) for scope in ("all", "results"))
    assert of_all == of_results != make_system("cues").rank(query, RankingTask(budget=5))


def test_a_finder_that_read_no_hypothesis_in_training_finds_alike_for_any(tmp_path: Path) -> None:
    card = FinderTraining(hypothesis=False, figures=False).fit(SAMPLE, tmp_path / "model")
    reading = {feature.name for feature in FINDER_FEATURES if feature.reads_hypothesis}
    assert reading.isdisjoint(card.features)
    finder, query = Finder(model=tmp_path / "model"), SAMPLE[0].query
    for hypothesis in ("", "Tea.", SAMPLE[5].query.hypothesis):
        assert finder.rank(replace(query, hypothesis=hypothesis), TOP_10) == finder.rank(query, TOP_10)


def test_an_example_has_the_features_and_shares_of_each_sentence_and_leaves_no_file(tmp_path: Path) -> None:
    for (alone,), instance in zip(finder_examples(SAMPLE, tmp_path, mixed=False, seed=0), SAMPLE, strict=True):
        assert alone.table.tobytes() == finder_table(columns_of(instance.query)).tobytes()
        for scope, shares in alone.shares.items():
            aspects = instance.labels.that_count(scope)
            stated = [
                sum(index in instance.labels.sources.get(aspect, ()) for aspect in aspects)
                for index in range(len(instance.query.sentences))
            ]
            assert shares.tolist() == pytest.approx([n / len(aspects) for n in stated])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"file: .*features.*\d+ bytes"):
        finder_examples(SAMPLE, tmp_path / "file", mixed=False, seed=0)


DYING = """
import os, signal, sys
from pathlib import Path
from doors import card_digest
from doors import load_finder
from doors import write_finder

class Dying(dict):
    def items(self):
        for n, item in enumerate(super().items()):
            if n == int(sys.argv[3]):
                os.kill(os.getpid(), signal.SIGKILL)
            yield item
        os.kill(os.getpid(), signal.SIGKILL)

model = load_finder(Path(sys.argv[1]), card_digest(Path(sys.argv[1])))
model.forests = Dying(model.forests)
write_finder(model, Path(sys.argv[2]))
"""


def _write_and_die(model: Path, folder: Path, n_files: int) -> None:
    words = [sys.executable, "-c", DYING, str(model), str(folder), str(n_files)]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL


@pytest.mark.parametrize("n_files", [0, 1, 99] if IS_THOROUGH else [1])
def test_a_training_killed_while_it_writes_leaves_the_old_model_or_none(
    n_files: int, own_finder: Path, finder_model: Path, tmp_path: Path
) -> None:
    mine = Path(shutil.copytree(finder_model, tmp_path / "mine"))
    before = Finder(model=mine).rank(SAMPLE[0].query, TOP_10)
    _write_and_die(own_finder, mine, n_files)
    assert Finder(model=mine).rank(SAMPLE[0].query, TOP_10) == before
    _write_and_die(own_finder, tmp_path / "new", n_files)
    with pytest.raises(ModelError, match=r"card\.json"):
        Finder(model=tmp_path / "new")


def test_a_model_written_over_another_leaves_no_file_of_it(
    own_finder: Path, finder_model: Path, tmp_path: Path
) -> None:
    mine = Path(shutil.copytree(finder_model, tmp_path / "mine"))
    (mine / ".card.json.1.part").write_text("torn")
    (mine / "notes.txt").write_text("mine")
    write_finder(load_finder(own_finder, card_digest(own_finder)), mine)
    assert contents(mine) == contents(own_finder) | {"notes.txt": b"mine"}


def _trees(folder: Path) -> Path:
    return next(folder.glob("trees-*"))


def _card(**changes: object) -> Callable[[Path], object]:
    """Return a function that changes the card in a folder; ``weights`` are those of every member."""

    def change(folder: Path) -> None:
        card = json.loads((folder / "card.json").read_text())
        if "weights" in changes:
            card["members"] = [one | changes for one in card["members"]]
        (folder / "card.json").write_text(json.dumps(card | changes))

    return change


VERDICT = {"signs": SIGNS, "weights": [1] * len(SIGNS), "start": 0, "common": {}, "none_below": 0.1, "found_from": 0.5}


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda folder: _trees(folder).unlink(), "missing.*train the model again"),
        (lambda folder: _trees(folder).write_text("1\n"), "sha256"),
        (_card(format="evidencebench-finder/2"), "enum value"),
        (_card(format="evidencebench-selector/1"), "use 'finder'"),
        (_card(features=["shoe_size"]), "shoe_size"),
        (_card(features=[]), "features: "),
        (_card(members=[]), "scope 'all'"),
        (_card(weights=[1.0]), "members: .*weights"),
        (_card(strengths={"answer": 2, "study": 0}), "0..1"),
        (_card(verdicts={"answer": VERDICT | {"weights": [1]}}), "verdicts: .*weight"),
        (_card(verdicts={"answer": VERDICT | {"none_below": 0.9}}), "verdicts: .*bounds"),
        (_card(calibrations={"answer": {"scores": [2, 1], "shares": [0, 1]}}), "ascending"),
    ],
)
def test_a_damaged_model_is_refused(
    damage: Callable[[Path], object], told: str, own_finder: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(own_finder, tmp_path / "model"))
    damage(folder)
    with pytest.raises(ModelError, match=told):
        Finder(model=folder)


# The model that comes with the package


def test_the_shipped_models_are_small_plain_text_that_say_what_they_were_made_from_and_are_in_headers() -> None:
    files, of_questions = contents(SHIPPED), contents(SHIPPED_FOR_QUESTIONS)
    assert sum(map(len, (*files.values(), *of_questions.values()))) < 2_000_000
    assert all(content.decode().replace("\n", "").isprintable() for content in files.values())
    card = json.loads(files["card.json"])
    assert card["data"]["name"] == "evidence_inference.json"
    assert {member["goal"] for member in card["members"]} == {"answer"}
    for member in card["members"]:
        assert sha256(files[member["file"]]).hexdigest() == member["sha256"]
        assert sha256(files[member["order"]]).hexdigest() == member["order_sha256"]
    card = json.loads(of_questions["card.json"])
    assert "CC BY 4.0" in card["data"]["name"]
    assert (card["asks"], [member["order"] for member in card["members"]]) == ("questions", [""])
    assert make_system("finder").versions() == {
        "the finder's model of effects": f"sha256:{card_digest(SHIPPED)}",
        "the finder's model of questions": f"sha256:{card_digest(SHIPPED_FOR_QUESTIONS)}",
    }


def test_it_needs_numpy_alone() -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('lightgbm', 'torch', 'onnxruntime', 'scipy', 'sklearn')));"
        "from evidencebench import RankingTask, load_sample, make_system;"
        "print(len(make_system('finder').rank(load_sample()[0].query, RankingTask(budget=3)).sentences))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str(len(SAMPLE[0].query.sentences))
