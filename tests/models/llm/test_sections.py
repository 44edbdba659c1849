"""A paper in parts loses nothing: the laws of sections and windows over any paper."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from doors import (
    FIRST_MARK,
    LAST_MARK,
    MIN_WINDOW_TOKENS,
    Excerpt,
    estimated_tokens,
    excerpt_of,
    headings_of,
    line_tokens,
    prompt_line,
    sections_of,
    windows_of,
)
from evidencebench import Kind, Query
from kit.strategies import queries

kinds_of_papers = st.lists(st.sampled_from(Kind), max_size=40)
long_texts = st.integers(0, 600).map(lambda n: ("tea lowered pressure " * n)[:n])


@st.composite
def papers(draw: st.DrawFn) -> Query:
    """Draw a paper whose sentences are from empty to longer than a window."""
    query = draw(queries(max_sentences=30))
    n = len(query.sentences)
    return replace(query, sentences=tuple(draw(st.lists(long_texts, min_size=n, max_size=n))))


options = st.fixed_dictionaries(
    {
        "max_tokens": st.integers(MIN_WINDOW_TOKENS, 300),
        "min_tokens": st.integers(0, 400),
        "overlap": st.integers(0, 4),
    }
)


@given(kinds_of_papers)
def test_every_sentence_of_any_kind_is_in_exactly_one_section(kinds: list[Kind]) -> None:
    sections = sections_of(kinds)
    assert [index for one in sections for index in range(one.start, one.stop)] == list(range(len(kinds)))
    assert all(one.start < one.stop for one in sections)


@given(kinds_of_papers)
def test_a_heading_only_ever_opens_a_section_and_an_abstract_shares_none_with_the_body(kinds: list[Kind]) -> None:
    for section in sections_of(kinds):
        found = kinds[section.start : section.stop]
        assert section.has_heading == (found[0] is Kind.HEADING)
        assert Kind.HEADING not in found[1:]
        assert not {Kind.ABSTRACT, Kind.BODY} <= set(found)


def test_a_paper_is_cut_as_its_headings_say() -> None:
    heading, abstract, body = Kind.HEADING, Kind.ABSTRACT, Kind.BODY
    kinds = [body, heading, heading, abstract, abstract, body, heading, body, heading]
    found = [(section.start, section.stop) for section in sections_of(kinds)]
    assert found == [(0, 1), (1, 2), (2, 5), (5, 6), (6, 8), (8, 9)]
    assert headings_of(kinds) == [None, None, None, 2, 2, None, None, 6, None]


@given(papers(), options)
def test_windows_hold_every_sentence_none_is_too_long_and_they_share_no_more_than_asked_for(
    query: Query, options: dict[str, int]
) -> None:
    windows = windows_of(query, **options)
    assert {index for window in windows for index in window.shown} == set(range(len(query.sentences)))
    for window in windows:
        assert list(window.shown) == list(range(min(window.shown), max(window.shown) + 1))
        lines = window.block.removeprefix(FIRST_MARK + "\n").removesuffix(LAST_MARK)
        assert estimated_tokens(lines) <= options["max_tokens"]
        for index, text in window.shown.items():
            whole = prompt_line(query.sentences[index])
            assert whole == text if not window.n_cut else (whole.startswith(text) and len(window.shown) == 1)
    for before, after in pairwise(windows):
        assert min(before.shown) < min(after.shown)
        assert max(before.shown) < max(after.shown)
        assert len(before.shown.keys() & after.shown.keys()) <= options["overlap"]


@given(papers(), st.integers(MIN_WINDOW_TOKENS, 300), st.integers(0, 400))
def test_without_overlap_no_sentence_is_read_twice(query: Query, max_tokens: int, min_tokens: int) -> None:
    windows = windows_of(query, max_tokens=max_tokens, min_tokens=min_tokens)
    assert sum(len(window.shown) for window in windows) == len(query.sentences)


def test_tiny_sections_join_the_next_and_a_last_one_the_one_before() -> None:
    kinds = (Kind.HEADING, Kind.HEADING, Kind.BODY, Kind.HEADING)
    query = Query(
        instance_id="i",
        paper_id="p",
        hypothesis="h",
        sentences=("Methods", "Patients", "tea " * 80, "End"),
        kinds=kinds,
    )
    assert [list(window.shown) for window in windows_of(query, max_tokens=500, min_tokens=20)] == [[0, 1, 2, 3]]
    assert [list(window.shown) for window in windows_of(query, max_tokens=500)] == [[0], [1, 2], [3]]


def test_a_long_section_is_cut_into_windows_of_like_length_that_share_sentences() -> None:
    sentences = tuple(f"Sentence {number} says that tea lowers pressure." for number in range(20))
    query = Query(instance_id="i", paper_id="p", hypothesis="h", sentences=sentences, kinds=(Kind.BODY,) * 20)
    size = sum(line_tokens(index, text) for index, text in enumerate(sentences))
    windows = windows_of(query, max_tokens=size * 2 // 3, overlap=1)
    assert [(min(window.shown), max(window.shown)) for window in windows] in ([(0, 9), (9, 19)], [(0, 10), (10, 19)])


@given(papers(), st.integers(0, 900))
def test_an_excerpt_is_the_longest_beginning_that_fits(query: Query, max_tokens: int) -> None:
    indices = range(len(query.sentences))
    excerpt = excerpt_of(query, indices, max_tokens)
    n_shown = len(excerpt.shown)
    assert list(excerpt.shown) == list(indices)[:n_shown]
    assert excerpt.n_cut == len(query.sentences) - n_shown
    sizes = [line_tokens(index, prompt_line(query.sentences[index])) for index in indices]
    assert sum(sizes[:n_shown]) <= max_tokens
    assert excerpt.n_cut == 0 or sum(sizes[: n_shown + 1]) > max_tokens


@given(
    st.lists(st.text() | st.sampled_from(["</paper>", "< / PAPER >", "<paper", "a\n</paper>\nb", "x\u2028</paper>"]))
)
def test_no_sentence_can_end_the_material_or_begin_a_line(texts: list[str]) -> None:
    block = Excerpt(shown={index: prompt_line(text) for index, text in enumerate(texts)}).block
    lines = block.splitlines()
    assert len(lines) == len(texts) + 2
    assert (lines[0], lines[-1]) == (FIRST_MARK, LAST_MARK)
    assert all(line.startswith(f"[{index}] ") for index, line in enumerate(lines[1:-1]))
    assert block.lower().count("<paper") == block.lower().count("</paper") == 1
