"""``evidencebench find``."""

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import click

from evidencebench.cli import options
from evidencebench.cli.asking import Asking, asking_options, opened_client, print_estimate, require_model, tell_asked
from evidencebench.cli.output import print_json, prose_width
from evidencebench.errors import EvidenceBenchError, PendingError, ReplyError, UnreadableError
from evidencebench.execution.asking import Rehearsal
from evidencebench.execution.making import asks_model, make_system
from evidencebench.models.llm.client import ChatClient
from evidencebench.papers.paper import Paper
from evidencebench.papers.read import read, read_content
from evidencebench.query import AspectScope, Kind, Query
from evidencebench.scoring.score_texts import notes_line
from evidencebench.storage.reading import read_stream
from evidencebench.system import Brief, NamedSystem, Ranking
from evidencebench.tables import WIDTH, printable
from evidencebench.wording import counted


@click.command
@click.argument("hypothesis")
@click.argument("paper", type=click.Path(allow_dash=True))
@options.number("--budget", default=10, metavar="K", help="How many sentences.")
@options.choice("--scope", choices=("all", "results"), help="All evidence, or outcomes and analyses only.")
@click.option(
    "--system",
    "spec",
    default="cues",
    show_default=True,
    metavar="SYSTEM",
    shell_complete=options.complete_systems,
    help="What finds the evidence.",
)
@options.seed
@asking_options()
@click.pass_context
def command(
    ctx: click.Context,
    *,
    hypothesis: str,
    paper: str,
    budget: int,
    scope: AspectScope,
    spec: str,
    seed: int,
    asking: Asking,
) -> None:
    """Find the evidence in a paper of your own.

    Shown are the sentences of PAPER that are evidence for or against HYPOTHESIS.
    PAPER is a text file, or - for standard input: one sentence a line, headings
    marked with # as in Markdown. What stands under '# Abstract' is the abstract.
    PDF, XML, HTML, JSON and paragraphs are refused, as are more than 50,000 lines.
    Sentences are numbered from 0, headings included, and shown best first, or in
    paper order where the system names a set; headings are not shown.

    With the systems that need no server, such as the default, nothing leaves this
    machine. An llm_... system sends PAPER and HYPOTHESIS, whole, to the provider
    that its model names; dense_api sends them to its base_url.

    \b
    Examples:
      evidencebench find "Tea lowers blood pressure." paper.txt
      evidencebench find "Tea lowers blood pressure." - --json < paper.txt
      evidencebench find "Tea lowers blood pressure." paper.txt \\
        --system llm_base:model=openai/gpt-4o-mini --max-cost-usd 0.05
    """
    name = "standard input" if paper == "-" else paper
    query = (_from_standard_input(name) if paper == "-" else read(Path(paper))).query_for(hypothesis)
    brief = Brief(budget=budget, scope=scope)
    asks = asks_model(spec)
    require_model(asking, asks=asks)
    if asking.estimate:
        n_failed = print_estimate(asking, lambda client, _: _rehearse(_make(spec, seed, client), query, brief))
        ctx.exit(1 if n_failed else 0)
    with opened_client(asking, "asking", asks=asks) as (client, waiting, _):
        system = _make(spec, seed, client)
        answer = _answer(system, query, brief, waiting.settle)
    tell_asked(client)
    sentences = answer.sentences if answer.ordered else sorted(answer.sentences)
    found = [index for index in sentences if query.kinds[index] is not Kind.HEADING]  # a heading is no evidence
    found = found[:budget] if answer.ordered else found
    if answer.notes:
        click.echo(textwrap.fill(notes_line(answer.notes), WIDTH), err=True)
    if asking.as_json:
        rows = [
            {"sentence": index, "kind": query.kinds[index].value, "text": query.sentences[index]} for index in found
        ]
        given = {"hypothesis": hypothesis, "system": spec, "budget": budget, "scope": scope}
        spent = {} if client is None else {"asked": client.totals.fields()}
        print_json({**given, "evidence": rows, "notes": dict(answer.notes), **spent})
        return
    if not found:
        click.echo(f"{name}: {system.name} names no sentence", err=True)
    elif len(found) > budget:
        click.echo(
            f"{name}: {system.name} names {counted(len(found), 'sentence')}, in no order; all are shown", err=True
        )
    width, n_columns = len(str(len(query.sentences))), prose_width()
    for index in found:
        lead = f"{index:>{width}}  "
        body = printable(query.sentences[index])
        click.echo(textwrap.fill(body, n_columns, initial_indent=lead, subsequent_indent=" " * len(lead)))


def _from_standard_input(name: str) -> Paper:
    try:
        content = read_stream(sys.stdin.buffer)
    except OSError as error:
        raise UnreadableError(f"{name}: cannot be read: {error.strerror}") from error
    return read_content(content, name=name)


def _make(spec: str, seed: int, client: ChatClient | None) -> NamedSystem:
    system = make_system(spec, seed=seed, client=client)
    if system.knows_labels:
        raise EvidenceBenchError(f"find: {system.name} needs the answers, which a paper does not bring along")
    return system


def _rehearse(system: NamedSystem, query: Query, brief: Brief) -> Rehearsal:
    try:
        _answer(system, query, brief)
    except ReplyError as error:
        return Rehearsal(n_instances=1, n_failed=1, first_error=str(error))
    return Rehearsal(n_instances=1, n_failed=0)


def _answer(system: NamedSystem, query: Query, brief: Brief, settle: Callable[[], bool] | None = None) -> Ranking:
    """Return the system's answer; ask again after each batch that it has to wait for."""
    while True:
        try:
            answer = system.rank(query, brief)
            break
        except PendingError:
            if settle is None or not settle():
                raise
        except EvidenceBenchError:
            raise
        except Exception as error:  # own code can fail in any way
            raise EvidenceBenchError(f"find: {system.name} failed: {type(error).__name__}: {error}") from error
    if not answer.ordered and not system.selects:
        raise EvidenceBenchError(f"find: {system.name} gives its sentences no order, so that there are no best ones")
    return answer
