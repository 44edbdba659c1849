"""``evidencebench cache prune``."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from evidencebench.cli.cache.places import embeddings_file, kept_folder, replies_file, shown_cost, shown_size
from evidencebench.cli.numbers import Finite
from evidencebench.cli.options import json_option
from evidencebench.cli.output import print_json
from evidencebench.models.embedding.inventory import remove_vectors, vectors_by_encoder
from evidencebench.models.llm.batch_queue import BatchQueue
from evidencebench.models.llm.inventory import (
    ModelReplies,
    ReplyFilter,
    damaged_keys,
    n_waiting,
    remove_batches,
    remove_keys,
    remove_replies,
    replies_by_model,
)
from evidencebench.models.llm.reply_cache import ReplyCache
from evidencebench.models.llm.reply_database import REPLIES
from evidencebench.pages.app.search_index import kept_files
from evidencebench.storage.cached_file import remove_cached
from evidencebench.storage.database import compact
from evidencebench.tables import printable
from evidencebench.wording import counted

_DAY_SECONDS = 86_400.0


@click.command(name="prune")
@click.option("--replies", is_flag=True, help="Remove replies.")
@click.option("--embeddings", is_flag=True, help="Remove all embeddings.")
@click.option("--search", is_flag=True, help="Remove what 'view' keeps to search large data.")
@click.option("--all", "everything", is_flag=True, help="Remove replies, embeddings and what is kept to search.")
@click.option("--older-than", type=Finite(0), metavar="DAYS", help="Only replies that are older.")
@click.option("--model", metavar="M", help="Only replies of this model, as provider/name.")
@click.option("--damaged", is_flag=True, help="Only replies that are damaged.")
@click.option("--batches", is_flag=True, help="Forget open batches: what they cost is lost.")
@click.option("--yes", is_flag=True, help="Remove it; without, only print what would go.")
@json_option
def command(
    *,
    replies: bool,
    embeddings: bool,
    search: bool,
    everything: bool,
    older_than: float | None,
    model: str | None,
    damaged: bool,
    batches: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Remove what is kept, and give its space back.

    Removed replies are paid for again when they are needed. Open batches, and
    requests that wait for one, stay unless --batches is given.

    \b
    Examples:
      evidencebench cache prune --older-than 90
      evidencebench cache prune --model openai/gpt-4o-mini --yes
      evidencebench cache prune --all --batches --yes
    """
    has_filter = older_than is not None or model is not None
    wanted = {
        "replies": replies or everything or has_filter,
        "damaged": damaged,
        "batches": batches,
        "embeddings": embeddings or everything,
        "search": search or everything,
    }
    _require_clear(wanted, is_about_replies=replies or everything, has_filter=has_filter)
    which = ReplyFilter(model=model, before=None if older_than is None else time.time() - older_than * _DAY_SECONDS)
    folder = kept_folder()
    with _cache_in(folder) as cache:
        found = {} if cache is None else _of_replies(cache, which)
        if embeddings_file(folder).exists():
            found["embeddings"] = lambda: _embeddings(embeddings_file(folder))
        found["search"] = lambda: _search(kept_files(folder))
        parts = [part for name, find in found.items() if wanted[name] and (part := find()).n]
        if yes:
            _remove(parts, cache)
    _print(parts, removed=yes, as_json=as_json)


def _require_clear(wanted: dict[str, bool], *, is_about_replies: bool, has_filter: bool) -> None:
    if not any(wanted.values()):
        raise click.UsageError(
            "say what: --replies, --embeddings, --search, --all, --older-than, --model, --damaged or --batches"
        )
    if has_filter and (wanted["embeddings"] or wanted["search"] or wanted["damaged"]):
        raise click.UsageError(
            "--older-than and --model choose replies, so --embeddings, --search, --all and --damaged go alone"
        )
    if wanted["damaged"] and is_about_replies:
        raise click.UsageError("--damaged chooses among replies, so it goes without --replies and --all")


def _remove(parts: "list[_Part]", cache: ReplyCache | None) -> None:
    for part in parts:
        part.remove()
    if cache is not None and any(part.is_of_replies for part in parts):
        _compact(cache)


def _print(parts: "list[_Part]", *, removed: bool, as_json: bool) -> None:
    if as_json:
        print_json({"removed": removed, **{part.name: part.n for part in parts}})
        return
    click.echo("\n".join(part.line for part in parts) or "nothing to remove")
    if parts:
        click.echo("removed" if removed else "nothing is removed yet; add --yes to remove it")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Something that can be removed: how much there is, how that is said, and how it goes."""

    name: str
    n: int
    line: str
    remove: Callable[[], object]
    is_of_replies: bool = True


@contextmanager
def _cache_in(folder: Path) -> Iterator[ReplyCache | None]:
    """Give the cache of replies, or None where there is none."""
    if not replies_file(folder).exists():
        yield None
        return
    cache = ReplyCache(folder)
    try:
        yield cache
    finally:
        cache.close()


def _of_replies(cache: ReplyCache, which: ReplyFilter) -> dict[str, Callable[[], _Part]]:
    """Return what finds each part of the cache of replies."""
    return {
        "replies": lambda: _replies(cache, which),
        "damaged": lambda: _damaged(cache),
        "batches": lambda: _batches(cache),
    }


def _replies(cache: ReplyCache, which: ReplyFilter) -> _Part:
    models = replies_by_model(cache, which)
    lines = [
        f"{counted(model.n_replies, 'reply', 'replies')} of {printable(model.model)}, cost {_cost(model)}"
        for model in models
    ]
    return _Part(
        name="replies",
        n=sum(model.n_replies for model in models),
        line="\n".join(lines),
        remove=lambda: remove_replies(cache, which),
    )


def _cost(model: ModelReplies) -> str:
    return shown_cost(model.cost_usd, model.n_unpriced)


def _damaged(cache: ReplyCache) -> _Part:
    keys = damaged_keys(cache)
    return _Part(
        name="damaged", n=len(keys), line=f"{len(keys)} damaged replies", remove=lambda: remove_keys(cache, keys)
    )


def _batches(cache: ReplyCache) -> _Part:
    batches, n_requests = BatchQueue(cache).batches(), n_waiting(cache)
    lines = [f"batch {batch.name or 'without an id'} of {printable(batch.group.model)}" for batch in batches]
    if n_requests:
        lines.append(f"{counted(n_requests, 'request')} waiting for a batch")
    return _Part(
        name="batches", n=len(batches) + n_requests, line="\n".join(lines), remove=lambda: remove_batches(cache)
    )


def _embeddings(path: Path) -> _Part:
    n_vectors = sum(encoder.n_vectors for encoder in vectors_by_encoder(path))
    return _Part(
        name="embeddings",
        n=n_vectors,
        line=counted(n_vectors, "embedding"),
        remove=lambda: remove_vectors(path),
        is_of_replies=False,
    )


def _search(files: list[Path]) -> _Part:
    def remove() -> None:
        for file in files:
            remove_cached(file)

    size = shown_size(sum(file.stat().st_size for file in files))
    return _Part(
        name="search",
        n=len(files),
        line=f"{counted(len(files), 'index', 'indices')} to search, {size}",
        remove=remove,
        is_of_replies=False,
    )


def _compact(cache: ReplyCache) -> None:
    cache.close()
    try:
        compact(cache.path, REPLIES)
    except sqlite3.Error as error:
        click.echo(f"removed, but the space is not free yet: {error}; prune again later", err=True)
