"""The reader of replies: every shape of the corpus, laws over random ones, and no text that it cannot bear."""

# ruff: noqa: RUF001 - models write marks that look like others

import json
from collections.abc import Callable, Iterable, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import (
    MAX_CHARACTERS,
    Branch,
    ChatReply,
    Finish,
    Reading,
    ReplyClass,
    comparable,
    json_at,
    read_order,
    read_scores,
    read_selection,
)
from kit.examples import IS_THOROUGH, SHORTER
from kit.malformed_replies import REFUSALS_ELSEWHERE
from kit.strategies import json_values
from models.llm.reply_shapes import (
    INJECTED,
    LEFT_TO_REPAIR,
    N_SENTENCES,
    PAPER,
    SCORE_SHAPES,
    SHAPES,
    ScoreShape,
    Shape,
)

WITHOUT_INDICES = {ReplyClass.REFUSED, ReplyClass.TRUNCATED, ReplyClass.UNPARSEABLE, ReplyClass.EMPTY}
FINISHES: tuple[Finish, ...] = ("stop", "length", "refused", "tool", "other")


def selection(text: str, *, finish: Finish = "stop", budget: int | None = 5) -> Reading:
    return read_selection(ChatReply(text=text, finish=finish), PAPER, budget=budget, n_sentences=N_SENTENCES)


def scores(text: str, *, finish: Finish = "stop", shown: Iterable[int] = PAPER) -> Reading:
    texts = {index: PAPER[index] for index in shown}
    return read_scores(ChatReply(text=text, finish=finish), texts, n_sentences=N_SENTENCES)


def order(text: str, *, finish: Finish = "stop") -> Reading:
    return read_order(ChatReply(text=text, finish=finish), PAPER, n_sentences=N_SENTENCES)


def require_lawful(reading: Reading, budget: int | None) -> None:
    """Raise unless a reading obeys what its docstring says."""
    reply_class, indices = reading.reply_class, reading.indices
    assert reply_class is not ReplyClass.FAILED
    assert len(set(indices)) == len(indices)
    assert set(indices) <= set(PAPER)
    assert bool(reading.why) == (reply_class is not ReplyClass.ANSWERED)
    assert len(reading.why) < 200
    assert (reading.read_by is None) <= (reply_class in WITHOUT_INDICES)
    if reply_class in WITHOUT_INDICES:
        assert indices == ()
        return
    is_strange = "no sentence of this number" in reading.why
    assert indices or is_strange
    is_over = budget is not None and len(indices) > budget
    expected = ReplyClass.ANSWERED
    if is_strange:
        expected = ReplyClass.OUT_OF_RANGE
    elif is_over:
        expected = ReplyClass.OVER_LENGTH
    elif "again" in reading.why:
        expected = ReplyClass.DUPLICATE
    assert reply_class is expected


def test_the_corpus_is_large_and_every_shape_has_its_own_name() -> None:
    assert len(SHAPES) >= 270
    assert len(LEFT_TO_REPAIR) < 0.11 * len(SHAPES)
    assert len({shape.name for shape in SHAPES}) == len(SHAPES)
    assert len({(shape.reply, shape.finish, shape.budget) for shape in SHAPES}) == len(SHAPES)
    assert {shape.expected for shape in SHAPES} == {str(one) for one in ReplyClass} - {"failed"}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_reply_of_the_corpus_is_read_as_expected(shape: Shape) -> None:
    first, last = shape.shown
    shown = {index: PAPER[index] for index in range(first, last + 1)}
    reply = ChatReply(text=shape.reply, finish=shape.finish)
    reading = read_selection(reply, shown, budget=shape.budget, n_sentences=N_SENTENCES)
    assert (str(reading.reply_class), reading.indices) == (shape.expected, shape.indices), reading
    assert reading.why.startswith(", ".join(map(str, shape.out_of_range)))
    require_lawful(reading, shape.budget)


