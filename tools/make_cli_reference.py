"""Write docs/cli.md from the commands' own help."""

from pathlib import Path

import click

from evidencebench.cli.main import cli

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"

_HEAD = """\
# The command line

Made from `--help` by `make docs`; a test keeps it true. `D` is a data file or a catalogue name, `RUN` a run file.

Exit codes: 0 done; 1 done, but something was found (violations, failed answers, unproven optima); 2 bad input;
3 stopped before the end (a cost limit, a server that only fails, `--fail-fast`); 70 a mistake in evidencebench itself,
told with what to report; 130 interrupted, 143 by SIGTERM and 129 by SIGHUP. Messages and progress go to standard
error, results to standard output.
One that is closed (`>&-`) counts as `/dev/null`; messages that nobody reads stop no work.

Settings: an option on the command line wins over the environment (`EVIDENCEBENCH_RUN_JOBS=2` sets `run --jobs`), which
wins over the default.

Completion of commands, options, systems, tasks and data, with one line for each shell:

```sh
eval "$(_EVIDENCEBENCH_COMPLETE=bash_source evidencebench)"        # in ~/.bashrc (bash 4.4 or newer)
eval "$(_EVIDENCEBENCH_COMPLETE=zsh_source evidencebench)"         # in ~/.zshrc
_EVIDENCEBENCH_COMPLETE=fish_source evidencebench | source         # in ~/.config/fish/config.fish
```
"""


def reference() -> str:
    """Return the whole reference as Markdown."""
    return "\n".join([_HEAD, *_sections(cli, None, "evidencebench")])


def _sections(command: click.Command, parent: click.Context | None, name: str) -> list[str]:
    context = click.Context(
        command, parent=parent, info_name=name, terminal_width=80, help_option_names=["-h", "--help"]
    )
    sections = [f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"]
    if isinstance(command, click.Group):
        for child_name in command.list_commands(context):
            child = command.get_command(context, child_name)
            if child is not None:
                sections += _sections(child, context, child_name)
    return sections


if __name__ == "__main__":
    REFERENCE.write_text(reference(), encoding="utf-8")
