"""``evidencebench audit``: find out which misses of a run are not its own fault."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import click
import msgspec

from evidencebench.cli import options
from evidencebench.cli.main import LazyGroup
from evidencebench.cli.options import PageServing, argument, option
from evidencebench.cli.output import print_cautions, print_json, print_prose, print_table, refuse_existing
from evidencebench.construction.audit import AuditorPair, AuditReport, audit_report, sample_misses
from evidencebench.construction.people.tasks import read_misses, write_misses
from evidencebench.data.dataset import open_dataset
from evidencebench.data.tasks import TASKS
from evidencebench.scoring.resampling import Estimate, Proportion
from evidencebench.tables import Cell, Column, Table, printable, table_for_readers
from evidencebench.wording import counted, first_few


@options.command
def sample(
    *,
    run: Annotated[Path, argument()],
    data: options.Data,
    tasks: options.Tasks,
    n_misses: Annotated[int, options.number("-n N", "Number of misses to draw.")] = 50,
    seed: options.Seed,
    rules: options.RulesChoice,
    output: Annotated[Path, options.output("FILE", "The misses, as JSON Lines.")],
    overwrite: Annotated[bool, option("--overwrite", "Replace the file if it exists.")],
    as_json: options.AsJson,
) -> None:
    """Draw misses of RUN for people to judge.

    A miss is an aspect that counts in the task (default: er_at_optimal) and that
    some sentence covers, but no selected one. Misses that cost more of the score
    are more likely to be drawn; draws are spread over papers.

    \b
    Examples:
      evidencebench audit sample bm25.jsonl --data dev -o misses.jsonl
      evidencebench audit sample llm.jsonl -d test -t er_at_10 -n 100 -o m.jsonl
    """
    if len(tasks) > 1:
        raise click.UsageError("expected one --task: misses are those of one task")
    refuse_existing(output, overwrite=overwrite, no_stream="cannot be read by 'audit review'")
    task = tasks[0] if tasks else TASKS["er_at_optimal"]
    header, misses = sample_misses(run, open_dataset(data), task, n=n_misses, seed=seed, rules=rules)
    write_misses(output, header, misses)
    has_texts = all(miss.aspect for miss in misses)
    if not has_texts:
        print_cautions(["the data has no texts of aspects, so auditors see only their source sentences"])
    if as_json:
        print_json({"output": str(output), "n_drawn": len(misses), "has_texts": has_texts, "header": header})
        return
    recall = f"aspect recall is {100 * header.score:.1f} on {header.task}"
    lost = f"which cost {100 * header.loss:.1f} points of recall; {recall}"
    print_prose(f"{output}: {counted(len(misses), 'miss', 'misses')} of {header.n_misses:,}, {lost}")
    if n_limited := sum(bool(miss.limit) for miss in misses):
        print_prose(f"{n_limited:,} of them no selection of that size can avoid; auditors see a note")
    click.echo(f"next: evidencebench audit review {output} --folder audit")


@options.command
def review(
    *,
    misses: Annotated[Path, argument()],
    folder: Annotated[Path, option("--folder", "Folder for the verdicts; created if missing.", options.FOLDER)],
    serving: PageServing,
) -> None:
    """Let people name the cause of each miss in a browser.

    MISSES is what 'audit sample' wrote. People sign in with a name, see the
    hypothesis, the missed aspect and the paper with its evidence and the selected
    sentences marked, and choose a cause with mouse or keyboard. Every choice is
    saved at once and can be changed.

    \b
    Example: evidencebench audit review misses.jsonl --folder audit --open
    """
    misses_file = read_misses(misses)
    with serving.listening("audit review") as (address, serve):
        from evidencebench.pages.people.audits import audit_tasks  # noqa: PLC0415 - an extra

        what = f"people audit {counted(len(misses_file.records), 'miss', 'misses')} of {printable(misses.name)}"
        serve(audit_tasks(misses_file, folder).make_app(address), what)


@options.command
def report(
    *,
    misses: Annotated[Path, argument()],
    folder: Annotated[Path, option("--folder", "Folder of the verdicts from 'audit review'.", options.FOLDER)],
    run: Annotated[Path, option("--run RUN", "The run that the misses are from.")],
    data: options.Data,
    resampling: options.ResamplingChoice,
    as_json: options.AsJson,
    table_format: options.TableFormat,
) -> None:
    """Report the causes that people named, and correct the score.

    MISSES is what 'audit sample' wrote. Shares have exact intervals. In the
    corrected score, aspects whose miss is not the system's fault count as covered;
    its interval combines the sampling of misses with the bootstrap over papers.
    With several judges the majority counts; a tie is the system's fault.

    \b
    Example:
      evidencebench audit report misses.jsonl --folder audit --run bm25.jsonl \\
        --data dev
    """
    report = audit_report(read_misses(misses), folder, run, open_dataset(data), resampling)
    cautions = list(_cautions(report))
    print_cautions(cautions)
    if as_json:
        print_json({**msgspec.structs.asdict(report), "level": resampling.level, "warnings": cautions})
        return
    for table in _tables(report):
        print_table(table, table_format)
    if table_format == "text":
        print_prose(
            "not the system's fault: the share of the lost recall. corrected: aspects whose miss is not the system's "
            "fault count as covered."
        )


def _cautions(report: AuditReport) -> Iterator[str]:
    n_drawn = report.header.n_drawn
    if report.excused.n < n_drawn:
        yield f"{report.excused.n} of {n_drawn} drawn misses have a verdict; the others are assumed to be similar"
    if report.tied:
        yield (
            f"auditors are split evenly on {counted(len(report.tied), 'miss', 'misses')} {first_few(report.tied)}, "
            "which count as the system's fault; one more auditor would decide"
        )


def _tables(report: AuditReport) -> Iterator[Table]:
    rows: list[list[Cell]] = [
        [cause.cause.name, "yes" if cause.cause.is_fault else "no", *_share(cause.share), 100 * cause.points]
        for cause in report.causes
        if cause.share.k
    ]
    points = sum(cause.points for cause in report.causes if not cause.cause.is_fault)
    rows.append(["not the system's fault", "no", *_share(report.excused), 100 * points])
    auditors = ", ".join(f"{name} ({n})" for name, n in report.auditors.items())
    yield Table(
        columns=("cause", "system's fault", "misses", "share, %", "interval", "points"),
        rows=rows,
        title=f"{report.excused.n} audited misses of {report.header.n_misses:,}, by {auditors}",
        notes=(
            "points: what these misses, and those that they represent, cost in score",
            *(
                [f"{report.n_limited:,} of these misses cannot be avoided by a selection of that size"]
                if report.n_limited
                else []
            ),
        ),
    )
    if report.pairs:
        yield table_for_readers(_PAIRS, report.pairs)
    corrected = report.corrected
    named = {"aspect recall": corrected.plain, "not the system's fault": corrected.excused}
    named["aspect recall, corrected"] = corrected.covered
    scores = [(name, 100 * estimate.mean, _interval(estimate)) for name, estimate in named.items()]
    title = f"{report.header.system} on {report.header.task}, {counted(report.header.n_instances, 'instance')}"
    yield Table(columns=("", "%", "interval"), rows=scores, title=title)


def _share(share: Proportion) -> tuple[Cell, Cell, Cell]:
    return f"{share.k} of {share.n}", 100 * share.share, f"[{100 * share.low:.1f}, {100 * share.high:.1f}]"


_PAIRS: list[Column[AuditorPair]] = [
    Column("", "auditors", lambda pair: f"{pair.first}, {pair.second}"),
    Column("", "both judged", lambda pair: pair.n_both),
    Column("", "same cause", lambda pair: pair.n_same_cause),
    Column(
        "", "kappa, system's fault", lambda pair: "undefined" if pair.kappa_fault is None else f"{pair.kappa_fault:.2f}"
    ),
]


def _interval(estimate: Estimate) -> str:
    ends = estimate.interval
    return f"{estimate.alone}: none" if ends is None else f"[{100 * ends[0]:.1f}, {100 * ends[1]:.1f}]"


command: LazyGroup = LazyGroup("audit", commands=[sample, review, report])