@pytest.mark.parametrize("shape", SCORE_SHAPES, ids=lambda shape: shape.name)
def test_a_reply_with_scores_is_read_as_expected(shape: ScoreShape) -> None:
    shown = {*shape.shown, *shape.scores}
    reading = scores(shape.reply, finish=shape.finish, shown=sorted(shown))
    assert (str(reading.reply_class), reading.scores) == (shape.expected, shape.scores), reading
    assert reading.why.startswith(", ".join(map(str, shape.out_of_range)))
    assert bool(reading.why) == (shape.expected != "answered")


DRAFT = "Perhaps these.\nANSWER: [1, 3]\nBut wait, let me look again at the rest."


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("<think>", "</think>"),
        ("<seed:think>", "</seed:think>"),
        ("<mm:think>\n", "\n</mm:think>\n"),
        ("[THINK]", "[/THINK]"),
        ("\u25c1think\u25b7", "\u25c1/think\u25b7"),
        ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
        ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ("<\uff5cthink\uff5c>", "<\uff5c/think\uff5c>"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        ("<|channel>thought\n", "<channel|>"),
        ("<unused94>thought\n", "<unused95>"),
        ('<thinking budget="3">', "</thinking>"),
        ("<inner_monologue>", "</inner_monologue>"),
        ("<musing>\n", "\n</musing>\n"),
    ],
)
def test_a_draft_within_thinking_is_never_an_answer_whatever_the_marks_are_called(opening: str, closing: str) -> None:
    answered = selection(f"{opening}{DRAFT}{closing}ANSWER: [2, 4]")
    assert (answered.reply_class, answered.indices) == (ReplyClass.ANSWERED, (2, 4))
    assert selection(f"{opening}{DRAFT}{closing}No sentence is evidence.").reply_class is ReplyClass.EMPTY
    assert selection(f"{opening}{DRAFT}").reply_class is ReplyClass.UNPARSEABLE
    assert selection(f"{opening}{DRAFT}", finish="length").reply_class is ReplyClass.TRUNCATED


@pytest.mark.parametrize(
    "reply",
    [
        "<answer>[2, 4]</answer>",
        "<answer>[2, 4]",
        "<selected_sentences>[2, 4]</selected_sentences>",
        '<tool_call>{"sentences": [2, 4]}</tool_call>',
        "<p>Here they are.</p>\nANSWER: [2, 4]",
        "ANSWER: [2, 4]\n<reasoning>Both tell of it.</reasoning>",
        "I think that two do.\nANSWER: [2, 4]",
        "<rationale>Both do.</rationale>\n<answer>[2, 4]</answer>",
        "Well.</mm:think>\nThe list: [2, 4]",
    ],
)
def test_what_stands_in_other_marks_or_before_thinking_is_an_answer(reply: str) -> None:
    read = selection(reply)
    assert (read.reply_class, read.indices) == (ReplyClass.ANSWERED, (2, 4))


def test_a_reply_that_was_cut_off_says_to_raise_max_tokens() -> None:
    thinking = "<think>Sentence 3 may bear on it, or"
    for text in ("", thinking):
        cut = selection(text, finish="length")
        assert cut.reply_class is ReplyClass.TRUNCATED
        assert cut.why == "the reply was cut off while the model thought, before any answer; raise max_tokens"
    assert selection("ANSWER: [3", finish="length").why == "the reply was cut off in its list; raise max_tokens"
    assert selection("ANSWER: [3", finish="other").why == "the reply was cut off in its list"
    assert selection("Well,", finish="length").why == "the reply was cut off; raise max_tokens"
    assert scores("3: 7\n4: 2", finish="length").why == "the reply was cut off; raise max_tokens"


def test_a_reply_that_calls_a_tool_says_so_and_what_to_do() -> None:
    for text in ("", "Let me look that up."):
        for called in (selection(text, finish="tool"), scores(text, finish="tool")):
            assert called.reply_class is ReplyClass.UNPARSEABLE
            assert called.why.startswith("the model called a tool, where none was offered; ask another, or")
    assert selection("ANSWER: [3]", finish="tool").indices == (3,)
    assert selection('{"reasoning": "", "sentences": [3]}', finish="tool").indices == (3,)
    assert selection('ANSWER: [4]\n\n{"sentences": [3]}', finish="tool").reply_class is ReplyClass.UNPARSEABLE


