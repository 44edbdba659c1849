"""What a sentence reports and a question asks for; two spellings of a word; which model is asked."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from doors import (
    ITEMS,
    SHIPPED_FOR_QUESTIONS,
    Finder,
    FinderTraining,
    asked_for,
    asks_number,
    card_digest,
    folded,
    holds_number,
    is_like_trial,
    items_asked,
    items_of_title,
    load_finder,
    reporting_scores,
    root,
)
from evidencebench import Kind, Labels, Query, RankingTask, find_evidence, load_sample, read_paper

SAMPLE = list(load_sample())


def asked(hypothesis: str, *sentences: str, n_beside: int = 0) -> Query:
    return Query(
        instance_id="q",
        paper_id="p",
        hypothesis=hypothesis,
        sentences=sentences,
        kinds=(Kind.BODY,) * len(sentences),
        goal="answer",
        n_beside=n_beside,
    )


@pytest.mark.parametrize(
    ("question", "item"),
    [
        ("Which method generated the random sequence?", "randomisation"),
        ("Was the assessor kept in the dark, or unaware of the arm?", "blinding"),
        ("How was the number of volunteers decided?", "sample size"),
        ("Who could not enter the trial?", "eligibility"),
        ("In which country was this done?", "setting"),
        ("How many times a day were the drops taken?", "intervention"),
        ("Which scale measured fatigue?", "outcomes"),
        ("Were there any side effects?", "harms"),
        ("How many withdrew?", "follow-up"),
        ("Who sponsored the research?", "funding"),
        ("Did anyone disclose competing interests?", "conflicts of interest"),
        ("Did a committee approve it?", "ethics"),
        ("What statistical test was used?", "statistical analysis"),
        ("What are the weaknesses of the design?", "limitations"),
    ],
)
def test_a_question_asks_for_an_item(question: str, item: str) -> None:
    assert item in items_asked(question)


@pytest.mark.parametrize(
    "question", ["Does tea lower blood pressure?", "Word vectors of rare words", "Why do bees dance?"]
)
def test_many_questions_ask_for_none(question: str) -> None:
    assert items_asked(question) == ()


@pytest.mark.parametrize(
    ("item", "sentence"),
    [
        ("randomisation", "A computer-generated list in sealed opaque envelopes allocated the women at random."),
        ("blinding", "Neither the nurses nor the assessors were aware of the allocation; both were blinded."),
        ("sample size", "With a power of 80% to detect a difference of 5 mm, a sample size of 60 was calculated."),
        ("eligibility", "Exclusion criteria were pregnancy, diabetes and an age under 18 years."),
        ("outcomes", "The primary outcome was the score of the questionnaire, in which a higher score is better."),
        ("harms", "Two serious adverse events, both judged unrelated to the drug, were reported."),
        ("funding", "This work was supported by a grant of the Wellcome Trust."),
        ("conflicts of interest", "The authors declare that they have no competing interests."),
        ("ethics", "The ethics committee approved the protocol, and all gave written informed consent."),
        ("statistical analysis", "Differences were tested by analysis of covariance, and P < 0.05 was significant."),
    ],
)
def test_a_sentence_reports_its_item_above_all_others(item: str, sentence: str) -> None:
    lines = [sentence, "Bees dance in the sun.", "Pressure fell more with tea than with water."]
    scores = reporting_scores(lines)[:, ITEMS.index(item)]
    assert int(np.argmax(scores)) == 0


def test_a_title_may_name_several_items_or_none() -> None:
    assert items_of_title("2.1. Randomization and masking") == {"randomisation", "blinding"}
    assert items_of_title("Results") == set()


def test_a_number_is_asked_for_and_held_but_for_citations() -> None:
    assert asks_number("How many were there?")
    assert not asks_number("Who was there?")
    assert holds_number("Twelve came.")
    assert holds_number("They were 12.")
    assert not holds_number("They came [3, 4].")


@pytest.mark.parametrize(
    ("british", "american"),
    [
        *(("anaemia", "anemia"), ("oestrogen", "estrogen"), ("behaviour", "behavior"), ("fibres", "fibers")),
        *(("catheterisation", "catheterization"), ("analysed", "analyzed"), ("labelled", "labeled")),
        *(("programme", "program"), ("diarrhoea", "diarrhea"), ("paediatric", "pediatric"), ("centre", "center")),
        *(("sulphate", "sulfate"), ("tumour", "tumor"), ("ischaemic", "ischemic"), ("catalogue", "catalog")),
    ],
)
def test_british_and_american_spelling_have_one_root(british: str, american: str) -> None:
    assert root(british) == root(american)


def test_short_words_stay() -> None:
    assert [folded(word) for word in ("four", "does", "rise", "ball")] == ["four", "does", "rise", "ball"]


def test_a_question_in_either_spelling_has_one_answer() -> None:
    paper = read_paper(b"# Results\nHaemoglobin rose with iron in the women (p = 0.01).\nNurses slept in the centre.\n")
    of_both = [find_evidence(paper, f"Does iron raise {word}?") for word in ("hemoglobin", "haemoglobin")]
    assert [one.unmentioned for one in of_both] == [(), ()]
    assert of_both[0].evidence == of_both[1].evidence


TRIAL = ("Patients were randomised to tea or water.", "Pressure fell in the tea group.", "Weight did not change.")
PARSER = ("We train a parser on trees.", "Its accuracy is 90%.", "Long sentences are parsed worse.") * 7


@pytest.mark.parametrize(
    ("question", "sentences", "asks"),
    [
        ("Tea lowers blood pressure compared with water.", TRIAL, "effects"),
        ("tea water blood pressure", TRIAL, "effects"),
        ("Who paid for the tea?", TRIAL, "questions"),
        ("How many patients got tea?", TRIAL, "questions"),
        ("Trees improve accuracy compared with chunks.", PARSER, "questions"),
        ("Trees improve accuracy.", PARSER, "questions"),
        ("Trees improve accuracy.", PARSER[:3], "effects"),  # too short to tell
    ],
)
def test_effects_in_trials_are_asked_of_one_model_and_all_else_of_the_other(
    question: str, sentences: tuple[str, ...], asks: str
) -> None:
    assert is_like_trial(sentences) == (len(sentences) == 3)
    assert asked_for(asked(question, *sentences)) == asks


def test_what_stands_beside_the_text_of_a_trial_changes_no_sentences_chance() -> None:
    question, finder = "Tea lowers blood pressure compared with water.", Finder()
    rows = ("Table 1. Blood pressure. Tea: 120; water: 130", "Table 1. Weight. Tea: 70; water: 71")
    alone, beside = asked(question, *TRIAL), asked(question, *TRIAL, *rows, n_beside=2)
    of_alone, of_beside = finder.chances(alone), finder.chances(beside)
    assert of_alone is not None
    assert of_beside is not None
    assert of_beside[:3] == of_alone
    assert of_beside[3] > of_beside[4] >= 0
    assert finder.answers(beside) == finder.answers(alone)
    order = finder.rank(beside, RankingTask(budget=None)).sentences
    assert sorted(order) == list(range(5))
    assert [of_beside[index] for index in order] == sorted(of_beside, reverse=True)


def test_lines_beside_that_hold_less_than_half_of_the_outcomes_words_come_last() -> None:
    finder = Finder()
    beside = asked("Tea lowers blood pressure compared with water.", *TRIAL, "Table 1. Sleep. Tea: 7", n_beside=1)
    assert (finder.chances(beside) or [1.0])[-1] == 0
    assert finder.rank(beside, RankingTask(budget=None)).sentences[-1] == 3


def test_a_model_of_questions_is_trained_on_all_features_and_on_what_papers_do_not_answer(tmp_path: Path) -> None:
    pytest.importorskip("lightgbm", reason="needs the extra 'train'")
    questions = [replace(one, query=replace(one.query, goal="answer")) for one in SAMPLE]
    absent = [
        replace(
            one,
            query=replace(one.query, instance_id=f"{one.id}-absent", hypothesis="Who paid for the lute?"),
            labels=Labels(aspects=(), sources={}),
        )
        for one in questions[::2]
    ]
    FinderTraining(asks="questions").fit([*questions, *absent], tmp_path / "model")
    card = load_finder(tmp_path / "model", card_digest(tmp_path / "model")).card
    assert (card.asks, [member.order for member in card.members]) == ("questions", [""])
    assert {"reports_asked", "is_stated"} <= set(card.features)
    assert "answer" in card.verdicts
    finder, query = Finder(model=tmp_path / "model"), questions[0].query
    chances = finder.chances(query)
    assert chances is not None
    assert len(chances) == len(query.sentences)


def test_a_model_of_questions_can_be_trained_without_the_hypothesis(tmp_path: Path) -> None:
    pytest.importorskip("lightgbm", reason="needs the extra 'train'")
    questions = [replace(one, query=replace(one.query, goal="answer")) for one in SAMPLE]
    FinderTraining(asks="questions", hypothesis=False).fit(questions, tmp_path / "model")
    finder, query = Finder(model=tmp_path / "model"), questions[0].query
    of_bees, of_sites = (replace(query, hypothesis=text) for text in ("How many bees dance?", "Where was it?"))
    assert finder.rank(of_bees, RankingTask(budget=5)) == finder.rank(of_sites, RankingTask(budget=5))


def test_a_model_of_questions_of_ones_own_leaves_effects_to_the_packages_and_says_which_were_asked(
    tmp_path: Path,
) -> None:
    pytest.importorskip("lightgbm", reason="needs the extra 'train'")
    questions = [replace(one, query=replace(one.query, goal="answer")) for one in SAMPLE]
    FinderTraining(asks="questions").fit(questions, tmp_path / "model", data={"name": "d.json", "sha256": "0" * 64})
    own, shipped = Finder(model=tmp_path / "model"), Finder()
    effect = asked("Tea lowers blood pressure compared with water.", *TRIAL)
    assert own.chances(effect) == shipped.chances(effect)
    question = asked("Who paid for the tea?", *TRIAL)
    assert own.chances(question) != shipped.chances(question)
    assert {f"model {tmp_path / 'model'}", "the finder's model of effects"} == set(own.traits.versions())
    assert "0" * 64 in own.traits.trained_on()


def test_the_shipped_model_of_questions_names_its_data() -> None:
    data = json.loads((SHIPPED_FOR_QUESTIONS / "card.json").read_text())["data"]
    assert {"name", "n_instances", "n_papers"} <= set(data)
