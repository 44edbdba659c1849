"""The commands of the steps, of all of them, and of where they stand."""

import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec

from evidencebench.cli import options
from evidencebench.cli.asking import Asking, opened_client, print_estimate, tell_asked, totals_fields
from evidencebench.cli.options import argument, number, option
from evidencebench.cli.output import print_cautions, print_json, print_prose, print_table, progress
from evidencebench.construction.config import JudgeTable, read_config
from evidencebench.construction.draft import STEP_FILES, input_of, open_drafts, output_of, set_aside
from evidencebench.construction.judge import WindowAgreement, windows_agree
from evidencebench.construction.losses import LEAST_COVERED, filter_drafts, loss_table, losses_of
from evidencebench.construction.pipeline import MODEL_STEPS, Constructed, construct, construction_status, model_step
from evidencebench.construction.step import StepReport, run_step, step_asker
from evidencebench.execution.asking import Rehearsal, rehearsal_of
from evidencebench.models.llm.client import ChatClient
from evidencebench.tables import Cell, Table, printable
from evidencebench.wording import counted

_MOST_FAILURES = 5

_WorkFolder = Annotated[Path, argument("WORK", kind=options.EXISTING_FOLDER)]
_Overwrite = Annotated[bool, option("--overwrite", "Make the file anew where it exists.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOptions:
    folder: _WorkFolder
    model: options.Model
    limit: Annotated[int | None, number("--limit N", "Only N drafts, spread over all reviews: a pilot.")]
    overwrite: _Overwrite
    drop_failed: Annotated[bool, option("--drop-failed", "Drop a draft whose request failed in all attempts.")]
    asking: Asking

    def run(self, name: str, judge: JudgeTable | None = None, papers: Path = Path()) -> int:
        asking, output = self.asking, output_of(name, self.folder)
        source = open_drafts(input_of(name, self.folder))

        def step(client: ChatClient | None, path: Path, **how: Any) -> StepReport:
            asker = step_asker(self.model, client=client)
            made_step = model_step(name, judge or JudgeTable(), papers, client)
            return run_step(made_step, source, path, asker=asker, limit=self.limit, **how)

        if asking.estimate:

            def rehearse(client: ChatClient, on_progress: Callable[[int, int], None]) -> Rehearsal:
                with tempfile.TemporaryDirectory() as scratch:
                    report = step(client, Path(scratch) / "drafts.jsonl", on_progress=on_progress)
                return rehearsal_of(report.n_drafts, report.failures.items())

            return print_estimate(asking, rehearse)
        with opened_client(asking, name, asks=True) as (client, waiting, shown):
            make_room([output] if self.overwrite else [])
            report = step(client, output, waiting=waiting, drops_failed=self.drop_failed, on_progress=shown)
        tell_asked(client)
        agreement = agreement_in(self.folder) if name == "judge" else {}
        more = totals_fields(client) | (agreement_fields(agreement) if agreement else {})
        _print_report(report, output, as_json=asking.as_json, more=more)
        print_agreement(agreement, as_json=asking.as_json)
        return 1 if report.failures else 0


def _print_report(report: StepReport, output: Path, *, as_json: bool, more: dict[str, Any]) -> None:
    print_failures(report.failures)
    if as_json:
        print_json({"output": str(output), **report.fields(), **more})
        return
    rows: list[list[Cell]] = [["kept", report.n_kept]]
    rows += [[f"dropped: {reason}", n] for reason, n in report.dropped.most_common()]
    if report.failures:
        rows.append(["failed, to be asked again", len(report.failures)])
    print_table(Table(columns=[report.step, counted(report.n_drafts, "draft")], rows=rows))
    click.echo(f"{output}{'' if report.is_finished else ': not finished; run again'}")


def agreement_in(work: Path) -> dict[str, WindowAgreement]:
    """Return how often two windows agree on a sentence, by model; empty where nothing is judged yet."""
    path = output_of("judge", work)
    if not path.is_file():
        return {}
    file = open_drafts(path, must_be_finished=False)
    return windows_agree(file[draft_id] for draft_id in file.offsets)


def agreement_fields(by_model: Mapping[str, WindowAgreement]) -> dict[str, Any]:
    fields = {
        model: {"n": pair.pairs.total(), "agree": pair.share, "kappa": pair.kappa, "n_unread": pair.n_unread}
        for model, pair in by_model.items()
    }
    return {"windows_agree": fields}


def print_agreement(by_model: Mapping[str, WindowAgreement], *, as_json: bool) -> None:
    """Print the agreement, unless what is printed is JSON, and warn of models whose windows do not agree."""
    for model, windows in by_model.items():
        if not as_json:
            print_prose(printable(f"{model}: {windows.text}."))
    print_cautions(f"{model}: {windows.warning}" for model, windows in by_model.items() if windows.warning)


def make_room(paths: Iterable[Path]) -> None:
    """Take away files of drafts, so that they are made anew, and say which are kept since they were edited by hand."""
    for path in paths:
        if (kept := set_aside(path)) is not None:
            print_cautions([f"{path}: was edited by hand; what was there is kept as {kept}"])


def print_failures(failures: Mapping[str, str]) -> None:
    for draft_id, why in list(failures.items())[:_MOST_FAILURES]:
        click.echo(f"{printable(draft_id)}: {printable(why)}", err=True)


@options.command
def summaries(step: StepOptions) -> int:
    """Delimit passages, and keep those that report results.

    Reads WORK/passages.jsonl, writes WORK/summaries.jsonl. A model says which
    sentences are about the paper, then whether they report a result of it.

    \b
    Example: evidencebench construct summaries work --model openai/NAME
    """
    return step.run("summaries")


@options.command
def hypotheses(step: StepOptions) -> int:
    """Write the hypothesis that each summary is evidence on.

    Reads WORK/summaries.jsonl, writes WORK/hypotheses.jsonl. A model says why
    the evidence was extracted, then trims that to the central question. It must
    be one sentence of 5 to 50 words that gives no number or finding away.

    \b
    Example: evidencebench construct hypotheses work --model openai/NAME
    """
    return step.run("hypotheses")


@options.command
def aspects(step: StepOptions) -> int:
    """Split each summary into aspects, and verify them.

    Reads WORK/hypotheses.jsonl, writes WORK/aspects.jsonl. One sentence of a
    paper can match an aspect, and no aspect says more than the summary.

    \b
    Example: evidencebench construct aspects work --model openai/NAME
    """
    return step.run("aspects")


@options.command
def judge(
    *,
    papers: Annotated[Path, option("--papers FOLDER", "The papers.", options.EXISTING_FOLDER)],
    window: Annotated[int, number("--window N", "Sentences judged together.")] = 10,
    overlap: Annotated[int, number("--overlap N", "Sentences shared by neighbouring windows.", least=0)] = 5,
    at_once: Annotated[bool, option("--at-once", "Ask for all aspects of a summary in one request.")],
    votes: Annotated[int, number("--votes N", "Times that each window is asked; the majority decides.")] = 1,
    second_model: Annotated[str | None, option("--second-model MODEL", "Decides where windows of the first disagree.")],
    step: StepOptions,
) -> int:
    """Judge which sentences of each paper hold which aspects.

    Reads WORK/aspects.jsonl, writes WORK/judgments.jsonl. Sentences are judged in
    windows that overlap, so that nearly every one is judged twice; it holds the
    aspect if either window says so. Both votes are kept.

    \b
    Example: evidencebench construct judge work --papers papers \\
               --model openai/gpt-4o-mini --batch --max-cost-usd 20
    """
    table = JudgeTable(window=window, overlap=overlap, at_once=at_once, votes=votes, second_model=second_model)
    return step.run("judge", table, papers)


@options.command
def label_results(step: StepOptions) -> int:
    """Say which aspects are results.

    Reads WORK/judgments.jsonl, writes WORK/results.jsonl.

    \b
    Example: evidencebench construct label-results work --model openai/NAME
    """
    return step.run("label-results")


@options.command
def filter_(
    *,
    folder: _WorkFolder,
    least_covered: Annotated[
        float, option("--least-covered SHARE", "Of a draft's aspects, with a source sentence.", options.Finite(0, 1))
    ] = LEAST_COVERED,
    overwrite: _Overwrite,
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> None:
    """Drop drafts of which too few aspects have a source sentence.

    Reads WORK/results.jsonl, writes WORK/filtered.jsonl. Drafts that are dropped
    stay in the file, with the reason.

    \b
    Example: evidencebench construct filter work
    """
    path = output_of("filter", folder)
    make_room([path] if overwrite else [])
    with progress("filtering", progress_style) as on_progress:
        source = open_drafts(input_of("filter", folder))
        losses = losses_of(filter_drafts(source, path, least_covered=least_covered, on_progress=on_progress))
    if as_json:
        print_json({"output": str(path), **msgspec.to_builtins(losses)})
    else:
        print_table(loss_table([losses]))
        click.echo(str(path))


@options.command
def run(
    *,
    path: Annotated[Path, argument("CONFIG.toml", kind=options.EXISTING_FILE)],
    limit: Annotated[int | None, options.number("--limit N", "Only N drafts in each step that asks a model: a pilot.")],
    until: Annotated[str | None, option("--until STEP", "Stop after this step.", click.Choice(MODEL_STEPS))],
    overwrite: Annotated[bool, option("--overwrite", "Redo what is stale; stored replies cost nothing.")],
    first: Annotated[
        str | None,
        option(
            "--from STEP", "Redo this step and all later ones; edited files are kept.", click.Choice(list(STEP_FILES))
        ),
    ],
    drop_failed: Annotated[bool, option("--drop-failed", "Drop drafts whose request failed in all attempts.")],
    place: options.WorkPlaceChoice,
    asking: Asking,
) -> int:
    """Run all steps, and make the data set.

    CONFIG.toml names reviews, papers and models; see docs/construction.md. After
    Ctrl-C, a cost limit or a failed server, run it again to resume. Exit code 1: a
    review could not be read, or drafts failed and are asked again by the next run.
    --jobs and --engine are for the last step.

    \b
    Example: evidencebench construct run construction.toml --max-cost-usd 20
    """
    if asking.estimate:
        raise click.UsageError("--estimate: use 'evidencebench construct estimate'")
    config = read_config(path)
    with opened_client(asking, "constructing", asks=True) as (client, waiting, shown):
        assert client is not None
        if first is not None:
            make_room(output_of(step, config.work) for step in list(STEP_FILES)[list(STEP_FILES).index(first) :])
        made = construct(
            config,
            client=client,
            waiting=waiting,
            today=date.today(),  # noqa: DTZ011 - the user's day
            limit=limit,
            until=until,
            overwrite=overwrite or first is not None,
            drops_failed=drop_failed,
            **place,
            on_progress=shown,
        )
    tell_asked(client)
    agreement = agreement_in(config.work)
    _tell(made, asking, {"asked": client.totals.fields()} | agreement_fields(agreement))
    print_agreement(agreement, as_json=asking.as_json)
    is_proven = made.dataset is None or not made.dataset.unproven
    return 1 if made.n_failures or made.unreadable or not is_proven else 0


def _tell(made: Constructed, asking: Asking, more: dict[str, Any]) -> None:
    print_cautions(made.unreadable, "error")
    print_failures({draft_id: why for step in made.steps for draft_id, why in step.failures.items()})
    if made.n_failures:
        click.echo(f"{counted(made.n_failures, 'draft')} failed; run again to ask for them again", err=True)
    dataset = made.dataset
    if asking.as_json:
        steps = [step.fields() for step in made.steps]
        print_json({"unreadable": made.unreadable, "steps": steps, "dataset": dataset, **more})
    elif dataset is not None:
        print_cautions(dataset.warnings)
        print_table(loss_table(dataset.steps))
        splits = ", ".join(f"{name} {split.n_instances:,}" for name, split in dataset.splits.items())
        click.echo(f"{dataset.folder}: {counted(dataset.n_instances, 'instance')} ({splits})")
    else:
        for step in made.steps:
            click.echo(f"{step.step}: {step.n_kept:,} kept of {counted(step.n_drafts, 'draft')}")


@options.command
def status(*, folder: _WorkFolder, as_json: options.AsJson) -> None:
    """Say where a construction stands.

    WORK, the work folder, is only read, also while a step runs.

    \b
    Example: evidencebench construct status work
    """
    status, agreement = construction_status(folder), agreement_in(folder)
    if as_json:
        print_json({**msgspec.to_builtins(status), **agreement_fields(agreement)})
        print_agreement(agreement, as_json=True)
        return
    rows: list[list[Cell]] = []
    for step in status.steps:
        given = "?" if step.n_drafts is None else f"{step.n_drafts:,}"
        state = f"stale: {step.stale}" if step.stale else "done" if step.is_finished else "not finished"
        state += f"; {step.n_edited:,} edited by hand" if step.n_edited else ""
        rows.append([step.step, f"{step.n_done:,} of {given}", step.n_done - step.n_kept, step.n_kept, state])
    print_table(Table(columns=["step", "drafts", "dropped", "kept", ""], rows=rows))
    if status.next_step is None:
        click.echo(f"{folder / 'dataset'}: made")
    else:
        is_stale = any(step.stale for step in status.steps if step.step == status.next_step)
        how = ", again: 'construct run CONFIG.toml --overwrite' makes what is stale, and keeps what was edited"
        click.echo(f"next: {status.next_step}{how if is_stale else ''}")
    print_agreement(agreement, as_json=False)


STEP_COMMANDS = [summaries, hypotheses, aspects, judge, label_results, filter_]