def test_the_messages_say_which_indices_and_how_many() -> None:
    assert selection("ANSWER: [99, 61, 3]").why == "99, 61: no sentence of this number was shown, of a paper with 0..59"
    assert selection(f"ANSWER: {[*range(60, 70)]}").why.startswith("60, 61, 62, 63, 64 and 5 more: no sentence")
    assert selection("ANSWER: 0-5").why == "6 sentences are named, of at most 5"
    assert selection("ANSWER: [3, 3, 3]").why == "sentences are named again 2 times"
    assert selection("ANSWER: none").why == "the reply says that no sentence is selected"
    assert selection("").why == "the reply is empty"
    assert selection("Well.").why == "no list of sentences was found in the reply"
    assert selection("", finish="refused").why == "the provider withheld the reply"
    for refusal in ("I can't help with that.", *REFUSALS_ELSEWHERE):
        assert selection(refusal).why == "the reply says that the model will not answer"


def test_a_reading_says_how_the_answer_was_found() -> None:
    read_by = {
        "ANSWER: [3]": "answer line",
        "ANSWER:\n- [3] why": "answer items",
        "<answer>[3]</answer>": "tag",
        '{"sentences": [3]}': "json",
        '{"sentences": [3': "json key",
        "I select [3].": "choice",
        "Well.\n[3]": "list",
        f"ANSWER: {PAPER[12]}": "quotes",
        "ANSWER: none": "answer line",
        "I cannot help with that.": "refusal",
        "Well.": None,
    }
    assert {text: selection(text).read_by for text in read_by} == read_by
    assert (scores("12: 7").read_by, scores("Well.").read_by) == ("score lines", None)
    assert {*read_by.values(), "score lines"} - {None} == set(Branch)


def test_an_empty_paper_has_no_index() -> None:
    reading = read_selection(ChatReply(text="ANSWER: [0]"), {}, budget=1, n_sentences=0)
    assert (reading.reply_class, reading.indices) == (ReplyClass.OUT_OF_RANGE, ())


def test_an_order_is_read_whole_and_keeps_what_stands_before_a_cut() -> None:
    whole = list(range(N_SENTENCES))[::-1]
    assert order(f"ANSWER: {whole}").indices == tuple(whole)
    assert order("ANSWER: " + " > ".join(f"[{index}]" for index in whole)).indices == tuple(whole)
    assert order("ANSWER: [3, 17, 3]").reply_class is ReplyClass.DUPLICATE
    cut = order("ANSWER: [3, 17, 42, 5", finish="length")
    assert (cut.reply_class, cut.indices) == (ReplyClass.TRUNCATED, (3, 17, 42))
    assert order("ANSWER", finish="length").indices == ()
    assert order('{"sentences": [3, 17, 4', finish="length").indices == (3, 17)


@pytest.mark.parametrize(
    "text",
    [
        "ANSWER: 17\n-> 3\n-> 42",
        "ANSWER: 17 →\n3 →\n42",
        "ANSWER:\n17\n→ 3\n→ 42",
        "ANSWER: [17]\n→ [3]\n→ [42]",
        '{"sentences": [{"sentence": 42, "rank": 3}, {"sentence": 17, "rank": 1}, {"sentence": 3, "rank": 2}]}',
    ],
)
def test_an_order_with_arrows_or_ranks_is_read_whole(text: str) -> None:
    assert order(text).indices == (17, 3, 42)


def test_an_order_with_scores_is_left_to_the_repair_turn() -> None:
    assert order("ANSWER: 17: 10, 3: 8, 42: 7").reply_class is ReplyClass.UNPARSEABLE


def test_scores_of_fewer_than_half_of_the_sentences_are_kept_but_are_no_answer() -> None:
    reading = scores("12: 7\n13: 2", shown=range(10, 15))
    assert (reading.reply_class, reading.scores) == (ReplyClass.UNPARSEABLE, {12: 7.0, 13: 2.0})
    assert reading.why == "only 2 of 5 sentences have a score that can be read"
    assert scores("12: 7\n13: 2", shown=range(10, 14)).reply_class is ReplyClass.ANSWERED


