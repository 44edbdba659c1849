"""The questions of a review: lines, tables in CSV, and what an answer to each is."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import ReviewQuestion, UnreadableError, guessed_kind, question_from, read_questions

_WORDS = st.text("abcdefghij klmno?.", min_size=1, max_size=40).map(lambda text: " ".join(text.split())).filter(bool)
_NAMES = ["parallel", "cross over", "cluster", "other"]
_QUESTIONS = st.one_of(
    st.builds(ReviewQuestion, text=_WORDS, kind=st.sampled_from(["effect", "text", "yes/no"])),
    st.builds(ReviewQuestion, text=_WORDS, kind=st.just("number"), unit=st.sampled_from(["", "mg", "mm Hg", "%"])),
    st.builds(
        ReviewQuestion,
        text=_WORDS,
        kind=st.just("choice"),
        choices=st.lists(st.sampled_from(_NAMES), min_size=2, unique=True).map(tuple),
    ),
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("How many participants were randomised?", "number"),
        ("What percentage dropped out?", "number"),
        ("mean age of the participants", "number"),
        ("Who funded the study?", "text"),
        ("In which country was it done?", "text"),
        ("Was allocation concealed?", "yes/no"),
        ("Did the authors report any competing interests?", "yes/no"),
        ("Does tea lower blood pressure compared with water?", "effect"),
        ("Tea lowers blood pressure compared with water.", "effect"),
        ("tea vs water: blood pressure", "effect"),
    ],
)
def test_what_an_answer_is_is_guessed_from_the_words(text: str, kind: str) -> None:
    assert guessed_kind(text) == kind
    assert str(question_from(text)) == text
    assert str(question_from(f"{text} [{kind}]")) == f"{text} [{kind}]"


@given(_QUESTIONS)
def test_a_question_is_read_as_it_is_written(question: ReviewQuestion) -> None:
    assert question_from(str(question)) == question


def test_brackets_that_name_no_kind_are_part_of_the_question() -> None:
    question = question_from("Does it help [in adults]?  [ Yes/No ]")
    assert (question.text, question.kind) == ("Does it help [in adults]?", "yes/no")
    assert question_from("Does it help [in adults]").text == "Does it help [in adults]"


def test_a_table_has_a_question_a_row_with_its_answer(tmp_path: Path) -> None:
    path = tmp_path / "questions.csv"
    path.write_text(
        "Question,Answer,Unit,Choices\nHow much?,number,mg,\nWhich design?,choice,,parallel | crossover\nWho paid?,,,\n"
    )
    assert list(map(str, read_questions(path))) == [
        "How much? [number in mg]",
        "Which design? [choice: parallel | crossover]",
        "Who paid?",
    ]


@pytest.mark.parametrize(
    ("name", "content", "where", "what"),
    [
        ("q.txt", "Which design? [choice: parallel]\n", "line 1", "2 to 7 choices"),
        ("q.txt", "\nWhich? [choice]\n", "line 2", "2 to 7 choices"),
        ("q.txt", "Who? [text: x]\n", "line 1", "expected [text]"),
        ("q.txt", "Who? [text]\nWho? [number]\n", "line 2", "two kinds of answer"),
        ("q.txt", "[number]\n", "line 1", "expected a question"),
        ("q.txt", "\n", "q.txt", "1 to 200 questions"),
        ("q.csv", "what,answer\nHow?,number\n", "line 1", "a column 'question'"),
    ],
)
def test_a_file_that_cannot_be_read_says_where_and_why(
    tmp_path: Path, name: str, content: str, where: str, what: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(UnreadableError) as raised:
        read_questions(path)
    assert where in str(raised.value)
    assert what in str(raised.value)
