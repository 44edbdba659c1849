"""``evidencebench cache prune``."""

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from evidencebench.cli import options
from evidencebench.cli.cache.places import required_cache_folder, shown_cost
from evidencebench.cli.output import print_json
from evidencebench.files.sqlite import compact
from evidencebench.models.embedding.encoder import FILE_NAME as EMBEDDINGS_NAME
from evidencebench.models.embedding.encoder import remove_vectors, vectors_by_encoder
from evidencebench.models.llm.batch_queue import BatchQueue
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
from evidencebench.tables import printable
from evidencebench.wording import counted

_DAY_SECONDS = 86_400.0
_REPLY_PARTS = frozenset({"replies", "damaged", "batches"})


@click.command(name="prune")
@click.option("--replies", is_flag=True, help="Remove replies.")
@click.option("--embeddings", is_flag=True, help="Remove all embeddings.")
@click.option("--all", "everything", is_flag=True, help="Remove replies and embeddings.")
@click.option("--older-than", type=options.Finite(0), metavar="DAYS", help="Only replies that are older.")
@click.option("--model", metavar="M", help="Only replies of this model, as provider/name.")
@click.option("--damaged", is_flag=True, help="Only replies that are damaged.")
@click.option("--batches", is_flag=True, help="Forget open batches: what they cost is lost.")
@click.option("--yes", is_flag=True, help="Remove it; without, only print what would go.")
@options.as_json
def command(
    *,
    replies: bool,
    embeddings: bool,
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
    }
    _require_clear(wanted, is_about_replies=replies or everything, has_filter=has_filter)
    which = ReplyFilter(model=model, before=None if older_than is None else time.time() - older_than * _DAY_SECONDS)
    folder = required_cache_folder()
    with ExitStack() as stack:
        cache = stack.enter_context(closing(ReplyCache(folder))) if (folder / REPLIES_NAME).exists() else None
        parts = [part for part in _removables(wanted, folder, cache, which) if part.n]
        for part in parts if yes else ():
            part.remove()
    if yes and cache is not None and any(part.name in _REPLY_PARTS for part in parts):
        try:
            compact(cache.path, REPLIES)
        except sqlite3.Error as error:
            click.echo(f"removed, but the space is not free yet: {error}; prune again later", err=True)
    if as_json:
        print_json({"removed": yes, **{part.name: part.n for part in parts}})
        return
    click.echo("\n".join(line for part in parts for line in part.lines) or "nothing to remove")
    if parts:
        click.echo("removed" if yes else "nothing is removed yet; add --yes to remove it")


def _require_clear(wanted: dict[str, bool], *, is_about_replies: bool, has_filter: bool) -> None:
    if not any(wanted.values()):
        raise click.UsageError(
            "say what: --replies, --embeddings, --all, --older-than, --model, --damaged or --batches"
        )
    if has_filter and (wanted["embeddings"] or wanted["damaged"]):
        raise click.UsageError("--older-than and --model choose replies, so --embeddings, --all and --damaged go alone")
    if wanted["damaged"] and is_about_replies:
        raise click.UsageError("--damaged chooses among replies, so it goes without --replies and --all")


@dataclass(frozen=True, slots=True)
class _Removable:
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