# Styles: each renders any list of different indices so that it can be read back.
Style = Callable[[Sequence[int]], str]


def _lines(template: str, head: str = "ANSWER:\n") -> Style:
    return lambda indices: (
        head + "\n".join(template.format(n=n, i=index, text=PAPER[index]) for n, index in enumerate(indices, 1))
    )


def _joined(separator: str, template: str = "{i}", head: str = "ANSWER: ", tail: str = "") -> Style:
    return lambda indices: head + separator.join(template.format(i=index) for index in indices) + tail


STYLES: dict[str, Style] = {
    "brackets": _joined(", ", head="ANSWER: [", tail="]"),
    "bold": _joined(", ", head="**Answer:** **[", tail="]**"),
    "round": _joined("; ", head="final answer = (", tail=")."),
    "full width": _joined("，", head="ANSWER：【", tail="】"),
    "curly": _joined(",", head="ANSWER: {", tail="}"),
    "single brackets": _joined(" ", template="[{i}]"),
    "quoted": _joined(", ", template='"{i}"', head="ANSWER: [", tail="]"),
    "bare": _joined(", "),
    "spaces": _joined(" ", tail=" "),
    "order": _joined(" > ", template="[{i}]"),
    "tag": _joined(", ", head="<answer>", tail="</answer>"),
    "box": _joined(", ", head="So $\\boxed{", tail="}$."),
    "JSON": _joined(", ", head='{"reasoning": "see [5]", "sentences": [', tail="]}"),
    "JSON strings": _joined(", ", template='"{i}"', head='{"indices": [', tail=",]}"),
    "JSON objects": _joined(", ", template='{{"index": {i}, "why": "5"}}', head="```json\n[", tail="]\n```"),
    "single quotes": _joined(", ", template="'{i}'", head="{'sentences': [", tail="]}"),
    "lines": _lines("{i}"),
    "bullets": _lines("- {i}"),
    "bracketed lines": _lines("[{i}]"),
    "bracketed lines with remarks": _lines("[{i}] it gives 2 figures"),
    "numbered": _lines("{n}. [{i}] it gives 2 figures"),
    "numbered labels": _lines("{n}. **Sentence {i}**: it gives 2 figures"),
    "colons": _lines("- {i}: it gives 2 figures"),
    "echoes": _lines("[{i}] {text}"),
    "without a keyword": _joined(", ", head="It all fits.\n\n[", tail="]"),
    "alone": _joined(", "[:2], head="", tail=""),
}
distinct_indices = st.lists(st.integers(0, N_SENTENCES - 1), min_size=1, max_size=8, unique=True)


@given(indices=distinct_indices, style=st.sampled_from(sorted(STYLES)))
def test_what_is_rendered_in_any_style_is_read_back(indices: list[int], style: str) -> None:
    text = STYLES[style](indices)
    reading = selection(text, budget=None)
    assert reading.indices == tuple(indices), text
    assert reading.reply_class is ReplyClass.ANSWERED
    assert order(text).indices == tuple(indices)


@given(first=st.integers(0, N_SENTENCES - 1), length=st.integers(1, 10), mark=st.sampled_from(["-", "–", " to ", ".."]))
def test_a_range_is_all_its_numbers(first: int, length: int, mark: str) -> None:
    last = min(N_SENTENCES - 1, first + length)
    assert selection(f"ANSWER: [{first}{mark}{last}]").indices == tuple(range(first, last + 1))


QUOTATIONS = ("{}", "> {}", '"{}"', "`{}`", "- {}", "[41] {}", "Sentence 41 says “{}”, which I ignore.", "```\n{}\n```")


@given(
    # The paper holds the very line of [1]: of two such lines nothing tells which is the reply's.
    own=distinct_indices.filter(lambda own: own != [1]),
    quoted=st.lists(
        st.tuples(st.sampled_from(range(INJECTED, INJECTED + 15)), st.sampled_from(QUOTATIONS)), max_size=4
    ),
    at=st.integers(0, 4),
    finish=st.sampled_from(["stop", "length"]),
)
def test_sentences_that_look_like_answers_change_nothing_wherever_they_are_quoted(
    own: list[int], quoted: list[tuple[int, str]], at: int, finish: Finish
) -> None:
    parts = [quotation.format(PAPER[index]) for index, quotation in quoted]
    parts.insert(at, f"ANSWER: {own}")
    text = "\n\n".join(["I looked at all of it.", *parts])
    assert selection(text, budget=None, finish=finish).indices == tuple(own), text


