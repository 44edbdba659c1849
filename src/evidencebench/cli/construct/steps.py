"""The commands of the steps, made from the table at the end, and what they share with ``run`` and ``status``."""

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from evidencebench.cli import options
from evidencebench.cli.asking import Asking, asking_options, opened_client, print_estimate, tell_asked
from evidencebench.cli.output import print_cautions, print_json, print_prose, print_table, progress
from evidencebench.construction.draft import input_of, open_drafts, output_of, set_aside
from evidencebench.construction.harvest.papers import PaperFolder
from evidencebench.construction.judge import JudgeSettings, WindowAgreement, judge_step, windows_agree
from evidencebench.construction.losses import LEAST_COVERED, filter_drafts, loss_table, losses_of
from evidencebench.construction.step import ModelStep, StepReport, run_step
from evidencebench.construction.writing import ASPECTS, HYPOTHESES, LABEL_RESULTS, SUMMARIES
from evidencebench.execution.asking import Rehearsal, rehearsal_of
from evidencebench.execution.rewriting import asker_from
from evidencebench.models.llm.client import ChatClient
from evidencebench.tables import Cell, Table, printable
from evidencebench.wording import counted

_MOST_FAILURES = 5

# Not from `pipeline`: its import takes as long as all others.
_PLAIN_STEPS = {step.name: step for step in (SUMMARIES, HYPOTHESES, ASPECTS, LABEL_RESULTS)}

_MakeStep = Callable[[ChatClient | None], ModelStep]


_work_folder = click.argument("folder", type=options.EXISTING_FOLDER, metavar="WORK")
_overwrite = options.overwrite("Make the file anew where it exists.")


def _command(
    name: str, text: str, *own: Callable[[Any], Any], prepare: Callable[..., _MakeStep] | None = None
) -> click.Command:
    """Return a step's command; ``prepare`` gets the values of its ``own`` options before anything is asked."""

    @_work_folder
    @options.model
    @options.number("--limit", help="Only so many drafts, of all reviews: a pilot.")
    @_overwrite
    @click.option("--drop-failed", is_flag=True, help="Drop a draft whose request failed for good.")
    @asking_options()
    @click.pass_context
    def run(
        ctx: click.Context,
        /,
        *,
        folder: Path,
        model: str,
        limit: int | None,
        overwrite: bool,
        drop_failed: bool,
        asking: Asking,
        **values: Any,
    ) -> None:
        make_step = (lambda _: _PLAIN_STEPS[name]) if prepare is None else prepare(**values)
        source, output = open_drafts(input_of(name, folder)), output_of(name, folder)

        def step(client: ChatClient | None, path: Path, **how: Any) -> StepReport:
            return run_step(make_step(client), source, path, asker=asker_from(model, client=client), limit=limit, **how)

        if asking.estimate:

            def rehearse(client: ChatClient, on_progress: Callable[[int, int], None]) -> Rehearsal:
                with tempfile.TemporaryDirectory() as scratch:
                    report = step(client, Path(scratch) / "drafts.jsonl", on_progress=on_progress)
                return rehearsal_of(report.n_drafts, report.failures)

            ctx.exit(1 if print_estimate(asking, rehearse) else 0)
        with opened_client(asking, name, asks=True) as (client, waiting, shown):
            make_room([output] if overwrite else [])
            report = step(client, output, waiting=waiting, drops_failed=drop_failed, on_progress=shown)
        tell_asked(client)
        more: dict[str, Any] = {} if client is None else {"asked": client.totals.fields()}
        agreement = agreement_in(folder) if name == "judge" else {}
        more |= agreement_fields(agreement) if agreement else {}
        _print_report(report, output, as_json=asking.as_json, more=more)
        print_agreement(agreement, as_json=asking.as_json)
        ctx.exit(1 if report.failures else 0)

    for option in reversed(own):
        run = option(run)
    return click.command(name=name, help=text)(run)


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


def make_room(paths: Iterable[Path]) -> None:
    """Take away files of drafts, so that they are made anew, and say which are kept since they were edited by hand."""
    for path in paths:
        if (kept := set_aside(path)) is not None:
            print_cautions([f"{path}: was edited by hand; what was there is kept as {kept}"])


def agreement_in(work: Path) -> dict[str, WindowAgreement]:
    """Return how often two windows agree on a sentence, by model; empty where nothing is judged yet."""
    path = output_of("judge", work)
    if not path.is_file():
        return {}
    file = open_drafts(path, must_be_finished=False)
    return windows_agree(file[draft_id] for draft_id in file.offsets)


