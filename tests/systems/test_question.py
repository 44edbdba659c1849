import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from doors import Claim, ParsedQuestion, QuestionKind, question_of

INTERVENTIONS = ("green tea", "exercise (30 min a day)", "LMWH", "vitamin D and calcium")
COMPARATORS = ("placebo", "usual care", "unfractionated heparin")
OUTCOMES = ("blood pressure", "recurrent venous thromboembolism", "pain at 12 weeks")
FORMS: dict[str, Claim | None] = {
    "{i}, compared with {c}, changes {o}.": None,
    "Does {i} affect {o} compared with {c}?": None,
    "{i} reduces {o} compared to {c}": Claim.DECREASE,
    "What is the effect of {i} versus {c} on {o}?": None,
    "{i} vs {c}: {o}": None,
    "{o}: {i} vs. {c}": None,
    "{i} does not change {o} compared with {c}.": Claim.NO_DIFFERENCE,
    "Is {o} lower with {i} than with {c}?": Claim.DECREASE,
    "Compared with {c}, does {i} improve {o}?": Claim.BETTER,
    "Do patients given {i} have higher {o} than those given {c}?": Claim.INCREASE,
    "{o} is higher after {i} than after {c}.": Claim.INCREASE,
    "How does {i} compare with {c} in terms of {o}?": None,
    "Is {i} better than {c} for {o}?": Claim.BETTER,
    "{i} leads to lower {o} than {c}": Claim.DECREASE,
    "We hypothesized that {i} would increase {o} relative to {c}.": Claim.INCREASE,
    "In adults with asthma, does {i} worsen {o} compared with {c}?": Claim.WORSE,
    "Is {i} as effective as {c} for {o}?": Claim.NO_DIFFERENCE,
    "Does {i} slow {o} compared with {c}?": Claim.DECREASE,
    "{i} slowed {o} more than {c}": Claim.DECREASE,
    "Does {i} yield higher {o} than {c}?": Claim.INCREASE,
    "{i} yields lower {o} than {c}": Claim.DECREASE,
}
KINDS = {
    "How many patients were included?": QuestionKind.AMOUNT,
    "What was the mean age of the participants?": QuestionKind.AMOUNT,
    "Who funded the study?": QuestionKind.METHOD,
    "How was randomisation done?": QuestionKind.METHOD,
    "Was the trial registered?": QuestionKind.METHOD,
    "Conflicts of interest": QuestionKind.METHOD,
    "What adverse events occurred?": QuestionKind.OTHER,
    "How does tea affect sleep?": QuestionKind.EFFECT,
    "tea for sleep": QuestionKind.EFFECT,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_question_has_the_same_parts_in_every_wording(form: str) -> None:
    for i, c, o in product(INTERVENTIONS, COMPARATORS, OUTCOMES):
        question = question_of(form.format(i=i, c=c, o=o))
        assert (question.intervention, question.comparator, question.outcome) == (i, c, o)
        assert (question.claim, question.kind, question.is_split) == (FORMS[form], QuestionKind.EFFECT, True)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Effect of tea on sleep", ("tea", "", "sleep")),
        ("Tea had no effect on sleep", ("Tea", "", "sleep")),
        ("Is there a difference in sleep between tea and coffee?", ("tea", "coffee", "sleep")),
        ("Sleep is improved by tea", ("tea", "", "Sleep")),
        ("Is smoking associated with lung cancer?", ("smoking", "", "lung cancer")),
        ("Which is better for knee pain, surgery or physiotherapy?", ("surgery", "physiotherapy", "knee pain")),
        ("iloprost vs placebo six-minute walk distance", ("iloprost", "placebo", "six-minute walk distance")),
        ("statins for primary prevention", ("statins", "", "primary prevention")),
        ("Males that offer no gift have shorter copulations.", ("Males that offer no gift", "", "copulations")),
        ("Does BERT outperform BM25 on document retrieval?", ("BERT", "BM25", "document retrieval")),
        ("Does BERT perform better than BM25?", ("BERT", "BM25", "perform")),
        ("Does a fine scale give a higher agreement than a coarse one?", ("fine scale", "coarse one", "agreement")),
        ("Do statins have a lower risk of stroke than placebo?", ("statins", "placebo", "risk of stroke")),
        ("Does the vaccine protect mice against infection?", ("vaccine", "", "infection")),
        ("Does deep slow breathing lower blood pressure?", ("deep slow breathing", "", "blood pressure")),
        ("BM25 is more effective for full texts than for abstracts", ("BM25", "abstracts", "full texts")),
        ("Does crop yield rise with nitrogen?", ("nitrogen", "", "crop yield")),
        ("Are full texts more effective than abstracts?", ("full texts", "abstracts", "more effective")),
    ],
)
def test_questions_without_some_part_are_read(text: str, parts: tuple[str, str, str]) -> None:
    question = question_of(text)
    assert (question.intervention, question.comparator, question.outcome) == parts


def test_no_better_is_a_denial() -> None:
    question = question_of("Tea is no better than water for sleep")
    assert (question.intervention, question.claim, question.is_denied) == ("Tea", Claim.BETTER, True)


@pytest.mark.parametrize("text", KINDS)
def test_what_is_no_question_of_an_effect_is_told(text: str) -> None:
    assert question_of(text).kind is KINDS[text]


def test_keywords_without_a_sign_between_them_are_not_split() -> None:
    assert question_of("aspirin stroke prevention") == ParsedQuestion(
        intervention="aspirin stroke prevention", outcome="aspirin stroke prevention", is_split=False
    )


@pytest.mark.parametrize("text", ["", "?", "(", "than than than", "effect of " * 300, "in x, " * 200, "\ue000 vs x"])
def test_any_text_is_a_question(text: str) -> None:
    assert isinstance(question_of(text), ParsedQuestion)


@pytest.mark.data
def test_hypotheses_that_others_wrote_are_split(data_file: Callable[[str], Path]) -> None:
    instances = json.loads(data_file("evidencebench_train_set.json").read_bytes())
    hypotheses = [one["hypothesis"] for one in (instances.values() if isinstance(instances, dict) else instances)]
    questions = list(map(question_of, hypotheses))
    assert all(question.kind is QuestionKind.EFFECT for question in questions)
    assert sum(question.is_split for question in questions) >= 0.9 * len(questions)
