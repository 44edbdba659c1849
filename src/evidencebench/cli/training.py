"""``evidencebench train`` and ``evidencebench crossval``."""

import shlex
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Annotated, NamedTuple

import click
import msgspec

from evidencebench.cli import options
from evidencebench.cli.asking import Asking, opened_client, print_estimate, require_model, tell_asked
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import (
    ProgressReporter,
    print_json,
    print_prose,
    print_signatures,
    print_table,
    progress,
    require_file,
)
from evidencebench.data.dataset import open_dataset
from evidencebench.data.tasks import task_named
from evidencebench.execution.asking import Rehearsal
from evidencebench.execution.making import asks_model
from evidencebench.models.llm.client import ChatClient
from evidencebench.runs.header import SeededControl, code_text
from evidencebench.scoring.output import signature
from evidencebench.scoring.resampling import Estimate
from evidencebench.scoring.significance import PairedTest, estimate_columns
from evidencebench.tables import Column, printable, table_for_csv, table_for_readers
from evidencebench.training.crossval import SystemFigures, cross_validate, is_journal
from evidencebench.training.crossval_splits import CrossValidation, make_plan, rehearse_splits, versions_before_training
from evidencebench.training.trainings import train as train_model
from evidencebench.training.trainings import trainable
from evidencebench.wording import counted

# The training data -> the data that the last line of output suggests to try the model on.
_TRIAL_DATA = {"train": "dev", "dev": "train", "test": "dev", "100k-train": "100k-test", "100k-test": "100k-train"}