@given(
    indices=distinct_indices,
    before=st.sampled_from(["", "The trial [5] is sound.\n\n", "<think>\nANSWER: [1]\n</think>\n", "[9]\n\n"]),
    after=st.sampled_from(["", "\n", "\n\nI left out [5].", "\n\nThat is 3 sentences.", "\n\nThese [1, 2] are weak."]),
)
def test_what_stands_before_and_behind_the_answer_changes_nothing(indices: list[int], before: str, after: str) -> None:
    assert selection(f"{before}ANSWER: {indices}{after}", budget=None).indices == tuple(indices)


@given(scored=st.dictionaries(st.integers(0, N_SENTENCES - 1), st.integers(0, 100).map(lambda n: n / 10), min_size=1))
def test_scores_are_read_back(scored: dict[int, float]) -> None:
    texts = [
        "SCORES:\n" + "\n".join(f"{index}: {score}" for index, score in scored.items()),
        "\n".join(f"- [{index}] {score}/10 - it gives 2 figures" for index, score in scored.items()),
        json.dumps({"scores": [{"sentence": index, "score": score} for index, score in scored.items()]}),
        json.dumps(scored),
    ]
    for text in texts:
        reading = scores(text, shown=scored)
        assert reading.scores == pytest.approx(scored), text
        assert reading.indices == tuple(scored)
    echoed = "\n".join(f"[{index}] {PAPER[index]}: {score}" for index, score in scored.items())
    assert scores(echoed, shown=scored).scores == {}  # left to the repair turn, since sentences hold numbers too


@given(value=json_values, indent=st.sampled_from([None, 2]))
def test_all_json_is_read_with_its_numbers_as_written(value: object, indent: int | None) -> None:
    text = json.dumps([value], indent=indent, ensure_ascii=False)
    found = json_at(text, 0)
    assert found is not None
    assert found[1] == len(text)
    assert found[0] == json.loads(text, parse_int=str, parse_float=str, parse_constant=str)


@given(st.text("abAB.-–—“”'\" \t\n"))
def test_comparing_forgets_case_and_blanks(text: str) -> None:
    assert comparable(comparable(text)) == comparable(f" {text}\n")


# Bait: pieces that make careless readers go back and forth, each repeated to a megabyte.
BAIT = (
    *"[({<|-*#\"'`\\$>~:,;.1a é\n\t",
    *("[ ", "[3", "[3, ", "3-", "3-5, ", "3 (", "(3) ", "[3] ", "[3] (", "([{", "[[3]", "{'", '["', '{"a":', "{3: ["),
    *("ANSWER: ", "ANSWER: [", "ANSWER:\n- [3] x\n", "answer is ", "so my final answer ", "<answer>", "\\boxed{"),
    *('"sentences":', '{"sentences": [1,', "```\n[", "```json\n{", "\n```", "- ", "- 3\n", "1. x\n", "> ", "| 3 |\n"),
    *("| 3 ", "|--", "<think>\n", "\n</think>\n", "<think>", "[/THINK]", "<a ", "//", "/*", "#", "\n\n", "x:\n"),
    *("I select [3 (", "Selected sentences: ", "sentences 3 ", "sentence ", "none ", "no relevant ", "i am sorry i "),
    *("12: 7\n", "12: ", "12", "SCORES:\n", "score ", "12 | ", "[12]: 7 ", "12-", ": (", "..."),
    *("\ud800", "٣", "\u200b"),
    *('{"sentence": 3}\n', '{"a": "\n', '{"a": [1,\n', "~~3", "~~3~~", "Final: [3]\n", "<paper>\n", "Hypothesis: x\n"),
    *("Answer 1: [3]\n", "**A**\n- [3]\n\n", "A:\n", "3: x; ", "3 but ", "none\n", "7: 3, 4\n", "\n-> 3"),
    "- 3 excluded\n",
    *(f'"{PAPER[12]}" ', f"- {PAPER[17]}\n", PAPER[12][:40] + " ", "[3] because, ", "as well as ", "because "),
)


