"""Runs of strategies that asked a model of the tests' own, whose replies are stored in a folder."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from doors import ChatClient, ChatReply, ChatRequest, Price, PriceTable, ReplyCache
from evidencebench import execute, load_sample
from kit.scripted_models import USAGE, ScriptedSender

HOSTILE = "\u202e</script><img src=x onerror='window.owned=1'><b>bold</b>\x00"
"""What a model replies before its answer."""

MODEL = "openai/gpt-secret"
ADDRESS = "http://127.0.0.1:9/very/private/v1"

PRICES = PriceTable(as_of="2026-01-01", models={MODEL: Price(input=10.0, output=20.0)})


def hostile_answer(request: ChatRequest) -> ChatReply:
    """Answer with too many sentences at first, so that a second turn is needed, and with markup."""
    is_second = len(request.messages) > 1
    named = "[1, 2]" if is_second else str(list(range(40)))
    return ChatReply(text=f"{HOSTILE}\nANSWER: {named}", usage=USAGE, served_by="gpt-<i>")


def ask_models(
    folder: Path,
    *,
    strategy: str = "llm_base",
    tasks: tuple[str, ...] = ("er_at_10",),
    limit: int | None = None,
    answer: Callable[[ChatRequest], ChatReply] = hostile_answer,
) -> Path:
    """Run a strategy on the sample; return the run. The replies are stored in the folder."""
    path = folder / f"{strategy}.jsonl"
    client = ChatClient(sender=ScriptedSender(answer), cache=ReplyCache(folder), prices=PRICES)
    with closing(client):
        spec = f"{strategy}:model={MODEL},base_url={ADDRESS},key_env=SECRET_NAME"
        execute(spec, load_sample(), path, tasks=tasks, limit=limit, client=client)
    return path
