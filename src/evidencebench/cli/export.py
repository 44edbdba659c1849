"""``evidencebench export``: data and runs in the forms that other tools read."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import click
import msgspec

from evidencebench.cli import options
from evidencebench.cli.main import LazyGroup
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import (
    print_cautions,
    print_json,
    print_prose,
    progress,
    refuse_existing,
    tell_written,
)
from evidencebench.data.dataset import Dataset, open_dataset
from evidencebench.errors import DataError
from evidencebench.integrations.hugging_face import HubSplit, known_entry, licence_of, write_hf
from evidencebench.integrations.trec import TrecReport, write_trec
from evidencebench.provenance import require_extra
from evidencebench.runs.formats import content_of_run, open_run, write_run
from evidencebench.tables import printable
from evidencebench.wording import counted


@options.command
def inspect(
    *,
    run: Annotated[Path, argument()],
    data: options.Data,
    tasks: options.Tasks,
    output: Annotated[Path, options.output("LOG", "The log; ends in .eval.")],
    overwrite: Annotated[bool, option("--overwrite", "Replace LOG if it exists.")],
    rules: options.RulesChoice,
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> None:
    """Write RUN with its scores as a log for inspect_ai's viewer.

    A sample is an instance, with the sentences that RUN selected and a score for
    each task: aspect recall, as 'score' computes it. Failed and missing answers
    score 0 and are counted. Standard errors are clustered by review or paper.

    \b
    Examples:
      evidencebench export inspect bm25.jsonl --data sample -o bm25.eval
      inspect view --log-dir .
    """
    require_extra("export inspect", "inspect", "inspect_ai")
    from evidencebench.integrations.inspect_ai import log_of_run, write_log  # noqa: PLC0415 - an extra

    refuse_existing(output, overwrite=overwrite, no_stream="cannot be a log of inspect_ai")
    with progress(f"exporting {run.name}", progress_style) as on_progress:
        log = log_of_run(run, open_dataset(data), tasks, rules=rules, on_progress=on_progress)
        write_log(log, output)
    figures = {
        score.name: {name: metric.value for name, metric in score.metrics.items()} for score in log.results.scores
    }
    if as_json:
        print_json({"log": str(output), "samples": len(log.samples), "scores": figures})
        return
    click.echo(f"{printable(str(output))}: {counted(len(log.samples), 'sample')}")
    for name, values in figures.items():
        click.echo(f"  {name}: aspect recall {100 * values['mean']:.1f} +- {100 * values['stderr']:.1f} %")
    click.echo(f"next: inspect view --log-dir {printable(str(output.parent))}")


@options.command
def run(
    *,
    run: Annotated[Path, argument()],
    output: Annotated[Path, options.output("FILE", "File to write; ends in .parquet or .jsonl.")],
    overwrite: Annotated[bool, option("--overwrite", "Replace FILE if it exists.")],
    as_json: options.AsJson,
) -> None:
    """Convert a run to the format of FILE's suffix.

    The suffix is .parquet or .jsonl. Parquet has one row per answer: id, task,
    sentences, scores, ordered, notes, error. Every command accepts it as a run, and
    converting it back gives the same answers. Only a .jsonl run can be resumed.

    \b
    Examples:
      evidencebench export run bm25.jsonl -o bm25.parquet
      evidencebench score bm25.parquet --data sample
      evidencebench export run bm25.parquet -o again.jsonl
    """
    if output.suffix not in {".parquet", ".jsonl"}:
        raise DataError(f"{output}: expected a name that ends in .parquet or .jsonl")
    refuse_existing(output, overwrite=overwrite)
    n_answers = write_run(output, content_of_run(run), run)
    tell_written(output, {"n_answers": n_answers}, f"{output}: {counted(n_answers, 'answer')}", as_json=as_json)


@options.command
def hf(
    *,
    data: Annotated[str | None, argument("[D]", shell_complete=options.complete_data)],
    splits: Annotated[tuple[str, ...], option("--split NAME=D", "A split and its data; repeatable, without D.")],
    licences: Annotated[
        tuple[str, ...],
        option("--licence [NAME=]L", "Licence of unknown data, or of one split; repeatable."),
    ],
    output: Annotated[Path, options.output("FOLDER", "Folder to write.")],
    overwrite: Annotated[bool, option("--overwrite", "Replace a folder that this command wrote.")],
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> None:
    """Write data as a folder for Hugging Face's load_dataset.

    data/ has Parquet files of up to 10,000 instances each; README.md is the data
    card. The licences of the published splits are known; name those of other data
    with --licence.

    \b
    Examples:
      evidencebench export hf --split train=train --split dev=dev -o original
      evidencebench export hf mine.json --licence CC-BY-4.0 -o my-data
    """
    if (data is None) == (not splits):
        raise click.UsageError("expected either D, or --split NAME=D for each split")
    named = {"": data} if data is not None else _by_name("--split", splits)
    opened = {name: open_dataset(path) for name, path in named.items() if path is not None}
    if "" in opened:  # a single split has its own name where it is published, else that which tools expect
        entry = known_entry(opened[""])
        opened = {"train" if entry is None else entry.name.rpartition("-")[2]: opened[""]}
    given = _by_name("--licence", licences, may_be_unnamed=True)
    if unknown := sorted(given.keys() - opened.keys() - {""}):
        raise click.UsageError(f"--licence: no split '{unknown[0]}'; expected one of {', '.join(opened)}")
    hub_splits = [
        HubSplit(name=name, dataset=dataset, licence=_licence(name, dataset, given)) for name, dataset in opened.items()
    ]
    with progress("exporting", progress_style) as on_progress:
        written = write_hf(output, hub_splits, overwrite=overwrite, on_progress=on_progress)
    lines = [
        f"  {split.name}: {counted(split.n_instances, 'instance')}, {counted(len(split.shards), 'file')} of "
        f"{split.n_bytes:,} bytes, {split.licence}"
        for split in written
    ]
    tell_written(output, {"splits": written}, f"{output}:", *lines, as_json=as_json)


def _by_name(option: str, given: Sequence[str], *, may_be_unnamed: bool = False) -> dict[str, str]:
    """Return name -> value of values such as ``train=FILE``; the name of one without is empty."""
    values: dict[str, str] = {}
    for text in given:
        named = re.fullmatch(r"(\w+)=(.+)", text, re.ASCII | re.DOTALL)
        if named is None and not may_be_unnamed:
            raise click.UsageError(f"{option}: expected NAME=D, such as train=train, got '{printable(text)}'")
        name, value = (named[1], named[2]) if named else ("", text)
        if name in values:
            raise click.UsageError(f"{option}: expected one value a split, got two{f' for {name}' if name else ''}")
        values[name] = value
    return values


def _licence(name: str, dataset: Dataset, given: Mapping[str, str]) -> str:
    known, named = licence_of(dataset), given.get(name, given.get(""))
    if known is not None and name in given and given[name] != known:
        raise DataError(f"split '{name}': {dataset.path} is published under {known}, not {given[name]}")
    if licence := known or named:
        return licence
    raise DataError(
        f"split '{name}': the licence of {dataset.path} is not known; name it with --licence {name}=LICENCE"
    )


@options.command
def trec(
    *,
    data: options.DataArgument,
    runs: Annotated[tuple[Path, ...], argument("[RUN]...")],
    output: Annotated[Path, options.output("FOLDER", "Folder to write.")],
    tasks: options.Tasks,
    overwrite: Annotated[bool, option("--overwrite", "Replace a folder that this command wrote.")],
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> None:
    """Write D and RUNs as TREC topics, diversity qrels and runs.

    topics.tsv has the hypotheses; qrels.all.txt and qrels.results.txt have the
    labels (qid subtopic docno rel: subtopics are aspects); runs/ has a file for
    each RUN. Sentence 42 of an instance has the docno instance#00042. The scores in
    runs are ranks counted from the end, so they never tie.

    StRecall@k of ir_measures is then aspect recall, for k up to 20. With --task, a
    run has one file per task, cut to the task's budget, so StRecall@20 is recall
    even where the budget differs by instance.

    \b
    Examples:
      evidencebench export trec sample bm25.jsonl -o trec --task er_at_optimal
      evidencebench score trec/runs/bm25.run --data sample
    """
    with progress(f"exporting {data}", progress_style) as on_progress:
        report = write_trec(
            output,
            open_dataset(data),
            [open_run(run) for run in runs],
            tasks,
            overwrite=overwrite,
            on_progress=on_progress,
        )
    print_cautions(_cautions(report))
    if as_json:
        print_json({"output": str(output), **msgspec.to_builtins(report)})
        return
    click.echo(f"{printable(str(output))}: {counted(report.n_topics, 'topic')}")
    for name, n_lines in report.qrels.items():
        click.echo(f"  {name}: {counted(n_lines, 'line')}")
    for name, run in report.runs.items():
        print_prose(printable(f"{name}: {counted(run.n_answers, 'answer')} of {run.system}"), "    ", "  ")


def _cautions(report: TrecReport) -> Iterator[str]:
    for name, run in report.runs.items():
        if run.n_without:
            answers = counted(run.n_without, "answer")
            yield f"{name}: {answers} failed or selected nothing, which a TREC file cannot say: no lines"
        if run.n_cut_sets:
            sets = counted(run.n_cut_sets, "set")
            yield f"{name}: {sets} over the budget cut to the sentences named first; 'score' takes the mean"
        elif run.n_sets:
            yield f"{name}: {counted(run.n_sets, 'set')} of sentences got an order, that in which they were named"


command: LazyGroup = LazyGroup("export", commands=[inspect, run, hf, trec])
