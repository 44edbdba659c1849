"""Requests and replies to try caches with: numbered ones, and any."""

from hypothesis import strategies as st

from doors import ChatReply, ChatRequest, Message, Usage


def numbered(number: int, model: str = "openai/gpt-x", base_url: str | None = None) -> ChatRequest:
    """Return a request that no other number has."""
    return ChatRequest(model=model, base_url=base_url, messages=(Message("user", f"which number is {number}?"),))


def reply_to(number: int) -> ChatReply:
    usage = Usage(prompt_tokens=number + 5, completion_tokens=2)
    return ChatReply(text=f"it is {number}", usage=usage, served_by="gpt-x-2026-01-01")


_counts = st.none() | st.integers(0, 2**40)
_usages = st.builds(
    Usage,
    prompt_tokens=_counts,
    completion_tokens=_counts,
    cached_tokens=st.integers(0, 9),
    reasoning_tokens=st.integers(0, 9),
)
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_messages = st.builds(Message, st.sampled_from(["user", "assistant"]), st.text(max_size=40))
requests = st.builds(
    ChatRequest,
    model=st.sampled_from(["openai/a", "anthropic/b", "openai/c/d"]),
    messages=st.lists(_messages, min_size=1, max_size=3).map(tuple),
    base_url=st.none() | st.sampled_from(["http://127.0.0.1:1/v1", "https://host/v1"]),
    temperature=st.none() | st.floats(0, 2),
    top_p=st.none() | st.floats(0, 1),
    seed=st.integers(0, 2**31),
    max_tokens=st.integers(1, 10**6),
    reasoning_effort=st.none() | st.sampled_from(["low", "high"]),
    schema=st.none() | st.dictionaries(st.text(max_size=5), _json, max_size=3),
    extra_body=st.none() | st.dictionaries(st.text(max_size=5), _json, max_size=3),
)
chat_replies = st.builds(
    ChatReply,
    text=st.text(max_size=60),
    finish=st.sampled_from(["stop", "length", "refused", "other"]),
    usage=_usages,
    served_by=st.text(max_size=10),
)
requests_and_replies = st.tuples(requests, chat_replies, st.none() | st.floats(0, 1e6))
