"""Print the prompts and replies of a run, and open the data that the run was made on."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from evidencebench.cli.output import print_json
from evidencebench.data.dataset import Dataset, open_dataset
from evidencebench.data.formats.shard_names import is_sharded
from evidencebench.errors import UnreadableError
from evidencebench.execution.exchanges import Exchange
from evidencebench.models.llm.tokens import prompt_tokens_of
from evidencebench.models.llm.totals import shown_usd
from evidencebench.runs.run_file import RunFile
from evidencebench.tables import printable


def print_exchanges(exchanges: Iterable[Exchange], *, as_json: bool) -> None:
    """Print requests with their replies, in the order in which they were made."""
    if as_json:
        print_json([_fields(one) for one in exchanges])
        return
    for one in exchanges:
        click.echo("\n".join(_lines(one)))


def data_of(run: RunFile, data: str | None) -> Dataset:
    """Open the data that a run was made on: the file ``data``, or else the file that the run's header names."""
    if data is not None:
        return open_dataset(data)
    path = "" if run.header is None else run.header.data.path
    if not (Path(path).is_file() or (path and is_sharded(Path(path)))):
        raise UnreadableError(
            f"{run.path}: its data is no longer at {path or 'a place that it names'}; give it by --data"
        )
    return open_dataset(path)


def _lines(one: Exchange) -> Iterable[str]:
    request, reply = one.replayed.request, one.replayed.reply
    task = "" if one.task is None else f", {one.task}"
    yield f"=== {printable(one.instance_id)}{task}, request {one.turn}: {printable(request.model)}"
    yield f"key {request.key}, about {prompt_tokens_of(request):,} prompt tokens"
    for message in request.messages:
        yield f"--- {message.role}"
        yield _printable_lines(message.text)
    if reply is None:
        return
    usage = reply.usage
    tokens = f"{_tokens_text(usage.prompt_tokens)} + {_tokens_text(usage.completion_tokens)} tokens"
    cost = "price unknown" if one.replayed.cost_usd is None else shown_usd(one.replayed.cost_usd)
    yield f"--- reply ({reply.finish}; {tokens}; {cost})"
    yield _printable_lines(reply.text)
    yield ""


def _tokens_text(n_tokens: int | None) -> str:
    return "unknown" if n_tokens is None else f"{n_tokens:,}"


def _printable_lines(text: str) -> str:
    """Return text without characters that could control a terminal; its line ends are kept."""
    return "\n".join(map(printable, text.split("\n")))


def _fields(one: Exchange) -> dict[str, Any]:
    request = one.replayed.request
    return {
        "instance": one.instance_id,
        "task": one.task,
        "turn": one.turn,
        "key": request.key,
        "request": request,
        "reply": one.replayed.reply,
        "cost_usd": one.replayed.cost_usd,
    }
