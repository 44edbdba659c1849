"""``evidencebench cache list``."""

import os
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.filesize import decimal

from evidencebench.cli import options
from evidencebench.cli.output import print_json, print_table
from evidencebench.files.places import cache_folder
from evidencebench.files.sqlite import size_bytes
from evidencebench.models.embedding.encoder import FILE_NAME as EMBEDDINGS_NAME
from evidencebench.models.embedding.encoder import vectors_by_encoder
from evidencebench.models.llm.batch_queue import BatchQueue
from evidencebench.models.llm.costs import shown_usd
from evidencebench.models.llm.replies import FILE_NAME as REPLIES_NAME
from evidencebench.models.llm.replies import ReplyCache, n_waiting, replies_by_model
from evidencebench.tables import Cell, Table, printable
from evidencebench.wording import counted


@options.command
def command(*, as_json: options.AsJson, table_format: options.TableFormat) -> None:
    """List what is kept: replies, embeddings, open batches.

    A cost is what was paid when a reply came, if the price was known. Open batches
    are collected first when a run starts again.

    \b
    Example: evidencebench cache list
    """
    folder = cache_folder(os.environ)
    if as_json:
        print_json({"folder": None if folder is None else str(folder)} | ({} if folder is None else _contents(folder)))
        return
    if folder is None:
        click.echo("nothing is kept, since EVIDENCEBENCH_CACHE is 'off'")
        return
    contents = _contents(folder)
    replies, embeddings = contents["replies"], contents["embeddings"]
    models: list[list[Cell]] = [
        [
            *(model["model"], model["n_replies"], model["prompt_tokens"] + model["completion_tokens"]),
            *(shown_cost(model["cost_usd"], model["n_unpriced"]), model["oldest"][:10], model["newest"][:10]),
        ]
        for model in (replies["models"] if replies else ())
    ]
    print_table(Table(columns=["model", "replies", "tokens", "cost", "oldest", "newest"], rows=models), table_format)
    if replies and replies["batches"]:
        batches: list[list[Cell]] = [
            [batch["model"], batch["name"] or "not known", batch["state"], batch["n_requests"], batch["created"]]
            for batch in replies["batches"]
        ]
        columns = ["open batches of", "id", "state", "requests", "submitted"]
        print_table(Table(columns=columns, rows=batches), table_format)
    if embeddings and embeddings["encoders"]:
        encoders = embeddings["encoders"]
        rows = [[encoder["identity"], encoder["n_vectors"], encoder["dimension"]] for encoder in encoders]
        print_table(Table(columns=["embeddings of", "vectors", "numbers each"], rows=rows), table_format)
    if table_format != "text":
        return
    for what, file in (("replies", replies), ("embeddings", embeddings)):
        state = f"{printable(file['path'])}, {decimal(file['size_bytes'])}" if file else "none yet"
        click.echo(f"{what}: {state}")
    if replies and replies["n_waiting"]:
        click.echo(f"{counted(replies['n_waiting'], 'request')} written down for a batch and not submitted")
    click.echo(f"kept in {printable(str(folder))} (set EVIDENCEBENCH_CACHE to change)")


def _contents(folder: Path) -> dict[str, Any]:
    """Return what the cache holds as JSON values; a file that does not exist is null."""

    def file(path: Path) -> dict[str, Any]:
        return {"path": str(path), "size_bytes": size_bytes(path)}

    replies, embeddings = folder / REPLIES_NAME, folder / EMBEDDINGS_NAME
    contents: dict[str, Any] = {"replies": None, "embeddings": None}
    if replies.exists():
        with closing(ReplyCache(folder)) as cache:
            models = [
                asdict(model) | {"oldest": _shown_time(model.oldest), "newest": _shown_time(model.newest)}
                for model in replies_by_model(cache)
            ]
            batches = [
                {
                    "name": batch.name,
                    "model": batch.group.model,
                    "base_url": batch.group.base_url,
                    "state": "intended" if batch.name is None else "open",
                    "n_requests": batch.n_requests,
                    "created": _shown_time(batch.created),
                }
                for batch in BatchQueue(cache).batches()
            ]
            contents["replies"] = {**file(replies), "models": models, "n_waiting": n_waiting(cache), "batches": batches}
    if embeddings.exists():
        contents["embeddings"] = {**file(embeddings), "encoders": list(map(asdict, vectors_by_encoder(embeddings)))}
    return contents


def _shown_time(seconds: float) -> str:
    """Return a time in UTC, as ``2026-11-21T13:05:00Z``; a number that is no time stays a number."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, OSError, ValueError, TypeError):
        return str(seconds)


def shown_cost(cost_usd: float | None, n_unpriced: int) -> str:
    """Return a sum in dollars, and how many replies it lacks the cost of; an unknown cost is never shown as $0."""
    if cost_usd is None:
        return "unknown"
    return shown_usd(cost_usd) + (f" + {n_unpriced} unpriced" if n_unpriced else "")
