"""Find."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from evidencebench.cli import options
from evidencebench.cli.asking import Asking, opened_client, print_estimate, require_model, tell_asked, totals_fields
from evidencebench.cli.options import STANDARD_INPUT, argument, option, read_lines
from evidencebench.cli.output import OutputFile, ProgressReporter, print_json, print_prose, print_table, refuse_existing
from evidencebench.cli.papers import paper_names, read_papers
from evidencebench.errors import DataError, EvidenceBenchError, ReplyError, UnreadableError
from evidencebench.execution.asking import Rehearsal
from evidencebench.execution.finding import DEFAULT_FINDER, Finding, find_evidence
from evidencebench.execution.making import asks_model, make_system
from evidencebench.execution.rewriting import asker_from
from evidencebench.files.atomic import write_whole
from evidencebench.models.llm.client import ChatClient
from evidencebench.pages.findings import (
    about,
    finding_record,
    findings_page,
    findings_ris,
    findings_table,
    grouped,
    meanings,
    told,
)
from evidencebench.pages.marked_pdfs import MarkedCopy, planned_copies, write_copies
from evidencebench.papers.paper import Paper
from evidencebench.query import AspectScope, Wish
from evidencebench.scoring.significance import notes_line
from evidencebench.system import Brief
from evidencebench.systems.directions import DirectionReader, reported_directions
from evidencebench.systems.llm.rewriting import directions_by_model
from evidencebench.tables import printable
from evidencebench.wording import counted

_MOST_HYPOTHESES = 1_000


def _print_counts(finding: Finding, system: str, budget: int) -> None:
    if finding.notes:
        print_prose(notes_line(finding.notes), err=True)
    if (n_found := len(finding.evidence)) > budget:
        named = f"{system} names {counted(n_found, 'sentence')}, in no order; all are shown"
        click.echo(f"{printable(finding.paper.name)}: {named}", err=True)


def _print(findings: Sequence[Finding], table_format: str, *, split: bool) -> None:
    if table_format == "ris":
        click.echo(findings_ris(findings), nl=False)
        return
    if table_format != "text":
        print_table(findings_table(findings), table_format)
        return
    has_several_hypotheses = len({finding.hypothesis for finding in findings}) > 1
    for i, finding in enumerate(findings):
        if i:
            click.echo()
        if len(findings) > 1:
            print_prose(printable(": ".join(filter(None, (finding.paper.name, finding.paper.title)))))
        if has_several_hypotheses:
            print_prose(printable(f"hypothesis: {finding.hypothesis}"))
        if words := told(finding):
            print_prose(printable(words))
            if finding.evidence:
                click.echo()
        _print_sentences(finding, split=split)
    for meaning in meanings(findings):
        click.echo()
        print_prose(printable(meaning))


def _print_sentences(finding: Finding, *, split: bool) -> None:
    width = len(str(len(finding.paper.sentences)))
    indent = " " * (width + 2)
    for j, (heading, group) in enumerate(grouped(finding, split=split)):
        if heading:
            click.echo("\n" * (j > 0) + f"{heading}:")
        for _, sentence in group:
            print_prose(printable(sentence.text), indent, f"{sentence.sentence:>{width}}  ")
            print_prose(printable(f"[{about(sentence)}]"), indent, indent)


@options.command
def find(
    *,
    hypothesis_and_papers: Annotated[
        tuple[str, ...], argument("[HYPOTHESIS] PAPER...", required=True, kind=click.Path(allow_dash=True))
    ],
    budget: Annotated[int, options.number("-k, --budget K", "How many sentences.")] = 10,
    hypotheses_file: Annotated[
        Path | None, option("--hypotheses FILE", "Hypotheses, one a line; - is standard input.")
    ],
    wish: Annotated[Wish, option("--wish", "Sentences that answer HYPOTHESIS, or all that a reviewer would extract.")],
    scope: Annotated[AspectScope, option("--scope", "All evidence, or only outcomes and analyses.")],
    spec: Annotated[
        str, option("--system SYSTEM", "What finds the evidence.", shell_complete=options.complete_systems)
    ] = DEFAULT_FINDER,
    split_by: Annotated[Literal["direction"] | None, option("--split-by", "Group the sentences by what they report.")],
    split_model: Annotated[
        str | None, option("--split-model MODEL", "Language model that reads what the sentences report.")
    ],
    seed: options.Seed,
    asking: Asking,
    table_format: Annotated[str, options.output_format("text", "markdown", "csv", "ris")],
    html: Annotated[Path | None, option("--html", "Write the papers, evidence marked, into a page.", OutputFile())],
    mark: Annotated[
        Path | None, option("--mark FOLDER", "Write copies of the PDFs, evidence highlighted.", options.FOLDER)
    ],
    overwrite: Annotated[bool, option("--overwrite", "Replace the page and the copies where they exist.")],
) -> int:
    """Find the evidence in papers of your own.

    Shown are the sentences of each PAPER that are evidence for or against
    HYPOTHESIS, best first, or in paper order where the system names a set. PAPER
    is a file, a folder of them, or - for standard input; docs/papers.md has the
    formats. Sentences are numbered from 0, headings included. Exit code 1: some
    papers could not be read or answered; 2: none.

    What each sentence reports of the outcome is read by a model of this package,
    or by the language model of --split-model (behind commas, options of llm_base).
    --split-by direction groups the sentences by it.

    The default system sends nothing. An llm_... system sends PAPER and HYPOTHESIS,
    whole, to the provider that its model names, dense_api to its base_url.
    --split-model sends HYPOTHESIS and the sentences that were found.

    \b
    Examples:
      evidencebench find "Tea lowers blood pressure." paper.pdf
      evidencebench find --hypotheses questions.txt papers/ --format csv
      evidencebench find "Tea lowers blood pressure." paper.txt \\
        --system llm_base:model=openai/gpt-4o-mini --max-cost-usd 0.05
    """
    hypotheses, names = _split(hypothesis_and_papers, hypotheses_file)
    if html is not None:
        refuse_existing(html, overwrite=overwrite, no_stream="has the sentences", option="--html")
    copies = planned_copies({name: Path(name) for name in names}, mark, overwrite=overwrite)
    brief = Brief(budget=budget, scope=scope)
    asks = asks_model(spec) or split_model is not None
    require_model(asking, asks=asks)

    def find(client: ChatClient | None, **how: Any) -> tuple[list[Finding], list[EvidenceBenchError]]:
        read_directions: DirectionReader = reported_directions
        if split_model is not None:
            read_directions = directions_by_model(asker_from(split_model, seed=seed, client=client))
        system = make_system(spec, seed=seed, client=client)
        ask = partial(find_evidence, system, brief=brief, wish=wish, read_directions=read_directions)
        return _find_all(ask, names, hypotheses, **how)

    if asking.estimate:

        def rehearse(client: ChatClient, shown: ProgressReporter) -> Rehearsal:
            findings, failed = find(client, on_progress=shown)
            n_all, first_error = len(findings) + len(failed), str(failed[0]) if failed else ""
            return Rehearsal(n_instances=n_all, n_failed=len(failed), first_error=first_error)

        return print_estimate(asking, rehearse)
    with opened_client(asking, "asking", asks=asks) as (client, waiting, shown):
        findings, failed = find(client, settle=waiting.settle, on_progress=shown)
    tell_asked(client)
    for error in failed:
        click.echo(f"error: {printable(str(error))}", err=True)
    for finding in findings:
        _print_counts(finding, spec, budget)
    _write_files(findings, html, copies, split=split_by is not None)
    if asking.as_json:
        options_used = {"system": spec, "budget": budget, "scope": scope, "wish": wish, "split_model": split_model}
        results = {"findings": list(map(finding_record, findings)), "failed": list(map(str, failed))}
        print_json({**options_used, **results, **totals_fields(client)})
    else:
        _print(findings, table_format, split=split_by is not None)
    return 0 if not failed else 1 if findings else 2


def _split(given: tuple[str, ...], hypotheses_file: Path | None) -> tuple[tuple[str, ...], list[str]]:
    if hypotheses_file is not None:
        if str(hypotheses_file) == STANDARD_INPUT and STANDARD_INPUT in given:
            raise click.UsageError("standard input holds either the hypotheses or a paper, not both")
        lines, name = read_lines(hypotheses_file)
        hypotheses = tuple(dict.fromkeys(filter(None, map(str.strip, lines))))
        n = len(hypotheses)
        if not 0 < n <= _MOST_HYPOTHESES:
            raise UnreadableError(f"{name}: expected 1 to {_MOST_HYPOTHESES:,} hypotheses, one a line, got {n:,}")
        return hypotheses, list(paper_names(given))
    hypothesis, *papers = given
    if not papers:
        raise click.UsageError("expected HYPOTHESIS and PAPER, or --hypotheses FILE and PAPER")
    if not hypothesis.strip():
        raise click.UsageError("HYPOTHESIS: expected a sentence, got an empty one")
    return (hypothesis,), list(paper_names(papers))


def _write_files(
    findings: Sequence[Finding], html: Path | None, copies: Mapping[str, MarkedCopy] | None, *, split: bool
) -> None:
    for name, copy, problem in write_copies(findings, copies):
        said = f"not marked: {problem}" if copy is None else f"marked in {copy}"
        click.echo(printable(f"{name}: {said}"), err=True)
    if html is not None and findings:
        write_whole(html, findings_page(findings, split=split).encode())
        click.echo(f"{html}: {counted(len(findings), 'answer')}", err=True)


def _find_all(
    ask: Callable[..., Finding],
    names: Sequence[str],
    hypotheses: Sequence[str],
    *,
    settle: Callable[[], bool] | None = None,
    on_progress: Callable[[int, int], None],
) -> tuple[list[Finding], list[EvidenceBenchError]]:
    """Return a finding for each paper and hypothesis, and the errors of those that cannot be read or answered."""
    findings: list[Finding] = []
    failed: list[EvidenceBenchError] = []
    for number, papers in enumerate(read_papers(names)):
        if len(names) * len(hypotheses) > 1:
            on_progress(number, len(names))
        failed.extend(paper for paper in papers if isinstance(paper, DataError))
        for paper, hypothesis in product((paper for paper in papers if isinstance(paper, Paper)), hypotheses):
            try:
                findings.append(ask(paper, hypothesis, settle=settle))
            except ReplyError as error:
                failed.append(ReplyError(f"{paper.name}: {error}"))
    return findings, failed
