"""``evidencebench cache list``."""

import os
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from evidencebench.cli.cache.places import shown_cost, shown_size, shown_time
from evidencebench.cli.options import format_option, json_option
from evidencebench.cli.output import print_json, print_table
from evidencebench.models.embedding.inventory import vectors_by_encoder
from evidencebench.models.embedding.vector_cache import FILE_NAME as EMBEDDINGS_NAME
from evidencebench.models.llm.batch_queue import BatchJob, BatchQueue
from evidencebench.models.llm.inventory import ModelReplies, n_waiting, replies_by_model
from evidencebench.models.llm.reply_cache import ReplyCache
from evidencebench.models.llm.reply_database import FILE_NAME as REPLIES_NAME
from evidencebench.pages.app.search_index import kept_files
from evidencebench.storage.database import size_bytes
from evidencebench.storage.user_folders import cache_folder
from evidencebench.tables import Table, printable
from evidencebench.wording import counted


@click.command(name="list")
@json_option
@format_option
def command(*, as_json: bool, table_format: str) -> None:
    """List what is kept: replies, embeddings, searches, open batches.

    A cost is what was paid when a reply came; it is unknown where the price
    was. Open batches are collected first when a run starts again.

    \b
    Examples:
      evidencebench cache list
      evidencebench cache list --json
    """
    folder = cache_folder(os.environ)
    if as_json:
        print_json({"folder": None if folder is None else str(folder)} | ({} if folder is None else _found(folder)))
        return
    if folder is None:
        click.echo("nothing is kept, since EVIDENCEBENCH_CACHE is 'off'")
        return
    _print(folder, table_format)


def _found(folder: Path) -> dict[str, Any]:
    """Return what the cache holds as JSON values; a file that does not exist is null."""
    replies, embeddings = folder / REPLIES_NAME, folder / EMBEDDINGS_NAME
    return {
        "replies": _replies_json(replies) if replies.exists() else None,
        "embeddings": {
            **_file_json(embeddings),
            "encoders": [asdict(encoder) for encoder in vectors_by_encoder(embeddings)],
        }
        if embeddings.exists()
        else None,
        "search": [_file_json(path) for path in kept_files(folder)],
    }


def _replies_json(path: Path) -> dict[str, Any]:
    with closing(ReplyCache(path.parent)) as cache:
        return {
            **_file_json(path),
            "models": [_model_json(model) for model in replies_by_model(cache)],
            "n_waiting": n_waiting(cache),
            "batches": [_batch_json(batch) for batch in BatchQueue(cache).batches()],
        }


def _file_json(path: Path) -> dict[str, Any]:
    return {"path": str(path), "size_bytes": size_bytes(path)}


def _model_json(model: ModelReplies) -> dict[str, Any]:
    return asdict(model) | {"oldest": shown_time(model.oldest), "newest": shown_time(model.newest)}


def _batch_json(batch: BatchJob) -> dict[str, Any]:
    return {
        "name": batch.name,
        "model": batch.group.model,
        "base_url": batch.group.base_url,
        "state": batch.state,
        "n_requests": batch.n_requests,
        "created": shown_time(batch.created),
    }


def _print(folder: Path, table_format: str) -> None:
    found = _found(folder)
    replies, embeddings = found["replies"], found["embeddings"]
    models = replies["models"] if replies else []
    print_table(_models_table(models), table_format)
    if replies and replies["batches"]:
        print_table(_batches_table(replies["batches"]), table_format)
    if embeddings and embeddings["encoders"]:
        rows = [[one["identity"], one["n_vectors"], one["dimension"]] for one in embeddings["encoders"]]
        print_table(Table(columns=["embeddings of", "vectors", "numbers each"], rows=rows), table_format)
    if table_format != "text":
        return
    for what, file in (("replies", replies), ("embeddings", embeddings)):
        said = f"{printable(file['path'])}, {shown_size(file['size_bytes'])}" if file else "none yet"
        click.echo(f"{what}: {said}")
    if found["search"]:
        size = sum(file["size_bytes"] for file in found["search"])
        click.echo(f"search: {counted(len(found['search']), 'index', 'indices')} of large data, {shown_size(size)}")
    if replies and replies["n_waiting"]:
        click.echo(f"{counted(replies['n_waiting'], 'request')} written down for a batch and not submitted")
    click.echo(f"kept in {printable(str(folder))} (set EVIDENCEBENCH_CACHE to change)")


def _models_table(models: list[dict[str, Any]]) -> Table:
    rows = [
        [
            model["model"],
            model["n_replies"],
            model["prompt_tokens"] + model["completion_tokens"],
            shown_cost(model["cost_usd"], model["n_unpriced"]),
            model["oldest"][:10],
            model["newest"][:10],
        ]
        for model in models
    ]
    return Table(columns=["model", "replies", "tokens", "cost", "oldest", "newest"], rows=rows)


def _batches_table(batches: list[dict[str, Any]]) -> Table:
    rows = [
        [batch["model"], batch["name"] or "not known", batch["state"], batch["n_requests"], batch["created"]]
        for batch in batches
    ]
    return Table(columns=["open batches of", "id", "state", "requests", "submitted"], rows=rows)
