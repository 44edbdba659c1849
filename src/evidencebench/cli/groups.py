"""Groups of commands that are imported when they are used."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from evidencebench.wording import did_you_mean


class LazyGroup(click.Group):
    """A group that imports a command only when it is used, so that ``--help`` and every command start fast.

    Each command is a module of ``package`` with its name, or in ``COMMANDS`` of the module that ``modules`` has for it.
    ``lines`` has its line of help by its name, so that help imports no command. ``former`` maps former names of
    commands to the present ones.
    """

    def __init__(
        self,
        *args: Any,
        package: str,
        lines: Mapping[str, str],
        former: Mapping[str, str] | None = None,
        modules: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.package, self.lines, self.former, self.modules = package, lines, former or {}, modules or {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all commands."""
        return list(self.lines)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """Return a command, imported now, or None where there is none of the name."""
        if cmd_name not in self.lines:
            return None
        module = import_module(f"{self.package}.{self.modules.get(cmd_name, cmd_name.replace('-', '_'))}")
        command: click.Command = module.COMMANDS[cmd_name] if cmd_name in self.modules else module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first argument names; fail with a suggestion where there is none."""
        name = args[0]
        if name not in self.lines and not name.startswith("-") and not ctx.resilient_parsing:
            if name in self.former:
                ctx.fail(f"'{name}' is '{self.former[name]}' now; see 'evidencebench {self.former[name]} --help'.")
            ctx.fail(f"No such command '{name}'{did_you_mean(name, self.lines)}.")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands, or the options, that begin with ``incomplete``; import no command."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=line) for name, line in self.lines.items() if name.startswith(incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        """Write the names of all commands with their lines."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.lines.items()))
