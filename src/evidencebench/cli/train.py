"""``evidencebench train``."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import click

from evidencebench.cli import options
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import print_json, progress
from evidencebench.data.dataset import open_dataset
from evidencebench.errors import DataError, SystemSpecError
from evidencebench.training.folds import LazyInstances
from evidencebench.training.trainings import TRAININGS, trainable
from evidencebench.wording import counted

# The training data -> the data that the last line of output suggests to try the model on.
_TRIAL_DATA = {"train": "dev", "dev": "train", "test": "dev", "100k-train": "100k-test", "100k-test": "100k-train"}


@options.command
def train(
    *,
    what: Annotated[str, argument(shell_complete=options.complete_trainings)],
    data: Annotated[tuple[str, ...], options.data_option("Data file, or a catalogue name; repeatable.", required=True)],
    output: Annotated[Path, options.output("MODEL", "Folder.", options.FOLDER)],
    limit: options.Limit,
    seed: options.Seed,
    overwrite: Annotated[bool, option("--overwrite", "Replace a model that is there.")],
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> None:
    """Fit a model to labelled data and write it into a folder.

    WHAT is finder, embedder, reranker, or own code as file.py:Training or
    package.module:Training, with options as in finder:figures=false. The folder
    holds plain files and a card. Score a model on other data than it was trained
    on, or with 'crossval'.

    \b
    Examples:
      evidencebench train finder --data train -o my-finder
      evidencebench run finder:model=my-finder --data dev -o mine.jsonl
      evidencebench train finder --data ei.json --data train -o of-both
    """
    if str(output) == "-":
        raise click.UsageError("--output: expected a folder, which is what a model is; standard output is none")
    trained = trainable(what)
    if trained is None:
        raise SystemSpecError(f"train: expected one of {', '.join(TRAININGS)}, without a model; got '{what}'")
    if trained.options:
        raise SystemSpecError(f"train: '{next(iter(trained.options))}' is an option of answering, not of training")
    if output.exists() and any(output.iterdir()) and not overwrite:
        raise DataError(f"{output}: exists; choose another folder, or replace the model with --overwrite")
    datasets = [open_dataset(name) for name in dict.fromkeys(data)]
    name = ", ".join(dataset.name for dataset in datasets)
    digests = [dataset.sha256 for dataset in datasets]
    about = {"name": name, "sha256": digests if len(digests) > 1 else digests[0]}
    instances = LazyInstances(datasets, limit)
    with progress(f"training {trained.name}", progress_style) as on_progress:
        card: Any = trained.training.fit(instances, output, seed=seed, data=about, on_progress=on_progress)
    if as_json:
        print_json({"model": str(output), "card": card})
        return
    click.echo(f"{output}: trained on {name}, {counted(len(instances), 'instance')}")
    spec = trained.specification(output)
    other = _TRIAL_DATA.get(data[0], "OTHER_DATA")
    click.echo("  a score on the data that it was trained on says nothing of other papers")
    click.echo(f"next: {shlex.join(['evidencebench', 'run', spec, '--data', other, '-o', 'run.jsonl'])}")
