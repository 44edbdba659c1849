"""What ``evidencebench find`` prints of its findings."""

import textwrap
from collections.abc import Sequence

import click

from evidencebench.cli.output import prose_width
from evidencebench.execution.finding import Finding
from evidencebench.pages.findings.words import about, grouped, meanings, told
from evidencebench.scoring.score_texts import notes_line
from evidencebench.system import NamedSystem
from evidencebench.tables import WIDTH, printable
from evidencebench.wording import counted


def print_counts(finding: Finding, system: NamedSystem, budget: int) -> None:
    """Print on standard error what the counts of an answer say, and where more sentences are named than asked for."""
    if finding.notes:
        click.echo(textwrap.fill(notes_line(finding.notes), WIDTH), err=True)
    n_found = len(finding.evidence)
    if n_found > budget:
        named = f"{system.name} names {counted(n_found, 'sentence')}, in no order; all are shown"
        click.echo(f"{printable(finding.paper.name)}: {named}", err=True)


def print_text(findings: Sequence[Finding]) -> None:
    """Print the sentences with their places; above each answer what was asked, where there are several."""
    several = len(findings) > 1
    has_several_hypotheses = len({finding.hypothesis for finding in findings}) > 1
    for i, finding in enumerate(findings):
        if several:
            paper = ": ".join(filter(None, (finding.paper.name, finding.paper.title)))
            click.echo("\n" * (i > 0) + _filled(paper))
        if has_several_hypotheses:
            click.echo(_filled(f"hypothesis: {finding.hypothesis}"))
        if words := told(finding):
            click.echo(_filled(words) + "\n" * bool(finding.evidence))
        width = len(str(len(finding.paper.sentences)))
        for j, (heading, of_group) in enumerate(grouped(finding)):
            if heading:
                click.echo("\n" * (j > 0) + f"{heading}:")
            for _, found in of_group:
                click.echo(_filled(found.text, f"{found.sentence:>{width}}  "))
                click.echo(_filled(f"[{about(found)}]", " " * (width + 2)))
    for meaning in meanings(findings):
        click.echo("\n" + _filled(meaning))


def _filled(text: str, lead: str = "") -> str:
    body = printable(text)
    return textwrap.fill(body, prose_width(), initial_indent=lead, subsequent_indent=" " * len(lead))
