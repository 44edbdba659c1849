"""``evidencebench systems new``."""

from pathlib import Path
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.options import argument
from evidencebench.files.atomic import write_whole
from evidencebench.integrations.plugin_template import plugin_files, require_new_name


@options.command
def command(*, name: Annotated[str, argument()]) -> None:
    """Write a package with a system of your own, to install and change.

    The package is a new folder NAME, with pyproject.toml, the system and a test.
    NAME is the name of the package and of its system: small letters, digits
    and -, as in my-ranker.

    \b
    Examples:
      evidencebench systems new my-ranker
      pip install --editable my-ranker
      evidencebench run my-ranker:weight=2 --data sample -o mine.jsonl
    """
    require_new_name(name)
    folder = Path(name)
    if folder.exists():
        raise click.UsageError(f"'{name}': exists here; choose another name, or another folder to be in")
    for path, text in plugin_files(name).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(folder / path, text)
        click.echo(folder / path)
    click.echo(f"next: pip install --editable {name}")
    click.echo(f"then: evidencebench run {name} --data sample -o {name}.jsonl")