@options.command
def train(
    *,
    what: Annotated[str, argument(shell_complete=options.complete_trainings)],
    data: Annotated[tuple[str, ...], options.data_option("Data file, or a catalogue name; repeatable.", required=True)],
    output: Annotated[Path, options.output("MODEL", "Folder for the model.", options.FOLDER)],
    limit: options.Limit,
    seed: options.Seed,
    overwrite: Annotated[bool, option("--overwrite", "Replace an existing model.")],
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> None:
    """Train a model on labelled data and write it to a folder.

    WHAT is finder, embedder or reranker, or your own code as file.py:Training or
    package.module:Training, with options as in finder:figures=false. The folder has
    plain files and a model card. Score a model on data that it was not trained on,
    or use 'crossval'.

    \b
    Examples:
      evidencebench train finder --data train -o my-finder
      evidencebench run finder:model=my-finder --data dev -o mine.jsonl
      evidencebench train finder --data ei.json --data train -o of-both
    """
    if str(output) == "-":
        raise click.UsageError("--output: expected a folder, which is what a model is; standard output is none")
    datasets = [open_dataset(name) for name in dict.fromkeys(data)]
    with progress(f"training {what.partition(':')[0]}", progress_style) as on_progress:
        card = train_model(what, datasets, output, limit=limit, seed=seed, overwrite=overwrite, on_progress=on_progress)
    if as_json:
        print_json({"model": str(output), "card": card})
        return
    name = ", ".join(dataset.name for dataset in datasets)
    n = sum(len(dataset.ids[:limit]) for dataset in datasets)
    click.echo(f"{output}: trained on {name}, {counted(n, 'instance')}")
    trained = trainable(what)
    spec = what if trained is None else trained.specification(output)
    other = _TRIAL_DATA.get(data[0], "OTHER_DATA")
    click.echo("  a score on the data that it was trained on says nothing about other papers")
    click.echo(f"next: {shlex.join(['evidencebench', 'run', spec, '--data', other, '-o', 'run.jsonl'])}")


@options.command
def crossval(
    *,
    system: options.System,
    data: options.Data,
    n_folds: Annotated[int, options.number("--folds N", "Number of folds, split by paper.", least=2)] = 5,
    n_seeds: Annotated[int, options.number("--seeds N", "Number of random splits into folds.", most=1000)] = 5,
    against: Annotated[
        tuple[str, ...],
        option("--against SYSTEM", "System to compare with; repeatable.", shell_complete=options.complete_systems),
    ],
    blind: Annotated[bool, option("--blind/--no-blind", "Also train without the hypothesis.")] = True,
    control: Annotated[SeededControl, option("--control", "Also ask changed queries; see 'controls'.")],
    output: Annotated[
        Path | None, options.output("RUN", "Run file with SYSTEM's answers; RUN.splits keeps finished splits.")
    ],
    overwrite: Annotated[bool, option("--overwrite", "Discard RUN and RUN.splits made with other settings.")],
    tasks: options.Tasks,
    place: options.WorkPlaceChoice,
    resampling: options.ResamplingChoice,
    asking: Asking,
    table_format: options.TableFormat,
) -> int:
    """Cross-validate SYSTEM, retraining it for each fold of papers.

    SYSTEM is what 'evidencebench train' trains, such as finder:figures=false, or
    any other system, which is scored as it is.

    No model answers a paper that it was trained or tuned on. An instance's score is
    its mean over the seeds; intervals resample papers. Also shown: the wrong
    hypothesis (or another --control), training without the hypothesis, and the
    systems of --against. With two_papers, both papers are held out from training.

    --output writes the first seed's answers as a run, to score, rank and compare.
    Language models are asked as by 'run'.

    \b
    Examples:
      evidencebench crossval finder --data train
      evidencebench crossval finder --data train --against minilm -j 2 -o f.jsonl
    """
    journal, run = None, output
    if output is not None:
        require_file(output, "cannot be resumed; leave --output out to print the table there")
        # A journal of earlier versions stays one.
        beside = output.with_name(f"{output.name}.splits")
        journal, run = (output, None) if is_journal(output) else (beside, output)
    dataset = open_dataset(data)
    what = CrossValidation(
        systems=(system, *against),
        tasks=tasks,
        n_folds=n_folds,
        n_seeds=n_seeds,
        with_blind=blind,
        control=control,
        resampling=resampling,
    )
    asks = any(trainable(spec) is None and asks_model(spec) for spec in what.systems)
    require_model(asking, asks=asks)
    if asking.estimate:

        def rehearse(client: ChatClient, shown: ProgressReporter) -> Rehearsal:
            return rehearse_splits(make_plan(what, dataset), dataset, what.asked, client=client, on_progress=shown)

        how = f" with the own and with a changed query under {counted(n_seeds, 'seed')}"
        return print_estimate(asking, rehearse, how=how)
    with opened_client(asking, system, asks=asks) as (client, waiting, shown):
        measured = cross_validate(
            what,
            dataset,
            **place,
            journal=journal,
            run=run,
            overwrite=overwrite,
            client=client,
            waiting=waiting,
            on_progress=shown,
        )
    tell_asked(client)
    n_failed = sum(figures.n_failed for figures in measured)
    if asking.as_json:
        asked = {"folds": n_folds, "seeds": n_seeds, "control": control, "run": None if run is None else str(run)}
        print_json(msgspec.to_builtins({**asked, "systems": measured}))
        return 1 if n_failed else 0
    own = measured[0]
    rows = [row for figures in measured for task in figures.tasks for row in _rows(figures, task, control, own.system)]
    if table_format == "csv":
        print_table(table_for_csv(_columns(""), [row for row in rows if row.variant]), "csv")
    for task in own.tasks if table_format != "csv" else ():
        print_table(table_for_readers(_columns(task), [row for row in rows if row.task == task]), table_format)
    if table_format == "text":
        _explain(measured)
    folds = "" if own.fit_seconds is None else f"{n_folds}-fold by paper, "
    own_code = code_text(versions_before_training([system]))
    label = f"{system}{own_code}[{folds}{counted(n_seeds, 'seed')}]"
    signatures = (
        signature(dataset, label, task=task_named(task), n=figures.recall.n, resampling=resampling)
        for task, figures in own.tasks.items()
    )
    print_signatures(signatures, table_format)
    if table_format == "text" and run is not None:
        seed = f"seed {resampling.seed}" + (", the first" if n_seeds > 1 else "")
        print_prose(f"{printable(str(run))}: the answers under {seed}, as a run")
    return 1 if n_failed else 0


_ASKED = {
    "wrong_hypothesis": "with the wrong hypothesis",
    "two_papers": "with a distractor paper",
    "shuffled_words": "with shuffled words",
}


class _Row(NamedTuple):
    """A variant of a system on a task; one without a name is for readers only."""

    system: str
    variant: str
    label: str
    task: str
    recall: Estimate | None
    test: PairedTest | None
    n: int


def _rows(system: SystemFigures, task: str, control: SeededControl, first: str) -> Iterator[_Row]:
    figures = system.tasks[task]
    variants = [
        ("own", system.system, figures.recall, None),
        ("wrong", f"  {_ASKED[control]}", figures.wrong, figures.drop),
        ("blind", "  trained without hypotheses", figures.blind, figures.gain),
        ("lead", f"  {first} - {system.system}", None, system.lead.get(task)),
        ("", "  distractor's share of the selection", figures.distractor, None),
    ]
    for variant, label, recall, test in variants:
        if recall is not None or test is not None:
            yield _Row(system.system, variant, label, task, recall, test, figures.recall.n)


def _columns(task: str) -> list[Column[_Row]]:
    """Return the columns; for readers, the first is headed by its task."""
    return [
        Column("system", task, attrgetter("system"), attrgetter("label")),
        Column("variant", "", attrgetter("variant")),
        Column("task", "", attrgetter("task")),
        *estimate_columns(("recall", "recall_low", "recall_high"), "aspect recall", attrgetter("recall"), none=""),
        *estimate_columns(
            ("difference", "difference_low", "difference_high"),
            "difference",
            lambda row: None if row.test is None else row.test.difference,
            none="",
        ),
        Column("p", "", lambda row: None if row.test is None else row.test.p_value),
        Column("n", "", attrgetter("n")),
    ]


def _explain(measured: Sequence[SystemFigures]) -> None:
    print_prose("Differences are paired: the system minus this row. In brackets: intervals.")
    for figures in measured:
        trained = "" if figures.fit_seconds is None else f"; {figures.fit_seconds:.1f} s to train"
        tried = f"; {figures.n_tried} configurations compared within each training set" if figures.n_tried > 1 else ""
        failed = f"; {counted(figures.n_failed, 'answer')} failed" if figures.n_failed else ""
        milliseconds = f"{1000 * figures.answer_seconds:.1f} ms per instance"
        click.echo(f"{figures.system}: {milliseconds}, all tasks{trained}{tried}{failed}")
    click.echo()
