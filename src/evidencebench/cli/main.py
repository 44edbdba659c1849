"""The entry point: finds the command, and turns errors into messages and exit codes."""

import os
import sys
from importlib import import_module

import click

from evidencebench.cli.exits import EXIT_BAD_INPUT, EXIT_INTERRUPTED, EXIT_OK, EXIT_STOPPED
from evidencebench.errors import EvidenceBenchError, StopError
from evidencebench.spelling import did_you_mean
from evidencebench.tables import printable
from evidencebench.version import __version__

# Command -> (module, one line of help). The line stands here so that --help imports no command.
COMMANDS = {
    "demo": ("demo", "Validate, solve, run and score the embedded sample."),
    "systems": ("systems", "List the systems with their options and defaults."),
    "tasks": ("tasks", "List the tasks: how many sentences and aspects count."),
    "data": ("data", "Validate, describe, show, solve, convert, download data."),
    "llm": ("llm", "List providers, draw examples, serve a fake model for trials."),
    "cache": ("cache", "List, prune and export what is kept between runs."),
    "find": ("find", "Find the evidence in a paper of your own."),
    "run": ("run", "Run SYSTEM over a data set into a run file."),
    "train": ("train", "Fit a model to labelled data and write it into a folder."),
    "crossval": ("crossval", "Cross-validate SYSTEM, trained anew for every fold of papers."),
    "score": ("score", "Score RUN: a run, {id: [indices]} JSON, or a TREC run."),
    "compare": ("compare", "Compare runs on the same instances, pair by pair."),
    "leaderboard": ("leaderboard", "Rank runs by aspect recall beside the controls."),
    "view": ("view", "Look at papers, their evidence and what each RUN chose."),
    "report": ("report", "Write one HTML file with everything about RUNs, papers included."),
    "wrong-hypothesis": ("wrong_hypothesis", "Measure whether SYSTEM uses the hypothesis."),
}


class _LazyGroup(click.Group):
    """Imports a command when it is used, so that ``--help`` answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"evidencebench.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is named first."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"No such command '{name}'{did_you_mean(name, COMMANDS)}.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__, prog_name="evidencebench", allow_from_autoenv=False)
def cli() -> None:
    """Find the evidence for or against a hypothesis in a paper, and score it.

    \b
    evidencebench demo                                  the whole path, in seconds
    evidencebench run bm25 --data sample -o bm25.jsonl  answer
    evidencebench score bm25.jsonl --data sample        grade

    Every option can also be set in the environment, as in
    EVIDENCEBENCH_RUN_JOBS=2. Exit codes: 0 done; 1 done, but something was found
    (violations, failed answers); 2 bad input; 3 stopped before the end (a cost
    limit, a server that only fails); 130 interrupted.
    """


_KEPT = "; what was finished is kept: the same command goes on from there"


def main() -> None:
    """Run the command line and exit."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.reconfigure(errors="backslashreplace")  # a terminal may not be UTF-8
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> int:
    """Run one command and return its exit code; unlike click's own `main`, 0 where a pipe's reader has left."""
    try:
        with cli.make_context("evidencebench", arguments, auto_envvar_prefix="EVIDENCEBENCH") as context:
            cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (KeyboardInterrupt, click.exceptions.Abort):
        click.echo(f"interrupted{_KEPT if _is_resumable(arguments) else ''}", err=True)
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        error.show()
        return EXIT_BAD_INPUT
    except StopError as error:
        click.echo(f"stopped: {printable(str(error))}{_KEPT if _is_resumable(arguments) else ''}", err=True)
        return EXIT_STOPPED
    except (EvidenceBenchError, OSError) as error:
        click.echo(f"error: {printable(str(error))}", err=True)
        return EXIT_BAD_INPUT
    return EXIT_OK


def _is_resumable(arguments: list[str]) -> bool:
    """Say whether the command keeps what it has finished, and goes on there when it is called again."""
    match arguments:
        case ["run", *_] | ["data", "solve", *_]:
            return True
        case ["crossval", *options]:
            return any(option.startswith(("-o", "--output")) for option in options)
        case _:
            return False


if __name__ == "__main__":
    main()
