"""``evidencebench data convert``."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec

from evidencebench.cli import options
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import (
    OutputFile,
    ProgressReporter,
    few,
    json_text,
    print_prose,
    progress,
    refuse_existing,
    require_file,
    tell_written,
)
from evidencebench.data.dataset import open_dataset, write_dataset, write_shards
from evidencebench.data.evidence_inference import PaperFormat, SplitName, is_trial_folder
from evidencebench.data.evidence_inference_labels import ConversionReport, convert_folder
from evidencebench.data.instance import Instance
from evidencebench.errors import DataError
from evidencebench.files.atomic import is_standard_output, is_stream, write_whole
from evidencebench.integrations.trec import with_qrels
from evidencebench.tables import printable
from evidencebench.wording import counted


@options.command
def convert(
    *,
    data: options.DataArgument,
    output: Annotated[Path, argument(type=OutputFile())],
    read_from: Annotated[
        PaperFormat | None, option("--from", "Format of the papers to read; default: nxml if present.")
    ],
    split: Annotated[SplitName | None, option("--split", "Only this split of the folder.")],
    qrels: Annotated[Path | None, option("--qrels FILE", "Diversity qrels to use as labels, instead of D's own.")],
    shard_size: Annotated[
        int | None, options.number("--shard-size N", "Write several files of at most N instances each.")
    ],
    overwrite: Annotated[bool, option("--overwrite", "Replace OUTPUT if it exists.")],
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> None:
    """Convert a data set to the format of OUTPUT's suffix.

    The suffix is .json, .jsonl, either with .gz, or .parquet; - writes JSON Lines
    to standard output. Unknown fields are kept. --shard-size writes several files,
    such as train-00000-of-00005.parquet; their folder is then one data set.

    --qrels takes the labels from a TREC file: subtopics are aspects, and docnos are
    as in 'export trec'. Only instances that are judged there are written; 'data
    solve' computes their optima.

    D may also be the published folder of Evidence Inference 2.0 (the one with
    prompts_merged.csv): each prompt becomes an instance, and each text that doctors
    marked becomes an aspect. Annotations that were not found in the paper are
    counted by reason and listed in OUTPUT.placement.json.

    \b
    Examples:
      evidencebench data convert sample sample.parquet
      evidencebench data convert 100k-train shards/train.parquet --shard-size 5000
      evidencebench data convert sample mine.json --qrels trec/qrels.all.txt
      evidencebench data convert evidence-inference/annotations ei.json
    """
    if shard_size is None:
        refuse_existing(output, overwrite=overwrite)
    else:
        require_file(output, "cannot have shards")
    if shard_size is not None and qrels is not None:
        raise click.UsageError("--qrels: cannot be combined with --shard-size; convert its output into shards")
    if is_trial_folder(Path(data)):
        if unfit := "--shard-size" if shard_size is not None else "--qrels" if qrels is not None else "":
            raise click.UsageError(f"{unfit}: expected a data set, got the folder of Evidence Inference")
        with progress(f"converting {data}", progress_style) as on_progress:
            report = convert_folder(Path(data), output, read_from=read_from, split=split, on_progress=on_progress)
        _tell_conversion(output, report, as_json=as_json)
        return
    if read_from or split:
        raise click.UsageError("--from, --split: expected the folder of Evidence Inference, got a data file")
    dataset = open_dataset(data)
    with progress(f"converting {data}", progress_style) as on_progress:
        instances = _shown(dataset if qrels is None else with_qrels(dataset, qrels), len(dataset), on_progress)
        if shard_size is None:
            fields: dict[str, Any] = {"n_instances": write_dataset(output, instances)}
            text = f"{output}: {counted(fields['n_instances'], 'instance')}"
        else:
            try:
                output.parent.mkdir(exist_ok=True)
            except OSError as error:
                raise DataError(f"{output.parent}: the folder cannot be made: {error.strerror}") from error
            files = write_shards(output, instances, len(dataset), shard_size, overwrite=overwrite)
            fields = {"n_instances": len(dataset), "shards": list(map(str, files))}
            n_files = counted(len(files), "shard")
            text = f"{files[0]} and so on: {counted(len(dataset), 'instance')} in {n_files}"
    tell_written(output, fields, text, as_json=as_json)


def _shown(instances: Iterable[Instance], n_instances: int, on_progress: ProgressReporter) -> Iterator[Instance]:
    for n_done, instance in enumerate(instances, 1):
        yield instance
        on_progress(n_done, n_instances)


def _tell_conversion(output: Path, report: ConversionReport, *, as_json: bool) -> None:
    fields = {"output": str(output), **msgspec.to_builtins(report)}
    if not is_stream(output):
        write_whole(output.with_name(f"{output.name}.placement.json"), f"{json_text(fields)}\n")
    if as_json:
        click.echo(json_text(fields), err=is_standard_output(output))
        return
    papers = counted(report.n_papers, "paper")
    lines = [f"{output}: {counted(report.n_instances, 'instance')} of {papers}, read from {report.read_from}"]
    lines.append(f"  placed {_share(report.n_placed, report.n_valid)} valid annotations")
    if report.n_in_running_text:
        placed = _share(report.n_placed_in_running_text, report.n_in_running_text)
        lines.append(f"  of those in running text, {placed}")
    left_out = {"annotations": report.annotations_left_out, "prompts": report.prompts_left_out}
    for what, reasons in left_out.items():
        words = ", ".join(f"{reason} {n:,}" for reason, n in reasons.most_common() if n)
        lines.append(f"  {what} left out: {words or 'none'}")
    unread = [f"  not read: {printable(message)}" for message in report.unreadable_papers.values()]
    for line in (*lines, *few(unread, 3)):
        print_prose(line, "    ", err=is_standard_output(output))


def _share(n: int, of: int) -> str:
    return f"{n:,} of {of:,} ({100 * n / max(1, of):.1f} %)"
