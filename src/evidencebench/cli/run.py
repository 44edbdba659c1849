"""``evidencebench run``."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import click

from evidencebench.cli import options
from evidencebench.cli.asking import Asking, opened_client, print_estimate, require_model, totals_fields
from evidencebench.cli.llm import print_exchanges
from evidencebench.cli.main import EXIT_STOPPED, print_trace
from evidencebench.cli.options import number, option
from evidencebench.cli.output import print_json, print_prose, print_warnings, require_file
from evidencebench.execution.exchanges import first_requests
from evidencebench.execution.making import asks_model
from evidencebench.execution.run import RunReport, execute, rehearse
from evidencebench.models.llm.costs import RunningTotals
from evidencebench.runs.header import MOST_EPOCHS, QueryControl
from evidencebench.scoring.score_runs import has_labels
from evidencebench.scoring.significance import SPENT, notes_line
from evidencebench.wording import counted


@options.command
def run(
    *,
    system: options.System,
    data: options.Data,
    tasks: options.Tasks,
    output: Annotated[Path | None, options.output("RUN", "The run file.")],
    limit: options.Limit,
    ids: options.Ids,
    place: options.WorkPlaceChoice,
    control: Annotated[QueryControl | None, options.control_option("Change each query; see 'controls --help'.")],
    seed: options.Seed,
    epochs: Annotated[
        int, number("--epochs N", "Ask each instance N times; its score is the mean.", most=MOST_EPOCHS)
    ] = 1,
    overwrite: Annotated[bool, option("--overwrite", "Start over if RUN exists; default: resume.")],
    retry_failed: Annotated[bool, option("--retry-failed", "Ask again for answers that failed.")],
    fail_fast: Annotated[bool, option("--fail-fast", "Stop at the first failed answer; the next run asks again.")],
    max_errors: options.MaxErrors,
    show_prompt: Annotated[bool, option("--show-prompt", "Print the first prompt of one instance; send nothing.")],
    asking: Asking,
) -> int:
    """Run SYSTEM on a data set and write a run file.

    SYSTEM is a name from 'evidencebench systems' with options, as in
    bm25:k1=1.2,b=0.75; your own code, as file.py:name or package.module:name; or
    a program, as exec:./my-program (see docs/systems.md). Each answer is saved at
    once: after an interruption, run the same command again to resume.

    \b
    Examples:
      evidencebench run bm25 --data sample -o bm25.jsonl
      evidencebench run my_systems.py:MySystem --data train -o mine.jsonl -j 2
      evidencebench run llm_base:model=openai/gpt-4o-mini --data train --estimate
    """
    dataset = options.open_part(data, ids)
    what: dict[str, Any] = {"tasks": tasks, "limit": limit, "seed": seed, "epochs": epochs, "control": control}
    asks = asks_model(system)
    require_model(asking, asks=asks)
    if show_prompt and not asks:
        raise click.UsageError("--show-prompt is for systems that ask a language model")
    if show_prompt:
        print_exchanges(first_requests(system, dataset, tasks, seed=seed, control=control), as_json=asking.as_json)
        return 0
    if asking.estimate:
        return print_estimate(
            asking, lambda client, shown: rehearse(system, dataset, client=client, on_progress=shown, **what)
        )
    if output is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    require_file(output, "cannot be resumed after an interruption")
    if output.suffix == ".parquet":
        raise click.UsageError(
            f"{output}: runs are written as JSON Lines, which can be resumed; expected a name such as "
            f"{output.with_suffix('.jsonl')}, of which 'evidencebench export run' makes Parquet"
        )
    with opened_client(asking, system, asks=asks) as (client, waiting, shown):
        report = execute(
            system,
            dataset,
            output,
            **what,
            **place,
            overwrite=overwrite,
            retry_failed=retry_failed,
            fail_fast=fail_fast,
            max_errors=max_errors,
            client=client,
            max_waiting=waiting.max_waiting,
            settle=waiting.settle,
            on_interrupt=waiting.on_interrupt,
            on_progress=shown,
        )
    print_trace(report.first_trace)
    if asking.as_json:
        odd = [row.fields() for row in report.warnings]
        print_json({"run": str(output), **asdict(report), "warnings": odd, **totals_fields(client)})
    else:
        totals, first_id = client.totals if client else None, next(iter(dataset.ids), "")
        _print(output, data, report, totals, is_labelled=has_labels(dataset), first_id=first_id)
    return EXIT_STOPPED if report.n_unanswered else 1 if report.n_failed else 0


_COSTS = {*SPENT, "reasoning_tokens"}


def _print(
    output: Path, data: str, report: RunReport, totals: RunningTotals | None, *, is_labelled: bool, first_id: str
) -> None:
    resumed = f", {report.n_resumed} of them from earlier" if report.n_resumed else ""
    n_instances, n_failed = counted(report.n_instances, "instance"), counted(report.n_failed, "answer")
    if report.epochs > 1:
        n_instances += f" in {report.epochs} epochs, {report.n_instances * report.epochs:,} in all"
    click.echo(f"{output}: {n_instances}{resumed}; {n_failed} failed")
    if totals is not None:
        click.echo(f"  asked: {totals.dated_summary()}", err=True)
    # The line "asked" says what was spent. The notes would count a reply that serves several tasks for each of them.
    if notes := {name: count for name, count in report.notes.items() if name not in _COSTS}:
        print_prose(notes_line(notes), "  ", "  ", err=True)
    print_warnings(report.warnings)
    failed = [row for row in report.warnings if row.kind.startswith("failed: ")]
    has_answer = sum(row.n for row in failed) < max((row.n_all for row in failed), default=1)
    kind = "" if has_answer else failed[0].kind
    if report.first_error and kind not in _REMEDIES:
        again = "asks again"
        if report.first_trace is not None:
            again += ";\n  if you edit your code, start over with --overwrite"
        elif totals is not None:
            other = "a larger max_tokens" if "reply_truncated" in report.notes else "another --seed"
            again += " where no reply came;\n  stored replies are read again at no cost: for new replies, run "
            again += f"with {other} into\n  another file"
        click.echo(f"  failed answers score 0 and are counted; --retry-failed {again}", err=True)
    if report.n_unanswered:
        left = f"{counted(report.n_unanswered, 'instance')} {'is' if report.n_unanswered == 1 else 'are'} unanswered"
        click.echo(f"  {left}; run the same command again to resume", err=True)
    doing = "score" if is_labelled else "view"
    score, show = [doing, str(output), "--data", data], ["llm", "show", str(output), first_id]
    command = shlex.join(["evidencebench", *(show if kind in _OF_REPLIES else score)])
    click.echo(f"next: {_REMEDIES.get(kind, command)}")


# What to do where no answer came, by the kind of the failures; of replies, look at one.
_OF_REPLIES = {"failed: refused", "failed: cut", "failed: unreadable"}
_REMEDIES = {
    "failed: own code": "correct the error above, then run the same command with --overwrite",
    "failed: server": "see that the server answers, then run the same command with --retry-failed",
    "failed: other": "correct the error above, then run the same command with --retry-failed",
}
