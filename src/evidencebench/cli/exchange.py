"""Print the prompts and replies of a run, and open the data that the run was made on."""

from collections.abc import Iterable
from pathlib import Path

import click

from evidencebench.cli.output import print_json
from evidencebench.data.dataset import Dataset, open_dataset
from evidencebench.data.sources import is_sharded
from evidencebench.errors import UnreadableError
from evidencebench.execution.exchanges import Exchange
from evidencebench.models.llm.chat import prompt_tokens_of
from evidencebench.models.llm.costs import shown_usd
from evidencebench.runs.run import RunFile
from evidencebench.tables import printable


def print_exchanges(exchanges: Iterable[Exchange], *, as_json: bool) -> None:
    if not as_json:
        for exchange in exchanges:
            click.echo("\n".join(_lines(exchange)))
        return
    print_json(
        [
            {
                "instance": exchange.instance_id,
                "task": exchange.task,
                "turn": exchange.turn,
                "key": exchange.replayed.request.key,
                "request": exchange.replayed.request,
                "reply": exchange.replayed.reply,
                "cost_usd": exchange.replayed.cost_usd,
            }
            for exchange in exchanges
        ]
    )


def data_of(run: RunFile, data: str | None) -> Dataset:
    """Open the data that a run was made on: the file ``data``, or else the file that the run's header names."""
    if data is not None:
        return open_dataset(data)
    path = "" if run.header is None else run.header.data.path
    if not (Path(path).is_file() or (path and is_sharded(Path(path)))):
        raise UnreadableError(
            f"{run.path}: its data is not at {path or 'any path in its header'} any more; name it with --data"
        )
    return open_dataset(path)


def _lines(exchange: Exchange) -> Iterable[str]:
    request, reply, cost_usd = exchange.replayed.request, exchange.replayed.reply, exchange.replayed.cost_usd
    task = "" if exchange.task is None else f", {exchange.task}"
    yield f"=== {printable(exchange.instance_id)}{task}, request {exchange.turn}: {printable(request.model)}"
    yield f"key {request.key}, about {prompt_tokens_of(request):,} prompt tokens"
    for message in request.messages:
        yield f"--- {message.role}"
        yield _printable_lines(message.text)
    if reply is None:
        return
    counts = (reply.usage.prompt_tokens, reply.usage.completion_tokens)
    tokens = " + ".join("unknown" if n is None else f"{n:,}" for n in counts)
    cost = "price unknown" if cost_usd is None else shown_usd(cost_usd)
    yield f"--- reply ({reply.finish}; {tokens} tokens; {cost})"
    yield _printable_lines(reply.text)
    yield ""


def _printable_lines(text: str) -> str:
    """Return text without characters that could control a terminal; its line ends are kept."""
    return "\n".join(map(printable, text.split("\n")))
