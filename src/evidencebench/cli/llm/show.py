"""``evidencebench llm show``."""

import os
from pathlib import Path
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.exchange import data_of, print_exchanges
from evidencebench.cli.options import argument, option
from evidencebench.errors import CacheError
from evidencebench.execution.exchanges import Exchange, changed_since, exchanges_of
from evidencebench.files.places import cache_folder
from evidencebench.models.llm.replies import FILE_NAME, stored_replies
from evidencebench.runs.run import RunFile, read_run
from evidencebench.scoring.significance import notes_line
from evidencebench.wording import counted


@options.command
def command(
    *,
    run: Annotated[Path, argument()],
    instance_id: Annotated[str, argument("ID")],
    data: Annotated[str | None, option("-d, --data D", "The run's data, where it has moved.")],
    tasks: options.Tasks,
    as_json: options.AsJson,
) -> None:
    """Show what a model was asked for an instance, and its replies.

    The requests are made again from the run's header and its data, and the replies
    are read from the cache of this machine (see 'cache'). Nothing is sent.

    \b
    Example: evidencebench llm show mini.jsonl evidencebench_train_id_7
    """
    answers = read_run(run)
    dataset = data_of(answers, data)
    folder = cache_folder(os.environ)
    with stored_replies(folder) as cache:
        exchanges = list(exchanges_of(answers, dataset, [instance_id], cache=cache, tasks=tasks))
    print_exchanges(exchanges, as_json=as_json)
    for task in dict.fromkeys(exchange.task for exchange in exchanges if not as_json):
        answer = answers.answer(instance_id, task)
        if answer is not None and answer.notes:
            click.echo(f"answer{f', {task}' if task else ''}: {notes_line(answer.notes)}")
    if not exchanges:
        click.echo(f"{run}: {instance_id}: no request was sent, since no task needs a sentence of it", err=True)
    if missing := [exchange for exchange in exchanges if exchange.replayed.reply is None]:
        raise CacheError(_missing_message(answers, missing, folder))


def _missing_message(run: RunFile, missing: list[Exchange], folder: Path | None) -> str:
    where = "EVIDENCEBENCH_CACHE is 'off', so that no replies are kept" if folder is None else str(folder / FILE_NAME)
    changed = [f"{name} was {then[:12]}, now {now[:12]}" for name, (then, now) in changed_since(run).items()]
    why = (
        f"the prompts or options have changed since the run was made ({'; '.join(changed)})"
        if changed
        else "it was removed, is damaged, lies in another EVIDENCEBENCH_CACHE, or the request failed"
    )
    key = missing[0].replayed.request.key[:12]
    return (
        f"{where}: expected the reply to {counted(len(missing), 'request')} above, such as {key}, got none; {why}; "
        "requests after it cannot be shown"
    )
