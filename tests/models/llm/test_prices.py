"""What models cost: the table, its file, and the limit on what is spent."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from doors import ChatReply, FormatError, Price, PriceTable, RunningTotals, UnreadableError, Usage, shown_usd

TABLE = PriceTable(
    as_of="2026-01-01",
    models={
        "openai/gpt-4o": Price(input=2.5, cached_input=1.25, output=10.0, batch=0.5),
        "openai/gpt-4o-2024-05-13": Price(input=5.0, output=15.0),
        "openai/gpt-4o-mini": Price(input=0.15, output=0.6),
        "local/*": Price(input=0.0, output=0.0),
        "local/large-*": Price(input=1.0, output=2.0),
    },
)


@pytest.mark.parametrize(
    ("model", "output"),
    [
        ("openai/gpt-4o", 10.0),
        ("openai/gpt-4o-2024-08-06", 10.0),
        ("openai/gpt-4o-2024-05-13", 15.0),
        ("openai/gpt-4o-mini-2024-07-18", 0.6),
        ("openai-responses/gpt-4o-2024-05-13", 15.0),
        ("openai/gpt-4o-audio", None),
        ("openai/gpt-4o1", None),
        ("azure/gpt-4o", None),
        ("local/anything", 0.0),
        ("local/large-anything", 2.0),
    ],
)
def test_a_name_matches_itself_and_itself_with_a_date_and_nothing_that_could_be_another_model(
    model: str, output: float | None
) -> None:
    price = TABLE.price_of(model)
    assert (None if price is None else price.output) == output


def test_a_cost_is_that_of_the_providers_price_list() -> None:
    usage = Usage(prompt_tokens=1_000_000, cached_tokens=400_000, completion_tokens=100_000)
    assert TABLE.cost_usd("openai/gpt-4o", usage) == pytest.approx(0.6 * 2.5 + 0.4 * 1.25 + 0.1 * 10)
    assert TABLE.cost_usd("openai/gpt-4o", usage, batch=True) == pytest.approx((0.6 * 2.5 + 0.4 * 1.25 + 1.0) / 2)


def test_no_more_is_taken_from_the_providers_cache_than_there_was_in_the_prompt() -> None:
    usage = Usage(prompt_tokens=1_000_000, cached_tokens=3_000_000, completion_tokens=0)
    assert TABLE.cost_usd("openai/gpt-4o", usage) == pytest.approx(1.25)


def test_what_is_written_to_the_providers_cache_costs_a_quarter_more_than_what_is_read_anew() -> None:
    usage = Usage(prompt_tokens=1_000_000, cached_tokens=400_000, written_tokens=500_000, completion_tokens=0)
    assert TABLE.cost_usd("openai/gpt-4o", usage) == pytest.approx(2.5 * (0.1 + 0.5 * 1.25) + 1.25 * 0.4)


@pytest.mark.parametrize(
    ("model", "usage", "batch"),
    [
        ("openai/unheard-of", Usage(prompt_tokens=1, completion_tokens=1), False),
        ("openai/gpt-4o", Usage(), False),
        ("openai/gpt-4o", Usage(prompt_tokens=1), False),
        ("openai/gpt-4o-mini", Usage(prompt_tokens=1, completion_tokens=1), True),
    ],
)
def test_what_is_not_known_is_none_and_never_nothing(model: str, usage: Usage, *, batch: bool) -> None:
    assert TABLE.cost_usd(model, usage, batch=batch) is None


def test_the_packages_own_table_is_sound_and_every_price_has_a_day() -> None:
    table = PriceTable.load()
    assert table.as_of.startswith("20")
    price = Price(input=2.5, cached_input=1.25, output=10, batch=0.5, as_of="2026-11-10")
    assert table.price_of("openai/gpt-4o-2024-08-06") == price
    assert {price.as_of for price in table.models.values()} == {"2025-11-01", "2026-11-10"}
    assert table.dated(["openai/gpt-6.1-sol", "anthropic/claude-opus-5-5"]) == "2026-11-10"
    assert table.dated(["openai/gpt-6.1-sol", "openai/o1-mini"]) == "2025-11-01 and 2026-11-10"
    older = [table.price_of(f"openai/gpt-3.5-turbo{date}") for date in ("", "-0125", "-1106", "-0613", "-16k-0613")]
    assert [price and price.input for price in older] == [0.5, 0.5, 1, 1.5, None]  # none has that of the newest one


def test_what_a_reply_states_is_its_cost_on_openrouter_and_nowhere_else() -> None:
    price = Price(input=1.0, output=1.0)
    table = PriceTable(as_of="", models={"openrouter/a/b": price, "openai/b": price})
    usage = Usage(prompt_tokens=1_000_000, completion_tokens=1_000_000, stated_usd=0.25)
    assert table.priced("openrouter/a/b", ChatReply(text="", usage=usage))[1] == 0.25
    assert table.priced("openrouter/not/in/the/table", ChatReply(text="", usage=usage))[1] == 0.25
    assert table.priced("openai/b", ChatReply(text="", usage=usage))[1] == 2.0
    silent = Usage(prompt_tokens=1_000_000, completion_tokens=1_000_000)
    assert table.priced("openrouter/a/b", ChatReply(text="", usage=silent))[1] == 2.0
    assert table.priced("openrouter/not/in/the/table", ChatReply(text="", usage=silent))[1] is None


def _file(folder: Path, value: Any) -> Path:
    path = folder / "mine.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_a_users_own_table_replaces_the_packages(tmp_path: Path) -> None:
    models = {"local/*": {"input": 0, "output": 0}, "a/c": {"input": 1, "output": 1, "as_of": "2027-03-04"}}
    table = PriceTable.load(_file(tmp_path, {"as_of": "2027-01-01", "models": models, "more": 1}))
    dates = ["2027-01-01", "2027-03-04", "2027-01-01"]
    assert [table.dated([model]) for model in ("local/x", "a/c", "a/unknown")] == dates
    assert table.cost_usd("local/llama", Usage(prompt_tokens=10, completion_tokens=10)) == 0
    assert table.price_of("openai/gpt-4o") is None
    marked = tmp_path / "marked.json"
    marked.write_bytes(b"\xef\xbb\xbf\n" + (tmp_path / "mine.json").read_bytes() + b"\n\n")
    assert PriceTable.load(marked) == table


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("{", UnreadableError, "mine.json: expected JSON"),
        ("[" * 100_000, UnreadableError, "mine.json"),
        ('{"as_of": "x", "models": {"a/b": {"input": NaN, "output": 1}}}', FormatError, "float"),
        ('{"as_of": "x", "models": {"a/b": {}, "a/b": {}}}', UnreadableError, "twice"),
        ([], FormatError, "`array`"),
        ({"models": {}}, FormatError, "as_of"),
        ({"as_of": "x", "models": {"a/b": {"input": 1}}}, FormatError, "mine.json: .*models: a/b: .*`output`"),
        ({"as_of": "x", "models": {"a/b": {"input": -1, "output": 1}}}, FormatError, "float"),
        ({"as_of": "x", "models": {"a/b": {"input": 1, "output": 1, "b": 1}}}, FormatError, "`b`"),
        ({"as_of": "x", "models": {"b": {"input": 1, "output": 1}}}, FormatError, "provider"),
    ],
    ids=str,
)
def test_a_broken_table_says_where(tmp_path: Path, value: Any, error: type[Exception], message: str) -> None:
    path = tmp_path / "mine.json"
    text = value if isinstance(value, str) else json.dumps(value)
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(error, match=message):
        PriceTable.load(path)


@given(st.floats(0, 1e6, allow_nan=False))
@example(5e-324)
@example(3e-10)
@example(999.999)
@example(999.994)
def test_no_sum_above_nothing_is_shown_as_nothing(cost: float) -> None:
    shown = float(shown_usd(cost).removeprefix("$").replace(",", ""))
    assert (shown == 0) == (cost == 0)
    assert shown == pytest.approx(cost, rel=0.06, abs=5e-324)
    assert shown < 1000 or "." not in shown_usd(cost)


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9), st.floats(0, 1e5), st.integers(0, 10**9))
def test_the_summary_is_one_line_of_at_most_60_characters(
    requests: int, stored: int, failures: int, cost: float, unpriced: int
) -> None:
    totals = RunningTotals()
    totals.count_reply(ChatReply(text=""), cost)
    totals.count(requests=requests, stored=stored, failures=failures, unpriced=unpriced)
    assert len(totals.summary()) <= 60
    assert "\n" not in totals.summary()


def test_a_price_that_is_not_known_is_said_in_the_summary_and_the_fields() -> None:
    totals = RunningTotals()
    totals.count_reply(ChatReply(text="", usage=Usage(prompt_tokens=3, completion_tokens=4)), None)
    assert totals.summary() == "1 sent, 0 stored, 0 failed, price unknown"
    assert totals.fields()["cost_usd"] is None
    totals.count_reply(ChatReply(text=""), 0.5)
    assert totals.summary() == "2 sent, 0 stored, 0 failed, $0.50 + 1 unpriced"
    assert totals.fields() | {"cost_usd": 0.5, "unpriced": 1, "prompt_tokens": 3} == totals.fields()


def test_a_table_that_is_not_there_or_a_pipe_or_a_device_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "prices.json"
    os.mkfifo(pipe)
    none = tmp_path / "none.json"
    for path, words in ((none, "no such file"), (pipe, "is a pipe"), (Path("/dev/zero"), "is a device")):
        with pytest.raises(UnreadableError, match=f"{path.name}: .*{words}.*give a table"):
            PriceTable.load(path)
