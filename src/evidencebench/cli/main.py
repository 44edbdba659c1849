"""The entry point: calls the command, or completes one in a shell."""

import os
import sys
from collections.abc import Sequence
from functools import partial

import click
from click.shell_completion import shell_complete

from evidencebench.cli.ending import exit_code_of
from evidencebench.cli.groups import LazyGroup
from evidencebench.cli.streams import open_streams
from evidencebench.tables import printable
from evidencebench.version import __version__

COMMANDS = {
    "demo": "Validate, solve, run and score the embedded sample.",
    "systems": "List the systems with their options and defaults.",
    "tasks": "List the tasks: how many sentences and aspects count.",
    "data": "Validate, describe, show, solve, convert, download data.",
    "papers": "Fetch the files of papers, and show what is read from them.",
    "llm": "List providers, show prompts and replies, serve a fake model.",
    "cache": "List and prune what is kept between runs.",
    "find": "Find the evidence in papers of your own.",
    "run": "Run SYSTEM over a data set into a run file.",
    "train": "Fit a model to labelled data and write it into a folder.",
    "crossval": "Cross-validate SYSTEM, trained anew for every fold of papers.",
    "score": "Score RUN: a run, {id: [indices]} JSON, or a TREC run.",
    "compare": "Compare runs on the same instances, pair by pair.",
    "leaderboard": "Rank runs by aspect recall beside the controls.",
    "table": "Print RUNs x tasks as one table for a paper.",
    "view": "Look at papers, their evidence and what each RUN chose.",
    "report": "Write one HTML file with everything about RUNs, papers included.",
    "export": "Write data and runs in the forms that other tools read.",
    "controls": "Measure whether SYSTEMs use the hypothesis.",
    "construct": "Make a benchmark from papers and reviews.",
    "agreement": "Check the labels of a data set with people.",
    "audit": "Find out which misses of RUN are not its own fault.",
}


@click.group(
    cls=LazyGroup,
    package="evidencebench.cli",
    lines=COMMANDS,
    former={"wrong-hypothesis": "controls"},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
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
    limit, a server that only fails, --fail-fast); 70 a mistake in evidencebench,
    told with what to report; 130 interrupted, 143 by SIGTERM and 129 by SIGHUP.
    """


_COMPLETE = "_EVIDENCEBENCH_COMPLETE"
"""The variable in which a shell asks for its script, or for completions."""


def main() -> None:
    """Run the command line and exit."""
    open_streams()
    arguments = sys.argv[1:]
    asked = os.environ.get(_COMPLETE)
    sys.exit(exit_code_of(partial(_complete, asked) if asked else partial(_invoke, arguments), arguments))


def _invoke(arguments: Sequence[str]) -> None:
    for number, argument in enumerate(arguments, 1):
        try:
            argument.encode()
        except UnicodeEncodeError as error:  # neither a run nor JSON could hold it
            raise click.UsageError(
                f"argument {number}: expected text in UTF-8, got '{printable(argument)}'; rename the file, if it is one"
            ) from error
    with cli.make_context("evidencebench", [*arguments], auto_envvar_prefix="EVIDENCEBENCH") as context:
        cli.invoke(context)


def _complete(asked: str) -> None:
    """Print what a shell asks for: the script for it to source, or the completions of a line."""
    if shell_complete(cli, {}, "evidencebench", _COMPLETE, asked) != 0:
        raise click.UsageError(f"{_COMPLETE}: expected bash_source, fish_source or zsh_source, got '{asked}'")


if __name__ == "__main__":
    main()