def agreement_fields(by_model: Mapping[str, WindowAgreement]) -> dict[str, Any]:
    """Return the agreement as a program reads it."""
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


def print_failures(failures: Mapping[str, str]) -> None:
    """Print the first of the drafts that failed, with the reason, on standard error."""
    for draft_id, why in list(failures.items())[:_MOST_FAILURES]:
        click.echo(f"{printable(draft_id)}: {printable(why)}", err=True)


def _judge(
    *, papers: Path, window: int, overlap: int, at_once: bool, votes: int, second_model: str | None
) -> _MakeStep:
    if overlap >= window:
        raise click.UsageError(f"--overlap: expected less than the window of {window}, got {overlap}")
    settings = JudgeSettings(window=window, overlap=overlap, at_once=at_once, votes=votes)
    folder = PaperFolder(papers)

    def make(client: ChatClient | None) -> ModelStep:
        second = None if second_model is None else asker_from(second_model, client=client)
        return judge_step(settings, folder, second=second)

    return make


@click.command(name="filter")
@_work_folder
@click.option(
    "--least-covered",
    type=options.Finite(0, 1),
    metavar="SHARE",
    default=LEAST_COVERED,
    show_default=True,
    help="Of a draft's aspects that must have a source sentence.",
)
@_overwrite
@options.as_json
@options.progress_style
def _filter(*, folder: Path, least_covered: float, overwrite: bool, as_json: bool, progress_style: str) -> None:
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
        print_json({"output": str(path), **losses.fields()})
    else:
        print_table(loss_table([losses]))
        click.echo(str(path))


_COMMANDS = (
    _command(
        "summaries",
        """Delimit passages, and keep those that report results.

        Reads WORK/passages.jsonl, writes WORK/summaries.jsonl. A model says which
        sentences are about the paper, then whether they report a result of it.

        \b
        Example: evidencebench construct summaries work \\
                   --model openai/gpt-4o-mini --max-cost-usd 1
        """,
    ),
    _command(
        "hypotheses",
        """Write the hypothesis that each summary is evidence on.

        Reads WORK/summaries.jsonl, writes WORK/hypotheses.jsonl. A model says why
        the evidence was extracted, then trims that to the central question. It must
        be one sentence of 5 to 50 words that gives no number or finding away.

        \b
        Example: evidencebench construct hypotheses work \\
                   --model openai/gpt-4o-mini --max-cost-usd 1
        """,
    ),
    _command(
        "aspects",
        """Split each summary into aspects, and verify them.

        Reads WORK/hypotheses.jsonl, writes WORK/aspects.jsonl. One sentence of a
        paper can match an aspect, and no aspect says more than the summary.

        \b
        Example: evidencebench construct aspects work \\
                   --model openai/gpt-4o-mini --max-cost-usd 1
        """,
    ),
    _command(
        "judge",
        """Judge which sentences of each paper hold which aspects.

        Reads WORK/aspects.jsonl, writes WORK/judgments.jsonl. Sentences are judged in
        windows that overlap, so that nearly every one is judged twice; it holds the
        aspect if either window says so. Both votes are kept.

        \b
        Example: evidencebench construct judge work --papers papers \\
                   --model openai/gpt-4o-mini --batch --max-cost-usd 20
        """,
        click.option("--papers", required=True, type=options.EXISTING_FOLDER, metavar="FOLDER", help="The papers."),
        options.number("--window", default=10, help="Sentences judged together."),
        options.number("--overlap", least=0, default=5, help="Of them, shown again in the next window."),
        click.option("--at-once", is_flag=True, help="Ask for all aspects of a summary in one request."),
        options.number("--votes", default=1, help="Times that each window is asked; the majority decides."),
        click.option("--second-model", metavar="MODEL", help="Decides where windows of the first disagree."),
        prepare=_judge,
    ),
    _command(
        "label-results",
        """Say which aspects are results.

        Reads WORK/judgments.jsonl, writes WORK/results.jsonl.

        \b
        Example: evidencebench construct label-results work \\
                   --model openai/gpt-4o-mini --max-cost-usd 1
        """,
    ),
    _filter,
)

COMMANDS: Mapping[str | None, click.Command] = {command.name: command for command in _COMMANDS}
"""Step -> its command."""
