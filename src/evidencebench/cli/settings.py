"""``evidencebench settings``."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from evidencebench.cli import options
from evidencebench.cli.configuration import FILE, Setting, variable_of
from evidencebench.cli.main import cli
from evidencebench.cli.output import print_json, print_prose, terminal_width


@options.command
def settings(*, as_json: options.AsJson) -> None:
    """List the settings that commands share.

    Each is shown with its current value and where that is set. A setting comes from
    --set NAME=VALUE, else from the environment, else from the file
    evidencebench.toml in the current folder, which has lines such as level = 0.9.

    \b
    Examples:
      evidencebench settings
      evidencebench score bm25.jsonl --data sample --set level=0.9
    """
    context = click.get_current_context()
    takers: dict[str, list[str]] = {}
    found: dict[str, Setting] = {}
    for path, command in _commands(cli, context, ""):
        for setting in (param for param in command.params if isinstance(param, Setting)):
            found.setdefault(setting.setting, setting)
            takers.setdefault(setting.setting, []).append(path)
    fields = [_fields(context, setting, takers[name]) for name, setting in found.items()]
    if as_json:
        print_json(fields)
        return
    formatter = click.HelpFormatter(width=terminal_width())
    formatter.write_dl([(_shown(one), _help(one)) for one in fields])
    click.echo(formatter.getvalue())
    print_prose(f"Set by --set NAME=VALUE, the environment ({variable_of('draws')}) or {FILE}.")


def _commands(command: click.Command, context: click.Context, path: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    for name in command.list_commands(context):
        if child := command.get_command(context, name):
            yield from _commands(child, context, f"{path} {name}".strip())


def _shown(fields: Mapping[str, Any]) -> str:
    value = "" if fields["value"] is None else fields["value"]
    return f"{fields['name']}={value}"


def _help(fields: Mapping[str, Any]) -> str:
    choices = f" One of {', '.join(fields['choices'])}." if fields["choices"] else ""
    where = "" if fields["from"] == "default" else f" [from {fields['from']}]"
    return f"{fields['help']}{choices}{where}"


def _fields(context: click.Context, setting: Setting, commands: list[str]) -> dict[str, Any]:
    given = setting.given(context)
    default = setting.default if isinstance(setting.default, str | int | float) else None
    return {
        "name": setting.setting,
        "value": default if given is None else given.value,
        "from": "default" if given is None else given.where,
        "help": setting.help,
        "choices": list(setting.type.choices) if isinstance(setting.type, click.Choice) else None,
        "environment": variable_of(setting.setting),
        "commands": commands,
    }
