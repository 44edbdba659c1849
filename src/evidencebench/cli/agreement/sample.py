"""``evidencebench agreement sample``."""

from pathlib import Path
from typing import Annotated, get_args

import click

from evidencebench.cli import options
from evidencebench.cli.options import option
from evidencebench.cli.output import print_json, progress, refuse_existing, require_file
from evidencebench.construction.people.exchange import TOOLS
from evidencebench.construction.people.sampling import draw_tasks, summaries_in
from evidencebench.construction.people.tasks import TaskSort, read_tasks, write_tasks
from evidencebench.data.dataset import open_dataset
from evidencebench.files.atomic import write_whole
from evidencebench.wording import counted


@options.command
def command(
    *,
    data: options.Data,
    n_papers: Annotated[int, options.number("--papers N", "How many papers; one task each.")] = 50,
    sort: Annotated[
        TaskSort, options.choice("--sort", "Mark the sentences of an aspect, or rate.", get_args(TaskSort))
    ],
    drafts: Annotated[
        Path | None, option("--drafts FILE", "The drafts that D was assembled from; people then see the summaries.")
    ],
    tools: Annotated[
        tuple[str, ...], option("--for", "Also write files for this tool; repeatable.", click.Choice(list(TOOLS)))
    ],
    seed: options.Seed,
    output: Annotated[Path, options.output("FILE", "The tasks, as .jsonl.")],
    overwrite: Annotated[bool, option("--overwrite", "Replace files that exist.")],
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> None:
    """Draw what people are asked, blind, also for other tools.

    Of each paper one aspect is drawn, all equally likely, and all sentences are to
    be judged. With --sort hypotheses or aspects, people say yes or no to criteria
    instead. The files hold no labels. The same data, seed and number give the same
    tasks. Files for other tools lie beside FILE, as tasks.csv or
    tasks.label-studio.json and .xml.

    \b
    Example:
      evidencebench agreement sample --data sample --papers 5 -o tasks.jsonl \\
        --for csv --for label-studio
    """
    require_file(output, "cannot be read again by 'agreement report'")
    others = {output.with_name(f"{output.stem}.{end}"): make for tool in tools for end, make in TOOLS[tool].items()}
    for path in (output, *others):
        refuse_existing(path, overwrite=overwrite)
    with progress("drawing", progress_style):
        summaries = summaries_in(drafts) if drafts else None
        drawn = draw_tasks(open_dataset(data), sort=sort, n_papers=n_papers, seed=seed, summaries=summaries)
    write_tasks(output, drawn.header, drawn.tasks)
    tasks = read_tasks(output)
    for path, make in others.items():
        write_whole(path, make(tasks))
    written = [output, *others]
    if as_json:
        counts = {
            "n_tasks": len(drawn.tasks),
            "n_papers_to_draw_from": drawn.n_papers,
            "n_sentences": drawn.n_pairs,
            "n_positives": drawn.n_positives,
        }
        print_json({"files": [str(path) for path in written], "seed": seed, "sort": sort, **counts})
        return
    for path in written:
        click.echo(str(path))
    click.echo(f"{counted(len(drawn.tasks), 'task')}, a paper each, from {counted(drawn.n_papers, 'paper')}")
    if drawn.n_positives is not None:
        click.echo(f"{counted(drawn.n_pairs, 'sentence')} to judge; the labels mark {drawn.n_positives:,} of them")
        click.echo("(not in the files: do not tell the annotators)")
    for criterion in drawn.header.criteria:
        click.echo(f"{criterion.name}: {criterion.question}")
