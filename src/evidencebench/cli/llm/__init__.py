"""``evidencebench llm``: the commands about language models that are no runs; `serve_fake` has a file of its own."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.asking import Asking, opened_client, print_estimate, tell_asked, totals_fields
from evidencebench.cli.main import LazyGroup
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import print_json, print_table, refuse_existing, tell_written
from evidencebench.data.dataset import Dataset, open_dataset
from evidencebench.data.hypotheses import write_hypotheses
from evidencebench.data.sources import is_sharded
from evidencebench.errors import CacheError, DataError, UnreadableError
from evidencebench.execution.exchanges import Exchange, changed_since, exchanges_of
from evidencebench.execution.rewriting import asker_from, rewrite_all
from evidencebench.files.places import cache_folder
from evidencebench.models.llm.chat import prompt_tokens_of
from evidencebench.models.llm.costs import reply_facts
from evidencebench.models.llm.providers import PROVIDERS, Provider, place_of_key
from evidencebench.models.llm.replies import FILE_NAME, stored_replies
from evidencebench.runs.run import RunFile, read_run
from evidencebench.scoring.significance import notes_line
from evidencebench.tables import Column, printable, table_for_csv, table_for_readers
from evidencebench.training.prompt_examples import draw_examples, write_examples
from evidencebench.wording import counted


@options.command
def examples(
    *,
    data: options.Data,
    n: Annotated[int, options.number("-n N", "Number of examples.")] = 8,
    output: Annotated[Path, options.output("FILE", "File to write; - is standard output.")],
    seed: options.Seed,
    overwrite: Annotated[bool, option("--overwrite", "Replace the file if it exists.")],
    as_json: options.AsJson,
) -> None:
    """Draw examples for the prompt of llm_icl from labelled data.

    An example is a hypothesis with the smallest set of sentences that covers all
    its aspects. Draw examples from other data than you score: llm_icl refuses
    papers that are among its examples.

    \b
    Example: evidencebench llm examples --data train -n 8 -o examples.json
             evidencebench run llm_icl:model=openai/NAME,examples=examples.json
               --data dev -o run.jsonl
    """
    refuse_existing(output, overwrite=overwrite)
    drawn = draw_examples(open_dataset(data), n, seed=seed)
    write_examples(output, drawn)
    n_results = sum(example.results is not None for example in drawn.examples)
    ids = [example.instance_id for example in drawn.examples]
    fields = {"data": drawn.data, "seed": seed, "instances": ids, "with_results": n_results}
    line = f"{output}: {len(ids)} examples of {drawn.data.name}, {n_results} of them with Results"
    tell_written(output, fields, line, as_json=as_json)


_STATES = {"environment": "set", ".env": "in .env", None: "not set"}
_KEYS: tuple[Column[Provider], ...] = (
    Column("provider", "provider", lambda provider: provider.name),
    Column("key_env", "key in", lambda provider: provider.key_env or "none needed"),
    Column("key", "key", lambda provider: provider.key_env and _STATES[place_of_key(provider.key_env)]),
    Column("batches", "batches", lambda provider: "yes" if provider.has_batches else "no"),
    Column("json", "JSON by schema", lambda provider: "by default" if provider.promises_schema else "if asked"),
)
_ADDRESSES: tuple[Column[Provider], ...] = (
    _KEYS[0],
    Column(
        "base_url",
        "base_url",
        lambda provider: provider.base_url or "",
        lambda provider: provider.base_url or "give base_url",
    ),
)


@options.command
def providers(*, as_json: options.AsJson, table_format: options.TableFormat) -> None:
    """List the providers of models, and which of their keys are set.

    A model is written provider/name. A key is read from its environment variable,
    or else from the file .env in the current folder. No key is shown.

    \b
    Example: evidencebench llm providers
    """
    providers = list(PROVIDERS.values())
    if as_json:
        print_json(
            [
                {
                    "name": provider.name,
                    "base_url": provider.base_url,
                    "key_env": provider.key_env or None,
                    "key_is_set": place_of_key(provider.key_env) is not None,
                    "key_in": place_of_key(provider.key_env),
                    "has_batches": provider.has_batches,
                    "promises_schema": provider.promises_schema,
                }
                for provider in providers
            ]
        )
    elif table_format == "csv":
        print_table(table_for_csv([*_KEYS, *_ADDRESSES[1:]], providers), "csv")
    else:
        print_table(table_for_readers(_KEYS, providers), table_format)
        print_table(table_for_readers(_ADDRESSES, providers), table_format)


@options.command
def rewrite(
    *,
    how: Annotated[str, argument(type=click.Choice(["negated", "paraphrased"]))],
    data: options.Data,
    model: options.Model,
    output: Annotated[Path | None, options.output("FILE", "File to write; ends in .jsonl.")],
    limit: options.Limit,
    ids: options.Ids,
    seed: options.Seed,
    overwrite: Annotated[bool, option("--overwrite", "Replace the file if it exists.")],
    asking: Asking,
) -> int:
    """Let a model negate or paraphrase the hypotheses, for 'controls'.

    Each line of the file has an instance's id, the new hypothesis and the original:
    check them before you use them. Hypotheses that could not be rewritten are
    listed, and missing from the file; add them by hand, since 'controls' needs all
    of them.

    \b
    Example: evidencebench llm rewrite negated --data train \\
               --model openai/gpt-4o-mini -o negated.jsonl --max-cost-usd 0.10
             evidencebench controls cues --data train \\
               --control negated=negated.jsonl
    """
    own = {query.instance_id: query.hypothesis for query in options.open_part(data, ids).queries(limit)}
    if asking.estimate:
        return print_estimate(
            asking,
            lambda client, shown: (
                rewrite_all(asker_from(model, seed=seed, client=client), own, how, on_progress=shown).rehearsal
            ),
        )
    if output is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    if output.suffix != ".jsonl":
        raise DataError(f"{output}: expected the suffix .jsonl, in which hypotheses are written, got '{output.suffix}'")
    refuse_existing(output, overwrite=overwrite)
    with opened_client(asking, "asking", asks=True) as (client, waiting, shown):
        rewritten = rewrite_all(
            asker_from(model, seed=seed, client=client), own, how, waiting=waiting, on_progress=shown
        )
    tell_asked(client)
    write_hypotheses(output, rewritten.hypotheses, own)
    for instance_id, why in rewritten.failures.items():
        click.echo(f"{instance_id}: {printable(why)}", err=True)
    lacking = f"; {len(rewritten.failures)} of {len(own)} are missing" if rewritten.failures else ""
    line = f"{output}: {counted(len(rewritten.hypotheses), 'hypothesis', 'hypotheses')}{lacking}"
    fields = {"how": how, "failures": rewritten.failures, **totals_fields(client)}
    tell_written(output, fields, line, as_json=asking.as_json)
    return 1 if rewritten.failures else 0


@options.command
def show(
    *,
    run: Annotated[Path, argument()],
    instance_id: Annotated[str, argument("ID")],
    data: Annotated[str | None, option("-d, --data D", "The run's data, if it has moved.")],
    tasks: options.Tasks,
    epoch: Annotated[int, options.number("--epoch N", "Which epoch of a run that has several.")] = 1,
    as_json: options.AsJson,
) -> None:
    """Show the prompts for an instance, and the model's replies.

    The prompts are rebuilt from the run's header and its data; the replies are read
    from this machine's cache (see 'cache'). Nothing is sent.

    \b
    Example: evidencebench llm show mini.jsonl evidencebench_train_id_7
    """
    answers = read_run(run)
    if epoch > len(answers.epochs):
        raise click.UsageError(f"--epoch: expected up to {len(answers.epochs)}, the epochs of {run}, got {epoch}")
    answers = answers.epochs[epoch - 1]
    dataset = data_of(answers, data)
    folder = cache_folder(os.environ)
    with stored_replies(folder) as cache:
        exchanges = exchanges_of(answers, dataset, instance_id, cache=cache, tasks=tasks)
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
    where = "EVIDENCEBENCH_CACHE is 'off', so no replies are stored" if folder is None else str(folder / FILE_NAME)
    changed = [f"{name} was {then[:12]}, now {now[:12]}" for name, (then, now) in changed_since(run).items()]
    why = (
        f"the prompts or options have changed since the run was made ({'; '.join(changed)})"
        if changed
        else "it was removed, is damaged, is in another EVIDENCEBENCH_CACHE, or the request failed"
    )
    key = missing[0].replayed.request.key[:12]
    return (
        f"{where}: expected the reply to {counted(len(missing), 'request')} above, such as {key}, got none; {why}; "
        "requests after it cannot be shown"
    )


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
    yield f"--- reply ({reply.finish}; {reply_facts(reply, cost_usd)})"
    yield _printable_lines(reply.text)
    yield ""


def _printable_lines(text: str) -> str:
    """Return text without characters that could control a terminal; its line ends are kept."""
    return "\n".join(map(printable, text.split("\n")))


command: LazyGroup = LazyGroup(
    "llm",
    package=__name__,
    lines={"serve-fake": "Serve a fake language model, for tests."},
    commands=[examples, providers, rewrite, show],
    help="""List providers, show prompts and replies, serve a fake model.

Also draw examples for prompts, and rewrite hypotheses. To ask a model, run a
strategy: evidencebench run llm_base:model=openai/NAME
""",
)
