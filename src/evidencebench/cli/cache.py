"""``evidencebench cache``: what is kept between runs."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import click
from rich.filesize import decimal

from evidencebench.cli import options
from evidencebench.cli.main import LazyGroup
from evidencebench.cli.options import option
from evidencebench.cli.output import print_json, print_table
from evidencebench.errors import CacheError
from evidencebench.files.places import cache_folder
from evidencebench.files.sqlite import compact, size_bytes
from evidencebench.models.embedding.encoder import FILE_NAME as EMBEDDINGS_NAME
from evidencebench.models.embedding.encoder import remove_vectors, vectors_by_encoder
from evidencebench.models.llm.batch_queue import BatchQueue
from evidencebench.models.llm.costs import shown_usd
from evidencebench.models.llm.replies import FILE_NAME as REPLIES_NAME
from evidencebench.models.llm.replies import (
    REPLIES,
    ReplyCache,
    ReplyFilter,
    damaged_keys,
    n_waiting,
    remove_batches,
    remove_keys,
    remove_replies,
    replies_by_model,
)
from evidencebench.tables import Cell, Table, printable
from evidencebench.wording import counted


@options.command
def list_(*, as_json: options.AsJson, table_format: options.TableFormat) -> None:
    """List stored replies, embeddings and open batches.

    A cost is what was paid when the reply arrived, if the price was known. The next
    run first collects the open batches.

    \b
    Example: evidencebench cache list
    """
    folder = cache_folder(os.environ)
    if as_json:
        print_json({"folder": None if folder is None else str(folder)} | ({} if folder is None else _contents(folder)))
        return
    if folder is None:
        click.echo("nothing is stored, since EVIDENCEBENCH_CACHE is 'off'")
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
        click.echo(f"{counted(replies['n_waiting'], 'request')} waiting for a batch, not submitted yet")
    click.echo(f"stored in {printable(str(folder))} (set EVIDENCEBENCH_CACHE to change)")


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


_DAY_SECONDS = 86_400.0


@options.command
def prune(
    *,
    replies: Annotated[bool, option("--replies", "Remove replies.")],
    embeddings: Annotated[bool, option("--embeddings", "Remove all embeddings.")],
    everything: Annotated[bool, option("--all", "Remove replies and embeddings.")],
    older_than: Annotated[
        float | None, option("--older-than DAYS", "Only replies older than this.", options.Finite(0))
    ],
    model: Annotated[str | None, option("--model M", "Only replies of this model, as provider/name.")],
    damaged: Annotated[bool, option("--damaged", "Only damaged replies.")],
    batches: Annotated[bool, option("--batches", "Forget open batches; what they cost is lost.")],
    yes: Annotated[bool, option("--yes", "Remove it; without this, only print what would go.")],
    as_json: options.AsJson,
) -> None:
    """Remove stored replies and embeddings, and free their space.

    If a removed reply is needed again, it must be paid for again. Open batches, and
    requests that wait for one, are kept unless --batches is given.

    \b
    Examples:
      evidencebench cache prune --model openai/gpt-4o-mini --yes
      evidencebench cache prune --all --batches --yes
    """
    has_filter = older_than is not None or model is not None
    wanted = {
        "replies": replies or everything or has_filter,
        "damaged": damaged,
        "batches": batches,
        "embeddings": embeddings or everything,
    }
    if not any(wanted.values()):
        raise click.UsageError(
            "say what: --replies, --embeddings, --all, --older-than, --model, --damaged or --batches"
        )
    if has_filter and (wanted["embeddings"] or wanted["damaged"]):
        raise click.UsageError(
            "--older-than and --model select replies: give them without --embeddings, --all and --damaged"
        )
    if wanted["damaged"] and (replies or everything):
        raise click.UsageError("--damaged selects replies: give it without --replies and --all")
    which = ReplyFilter(model=model, before=None if older_than is None else time.time() - older_than * _DAY_SECONDS)
    folder = cache_folder(os.environ)
    if folder is None:
        raise CacheError("cache: nothing is kept, since EVIDENCEBENCH_CACHE is 'off'; set it to a folder, or unset it")
    with ExitStack() as stack:
        cache = stack.enter_context(closing(ReplyCache(folder))) if (folder / REPLIES_NAME).exists() else None
        removables = [removable for removable in _removables(wanted, folder, cache, which) if removable.n]
        for removable in removables if yes else ():
            removable.remove()
    if yes and cache is not None and any(removable.name != "embeddings" for removable in removables):
        try:
            compact(cache.path, REPLIES)
        except sqlite3.Error as error:
            click.echo(f"removed, but the space is not free yet: {error}; prune again later", err=True)
    if as_json:
        print_json({"removed": yes, **{removable.name: removable.n for removable in removables}})
        return
    lines = [line for removable in removables for line in removable.lines]
    click.echo("\n".join(lines) or "nothing to remove")
    if removables:
        click.echo("removed" if yes else "nothing is removed yet; add --yes to remove it")


class _Removable(NamedTuple):
    """One sort of content that can be removed: how much there is, lines to print, and the function that removes it."""

    name: str
    n: int
    lines: Sequence[str]
    remove: Callable[[], object]


def _removables(
    wanted: Mapping[str, bool], folder: Path, cache: ReplyCache | None, which: ReplyFilter
) -> Iterator[_Removable]:
    """Yield each sort of content that is to be removed, even where there is none of it."""
    if cache is not None and wanted["replies"]:
        models = replies_by_model(cache, which)
        lines = [
            f"{counted(model.n_replies, 'reply', 'replies')} of {printable(model.model)}, "
            f"cost {shown_cost(model.cost_usd, model.n_unpriced)}"
            for model in models
        ]
        n_replies = sum(model.n_replies for model in models)
        yield _Removable("replies", n_replies, lines, partial(remove_replies, cache, which))
    if cache is not None and wanted["damaged"]:
        keys = damaged_keys(cache)
        yield _Removable("damaged", len(keys), [f"{len(keys)} damaged replies"], partial(remove_keys, cache, keys))
    if cache is not None and wanted["batches"]:
        batches, n_requests = BatchQueue(cache).batches(), n_waiting(cache)
        lines = [f"batch {batch.name or 'without an id'} of {printable(batch.group.model)}" for batch in batches]
        lines += [f"{counted(n_requests, 'request')} waiting for a batch"] if n_requests else []
        yield _Removable("batches", len(batches) + n_requests, lines, partial(remove_batches, cache))
    if wanted["embeddings"] and (vectors := folder / EMBEDDINGS_NAME).exists():
        n_vectors = sum(encoder.n_vectors for encoder in vectors_by_encoder(vectors))
        yield _Removable("embeddings", n_vectors, [counted(n_vectors, "embedding")], partial(remove_vectors, vectors))


command: LazyGroup = LazyGroup(
    "cache",
    commands=[list_, prune],
    help="""List and prune stored replies and embeddings.

Replies of language models, which cost money, and embeddings, which cost
time, are stored in the folder EVIDENCEBENCH_CACHE, by default
~/.cache/evidencebench; 'off' stores nothing. Several processes can use the
folder at once.
""",
)
