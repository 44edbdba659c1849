"""``evidencebench cache export``."""

from contextlib import closing
from pathlib import Path
from typing import Any

import click
import msgspec

from evidencebench.cli import options
from evidencebench.cli.cache.places import required_cache_folder, shown_time
from evidencebench.cli.exchange import data_of
from evidencebench.cli.output import OutputFile, json_text, refuse_existing, tell_written
from evidencebench.cli.progress import progress
from evidencebench.errors import CacheError
from evidencebench.execution.exchanges import exchanges_of
from evidencebench.models.llm.inventory import ReplyFilter, kept_replies
from evidencebench.models.llm.reply_cache import FILE_NAME, ReplyCache
from evidencebench.runs.run_file import RunFile, read_run
from evidencebench.storage.whole_file import is_stream, whole_file
from evidencebench.wording import counted


@click.command(name="export")
@click.option(
    "-o", "--output", required=True, type=OutputFile(), metavar="FILE", help="Where to; - is standard output."
)
@click.option("--model", metavar="M", help="Only replies of this model, as provider/name.")
@click.option(
    "--run",
    "run_path",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Only replies to RUN's requests, each with its instances and tasks.",
)
@click.option("-d", "--data", metavar="D", help="RUN's data, where it has moved.")
@click.option("--overwrite", is_flag=True, help="Replace FILE where it exists.")
@options.as_json
@options.progress_style
@click.pass_context
def command(
    ctx: click.Context,
    *,
    output: Path,
    model: str | None,
    run_path: Path | None,
    data: str | None,
    overwrite: bool,
    as_json: bool,
    progress_style: str,
) -> None:
    """Write all replies into FILE, one JSON object a line.

    A line holds the request, the reply with its tokens, the model, the cost
    (null where it is not known) and the time. FILE ends in .jsonl, or in
    .jsonl.gz to be packed. It never holds a key. Damaged replies are left
    out and counted, with exit code 1.

    The cache knows requests, and not who asked them. With --run the requests of
    RUN are made again, as by 'llm show', and its lines name their instances.

    \b
    Examples:
      evidencebench cache export -o replies.jsonl
      evidencebench cache export -o mini.jsonl --run mini-run.jsonl
      evidencebench cache export -o mini.jsonl.gz --model openai/gpt-4o-mini
    """
    if not (output.name.endswith((".jsonl", ".jsonl.gz")) or is_stream(output)):
        raise click.UsageError(f"--output: expected a name that ends in .jsonl or .jsonl.gz, got '{output.name}'")
    refuse_existing(output, overwrite=overwrite)
    path = required_cache_folder() / FILE_NAME
    if not path.exists():
        raise CacheError(f"{path}: holds no replies yet; run a strategy first")
    n_written = n_damaged = 0
    with closing(ReplyCache(path.parent)) as cache:
        asked_for = None if run_path is None else _purposes_by_key(read_run(run_path), data, cache)
        with progress("exporting", progress_style), whole_file(output) as file:
            for kept in kept_replies(cache, ReplyFilter(model=model)):
                key = kept if isinstance(kept, str) else kept.key
                if asked_for is not None and key not in asked_for:
                    continue
                if isinstance(kept, str):
                    n_damaged += 1
                else:
                    line: dict[str, Any] = {} if asked_for is None else {"asked_for": asked_for[key]}
                    line |= {"key": key, "model": kept.request.model, "created": shown_time(kept.created)}
                    line |= {"cost_usd": kept.cost_usd, "request": kept.request, "reply": kept.reply}
                    file.write(msgspec.json.encode(line) + b"\n")
                    n_written += 1
    if as_json:
        tell_written(output, json_text({"path": str(output), "n_replies": n_written, "n_damaged": n_damaged}))
    else:
        tell_written(output, f"{output}: {counted(n_written, 'reply', 'replies')}")
    if n_damaged and not as_json:
        remedy = "remove them with 'evidencebench cache prune --damaged'"
        tell_written(output, f"{n_damaged} damaged replies are left out; {remedy}")
    ctx.exit(1 if n_damaged else 0)


def _purposes_by_key(run: RunFile, data: str | None, cache: ReplyCache) -> dict[str, list[dict[str, Any]]]:
    """Return the instances, tasks and turns that each request of a run was made for, by the request's key."""
    found: dict[str, list[dict[str, Any]]] = {}
    dataset = data_of(run, data)
    for one in exchanges_of(run, dataset, [name for name in dataset.ids if name in run.ids], cache=cache):
        asked = {"instance": one.instance_id, "task": one.task, "turn": one.turn}
        found.setdefault(one.replayed.request.key, []).append(asked)
    return found
