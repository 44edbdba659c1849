"""Write docs/cli.md from the commands' own help: what several commands share once, of each command what is its own."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from evidencebench.cli.main import cli

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"

_HEAD = """\
# The command line

Generated from `--help` by `make generated`. `D` is a data file or a catalogue name, `RUN` a run file.

An option on the command line overrides the environment (`EVIDENCEBENCH_RUN_JOBS=2` sets `run --jobs`), which overrides
the default. Values that many commands share are [settings](#settings): `--set level=0.9` on the command line overrides
`EVIDENCEBENCH_LEVEL=0.9`, which overrides `level = 0.9` in the settings file of the current folder.

Results go to standard output, messages and progress to standard error. A closed stream (`>&-`) counts as `/dev/null`,
and work continues when nobody reads the messages.

For completion of commands, options, systems, tasks and data, add the line of your shell:

```sh
eval "$(_EVIDENCEBENCH_COMPLETE=bash_source evidencebench)"        # in ~/.bashrc (bash 4.4 or newer)
eval "$(_EVIDENCEBENCH_COMPLETE=zsh_source evidencebench)"         # in ~/.zshrc
_EVIDENCEBENCH_COMPLETE=fish_source evidencebench | source         # in ~/.config/fish/config.fish
```

## Shared options

These options mean the same in at least three commands. Each command below lists those that it takes, or their group.
All commands have `-h`, `--help`.
"""

SHARED_BY = 3
GROUPS = {
    "--estimate": "Asking a language model",
}
"""The groups of shared options, by one of each. A group are those that stand in the same commands."""

Record = tuple[str, str]


def helps() -> Iterator[tuple[str, str]]:
    """Yield every command with the whole help that it prints."""
    for context in contexts(cli, None, "evidencebench"):
        yield context.command_path, context.get_help()


def contexts(command: click.Command, parent: click.Context | None, name: str) -> Iterator[click.Context]:
    """Yield the context of a command and of all below it."""
    context = click.Context(
        command, parent=parent, info_name=name, terminal_width=80, help_option_names=["-h", "--help"]
    )
    yield context
    if isinstance(command, click.Group):
        for child_name in command.list_commands(context):
            if child := command.get_command(context, child_name):
                yield from contexts(child, context, child_name)


def reference() -> str:
    """Return the whole reference as Markdown."""
    shown = list(contexts(cli, None, "evidencebench"))
    options = {context.command_path: _options(context) for context in shown}
    counts = Counter(record for records in options.values() for record in records)
    first = {_name(record): record for record, _ in reversed(counts.most_common())}  # the most common of a name
    users = {
        record: frozenset(path for path, records in options.items() if record in records)
        for record, count in counts.items()
        if count >= SHARED_BY and first[_name(record)] == record
    }
    groups = {
        title: [record for record in users if users[record] == users[member]]
        for name, title in GROUPS.items()
        for member in users
        if _name(member) == name
    }
    grouped = {record for records in groups.values() for record in records}
    parts = [_HEAD]
    parts += [f"**{title}**\n\n{_block(_listed(records))}" for title, records in groups.items()]
    parts += [f"**Others**\n\n{_block(_listed([record for record in users if record not in grouped]))}"]
    parts += [_section(context, options[context.command_path], users, groups) for context in shown]
    return "\n".join(parts)


def _options(context: click.Context) -> list[Record]:
    records = (
        parameter.get_help_record(context)
        for parameter in context.command.get_params(context)
        if isinstance(parameter, click.Option) and parameter is not context.command.get_help_option(context)
    )
    return [record for record in records if record]


def _section(
    context: click.Context,
    records: list[Record],
    users: Mapping[Record, frozenset[str]],
    groups: Mapping[str, list[Record]],
) -> str:
    command, lines = context.command, click.HelpFormatter(width=80)
    command.format_help_text(context, lines)
    pieces = [] if isinstance(command, click.Group) else command.collect_usage_pieces(context)
    usage = " ".join([context.command_path, *(piece for piece in pieces if piece != "[OPTIONS]")])
    text = f"{usage}\n\n{lines.getvalue()}".rstrip("\n")
    own = [record for record in records if record not in users]
    if own:
        text += f"\n\nOptions:\n{_listed(own)}"
    if context.parent is None and isinstance(command, click.Group):  # of other groups, each command follows
        lines = click.HelpFormatter(width=80)
        command.format_commands(context, lines)
        text += f"\n\n{lines.getvalue().strip()}"
    taken = [title for title, members in groups.items() if set(members) <= set(records)]
    rest = {record for title in taken for record in groups[title]}
    names = [f"`{_name(record)}`" for record in records if record in users and record not in rest]
    shared = ", ".join([*(f"*{title}*" for title in taken), *names])
    return f"## {_title(context)}\n\n{_block(text)}" + (f"\nShared: {shared}.\n" if shared else "")


def _title(context: click.Context) -> str:
    return context.command_path.partition(" ")[2] or context.command_path


def _name(record: Record) -> str:
    names = [word.rstrip(",") for word in record[0].split() if word.startswith("-")]
    return next((name for name in names if name.startswith("--")), names[0])


def _listed(records: list[Record]) -> str:
    lines = click.HelpFormatter(width=80)
    with lines.indentation():
        lines.write_dl(records)
    return lines.getvalue().rstrip("\n")


def _block(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```\n"


if __name__ == "__main__":
    REFERENCE.write_text(reference(), encoding="utf-8")