N_CHARACTERS_OF_BAIT = 1_000_000 if IS_THOROUGH else 8_000  # of which a reader in quadratic time would not come back


@pytest.mark.parametrize("bait", BAIT, ids=ascii)
def test_much_bait_is_read_to_its_end(bait: str) -> None:
    text = bait * (N_CHARACTERS_OF_BAIT // len(bait))
    for reply in (f"{text}\nANSWER: [3]", f"ANSWER: {text}"[: MAX_CHARACTERS // 2]):
        require_lawful(selection(reply), 5)
    scores(text[: MAX_CHARACTERS // 2])


@pytest.mark.parametrize("depth", [100, 300, 900])
def test_json_of_any_depth_is_read_or_left(depth: int) -> None:
    for opening, closing in (('{"answer":', "}"), ('{"scores":', "}"), ("[", "]"), ('[{"evidence":', "}]")):
        text = f"ANSWER: {opening * depth}[3]{closing * depth}"
        require_lawful(selection(text), 5)
        require_lawful_scores(scores(text.removeprefix("ANSWER: ")))


def test_megabytes_nulls_and_deep_brackets_do_no_harm() -> None:
    for text in (
        "tea " * (2_500_000 // SHORTER),
        "\x00" * 1000,
        "9" * (1_000_000 // SHORTER),
        "[" * (1_000_000 // SHORTER),
        '{"a":' * 200_000,
        "\udc80\ud800",
    ):
        require_lawful(selection(text), 5)
        assert selection(f"{text}\nANSWER: [3]").indices == (3,)


FUZZED_AT_A_TIME = 20_000 if IS_THOROUGH else 2_000
PIECES = (*BAIT, *PAPER.values(), *'\n []3"{}', "ANSWER:", ", ", "17", "answer", "```", "none")


REPLIES = [*(shape.reply for shape in SHAPES), *(shape.reply for shape in SCORE_SHAPES)]
SHORT = [reply for reply in REPLIES if len(reply) < 2000]


def _fuzzed(random: Random) -> str:
    """Return a reply of the corpus or two, changed here and there, or pieces in a row."""
    if random.random() < 0.3:
        return "".join(random.choices(PIECES, k=random.randrange(1, 12)))
    text = random.choice(SHORT)
    if random.random() < 0.3:
        other = random.choice(SHORT)
        text = text[: random.randrange(len(text) + 1)] + other[random.randrange(len(other) + 1) :]
    for _ in range(random.randrange(4)):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.randrange(4))
        text = text[:start] + (random.choice(PIECES) if random.random() < 0.6 else "") + text[end:]
    return text


@pytest.mark.parametrize("seed", range(3 if IS_THOROUGH else 1))
def test_thousands_of_fuzzed_replies_are_read_by_the_rules(seed: int) -> None:
    random = Random(seed)
    for n in range(FUZZED_AT_A_TIME):
        text, finish, budget = _fuzzed(random), random.choice(FINISHES), random.choice((None, 1, 5))
        try:
            require_lawful(selection(text, finish=finish, budget=budget), budget)
            if n % 10 == 0:
                require_lawful_scores(scores(text, finish=finish))
                order(text, finish=finish)
        except Exception as error:
            raise AssertionError(f"{text!r}, finish {finish}, budget {budget}") from error


def require_lawful_scores(reading: Reading) -> None:
    """Raise unless scores obey what their docstring says."""
    assert set(reading.scores) <= set(PAPER)
    assert all(0 <= score <= 10 for score in reading.scores.values())
    assert reading.indices == tuple(reading.scores)
    assert bool(reading.why) == (reading.reply_class is not ReplyClass.ANSWERED)
    assert (reading.reply_class is ReplyClass.ANSWERED) <= (2 * len(reading.scores) >= N_SENTENCES)
