"""Find."""

import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product, takewhile
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import click

from evidencebench.cli import options
from evidencebench.cli.asking import Asking, opened_client, print_estimate, require_model, tell_asked, totals_fields
from evidencebench.cli.options import STANDARD_INPUT, argument, option, read_lines
from evidencebench.cli.output import OutputFile, ProgressReporter, print_json, print_prose, print_table, refuse_existing
from evidencebench.cli.papers import PaperFile, paper_files, read_papers
from evidencebench.errors import DataError, EvidenceBenchError, ReplyError, UnreadableError
from evidencebench.execution import findings as telling
from evidencebench.execution.asking import Rehearsal
from evidencebench.execution.finding import DEFAULT_FINDER, SEMANTIC_FINDER, Finding, PaperVerdict, find_evidence
from evidencebench.execution.making import asks_model, make_system
from evidencebench.execution.marked_pdfs import MarkedCopies, planned_copies, write_copies
from evidencebench.execution.rewriting import asker_from
from evidencebench.files.atomic import write_whole
from evidencebench.models.llm.client import ChatClient
from evidencebench.pages.findings_page import findings_page
from evidencebench.papers.duplicates import without_duplicates
from evidencebench.papers.language import language_of
from evidencebench.papers.paper import Paper
from evidencebench.provenance import require_extra
from evidencebench.query import AspectScope, Goal
from evidencebench.scoring.significance import notes_line
from evidencebench.systems.directions import reported_directions
from evidencebench.systems.llm.rewriting import directions_by_model
from evidencebench.tables import printable
from evidencebench.wording import counted

_MOST_HYPOTHESES = 1_000
_MOST_DETAILED = 3  # findings of which all are told in full, also those without evidence
# On a terminal: how a sentence is set, by its strength.
_TINTS: Mapping[int | None, Mapping[str, bool]] = {3: {"bold": True}, 1: {"dim": True}}


def _tell_languages(hypotheses: Sequence[str]) -> None:
    for hypothesis in hypotheses:
        if language := language_of(hypothesis):
            said = f"warning: '{hypothesis}' reads as {language}; the finder was trained on English"
            print_prose(printable(said), err=True)


class _Answers(NamedTuple):
    findings: list[Finding]
    failed: list[EvidenceBenchError]
    reasons: list[str]  # of these, with no folder of this machine
    duplicates: list[tuple[Paper, Paper]]  # a paper, and the one that stands for it


def _tell(answers: _Answers, system: str, budget: int) -> None:
    for error in answers.failed:
        click.echo(f"error: {printable(str(error))}", err=True)
    for paper, kept in answers.duplicates:
        print_prose(printable(f"{paper.name}: the same paper as {kept.name}, and answered there"), err=True)
    for finding in answers.findings:
        if finding.notes:
            print_prose(notes_line(finding.notes), err=True)
        if (n_found := len(finding.evidence)) > budget:
            named = f"{system} names {counted(n_found, 'sentence')}, in no order; all are shown"
            click.echo(f"{printable(finding.paper.name)}: {named}", err=True)


def _print(findings: Sequence[Finding], table_format: str, *, rows_of: telling.RowsOf, split: bool) -> None:
    if table_format == "ris":
        click.echo(telling.findings_ris(findings), nl=False)
    elif table_format != "text":
        print_table(telling.findings_table(findings, rows_of), table_format)
    else:
        for number, block in enumerate(filter(None, _blocks(findings, split=split))):
            if number > 0:
                click.echo()
            for print_line in block:
                print_line()


_Line = Callable[[], None]  # prints it


def _line(text: str, indent: str = "", first: str = "", **tint: bool) -> _Line:
    return partial(print_prose, printable(text), indent, first, **tint)


def _blocks(findings: Sequence[Finding], *, split: bool) -> Iterator[Sequence[_Line]]:
    """Yield the parts of the text, between which an empty line stands; of several findings, a line each comes first.

    Of many findings, those without evidence are counted alone.
    """
    has_several, has_several_hypotheses = len(findings) > 1, len({finding.hypothesis for finding in findings}) > 1
    near = [finding for finding in findings if finding.verdict is not PaperVerdict.NONE]
    if has_several:
        lines = []
        for finding in near:
            name = f"{finding.paper.name}: {finding.hypothesis}" if has_several_hypotheses else finding.paper.name
            lines.append(_line(f"{name}: {telling.summary(finding) or 'no verdict'}", "  "))
        n_none = len(findings) - len(near)
        counts = f"{telling.VERDICTS[PaperVerdict.NONE]}: {n_none:,} of {len(findings):,}."
        if n_none > 0:
            lines.append(_line(counts))
        yield lines
    detailed = findings if len(findings) <= _MOST_DETAILED else near
    explained = [[_line(meaning)] for meaning in telling.meanings(detailed)]
    for finding in detailed:
        named = ": ".join(filter(None, (finding.paper.name, finding.paper.title)))
        head = []
        if has_several:
            head.append(_line(named, bold=True))
        if has_several_hypotheses:
            head.append(_line(f"hypothesis: {finding.hypothesis}"))
        yield [*head, *map(_line, filter(None, [telling.lead(finding)]))]
        if split:  # beside the first groups
            yield from reversed(explained)
            explained = []
        yield from _finding_blocks(finding, split=split)
    yield from explained


def _finding_blocks(finding: Finding, *, split: bool) -> Iterator[Sequence[_Line]]:
    """Yield the parts of a finding behind its verdict: the lines, and what was searched."""
    width = len(str(len(finding.paper.sentences)))
    indent = " " * (width + 2)
    levels = telling.strengths(finding)
    for heading, group in telling.grouped(finding, split=split):
        lines = [_line(f"{heading}:")] if heading else []
        for _, one in group:
            tint = _TINTS.get(levels.get(one.sentence), {})
            number = "" if one.is_unit else str(one.sentence)
            lines.append(_line(one.text, indent, f"{number:>{width}}  ", **tint))
            lines.append(_line(f"[{telling.about(one)}]", indent, indent, dim="dim" in tint))
        yield lines
    yield [_line(words)] if (words := telling.message(finding)) else []


@options.command
def find(
    *,
    hypothesis_and_papers: Annotated[
        tuple[str, ...], argument("[HYPOTHESIS] PAPER...", required=True, kind=click.Path(allow_dash=True))
    ],
    budget: Annotated[int, options.number("-k, --budget K", "How many sentences to find.")] = 10,
    hypotheses_file: Annotated[
        Path | None, option("--hypotheses FILE", "Hypotheses, one per line; - is standard input.")
    ],
    goal: Annotated[Goal, option("--goal", "Sentences that answer HYPOTHESIS, or all that a reviewer would extract.")],
    scope: Annotated[AspectScope, option("--scope", "All evidence, or only outcomes and analyses.")],
    spec: Annotated[
        str, option("--system SYSTEM", "System that finds the evidence.", shell_complete=options.complete_systems)
    ] = DEFAULT_FINDER,
    semantic: Annotated[bool, option("--semantic", "Also search by meaning, with MiniLM, not by words alone.")],
    split_by: Annotated[Literal["direction"] | None, option("--split-by", "Group the sentences by what they report.")],
    split_model: Annotated[
        str | None, option("--split-model MODEL", "Language model that reads what sentences report.")
    ],
    seed: options.Seed,
    asking: Asking,
    table_format: Annotated[str, options.output_format("text", "markdown", "csv", "ris")],
    rows_of: Annotated[
        telling.RowsOf, option("--rows", "Table rows: one per sentence, or one per paper and hypothesis.")
    ],
    html: Annotated[
        Path | None, option("--html", "Write a page of the papers with the evidence marked.", OutputFile())
    ],
    xlsx: Annotated[Path | None, option("--xlsx", "Write a spreadsheet of papers and sentences.", OutputFile())],
    mark: Annotated[
        Path | None, option("--mark FOLDER", "Write copies of the PDFs with the evidence marked.", options.FOLDER)
    ],
    overwrite: Annotated[bool, option("--overwrite", "Replace existing output files.")],
) -> int:
    """Find the evidence for a hypothesis in your own papers.

    Prints whether PAPER has evidence for or against HYPOTHESIS, then its sentences,
    best first (in paper order if the system returns a set); if there may be no
    evidence, the three closest. Table rows, captions and end matter follow. PAPER
    is a file, a list of papers such as Zotero's RIS, a folder, or - for standard
    input; docs/papers.md lists the formats. Sentences are numbered from 0, headings
    included. Exit code 1: some papers could not be read or answered; 2: none could.

    A built-in model reads what each sentence reports about the outcome; with
    --split-model, a language model does (options of llm_base after commas).
    --split-by direction groups the sentences by it.

    The default system sends nothing. An llm_... system sends the whole PAPER and
    HYPOTHESIS to the provider of its model, and dense_api to its base_url.
    --split-model sends HYPOTHESIS and the sentences that were found.

    \b
    Examples:
      evidencebench find "Tea lowers blood pressure." paper.pdf
      evidencebench find --hypotheses questions.txt papers/ --html page.html
      evidencebench find --hypotheses questions.txt papers/ --xlsx answers.xlsx
      evidencebench find "Tea lowers blood pressure." paper.txt \\
        --system llm_base:model=openai/gpt-4o-mini --max-cost-usd 0.05
    """
    spec = _finder(spec) if semantic else spec
    hypotheses, given = _split(hypothesis_and_papers, hypotheses_file)
    _tell_languages(hypotheses)
    files = paper_files(given)
    names = _shown_names(given, files)
    for name, path in (("--html", html), ("--xlsx", xlsx)):
        if path is not None:
            refuse_existing(path, overwrite=overwrite, no_stream="has the sentences", option=name)
    if xlsx is not None:
        require_extra("find --xlsx", "xlsx", "xlsxwriter")
    copies = planned_copies({name: Path(path) for path, name in names.items()}, mark, overwrite=overwrite)
    asks = asks_model(spec) or split_model is not None
    require_model(asking, asks=asks)

    def find(client: ChatClient | None, shown: ProgressReporter, settle: Callable[[], bool] | None = None) -> _Answers:
        asker = None if split_model is None else asker_from(split_model, seed=seed, client=client)
        how: dict[str, Any] = {"budget": budget, "goal": goal, "scope": scope, "settle": settle}
        how["read_directions"] = reported_directions if asker is None else directions_by_model(asker)
        how["system"] = make_system(spec, seed=seed, client=client)
        papers, failed = _read(files, names, shown)
        papers, duplicates = without_duplicates(papers, pdf_first=mark is not None)  # a PDF can be marked
        findings: list[Finding] = []
        for number, (paper, hypothesis) in enumerate(product(papers, hypotheses)):
            shown(number, len(papers) * len(hypotheses))
            try:
                findings.append(find_evidence(paper, hypothesis, **how))
            except ReplyError as error:
                failed.append(ReplyError(f"{paper.name}: {error}"))
        return _Answers(findings, failed, [_without_path(str(error), names) for error in failed], duplicates)

    if asking.estimate:

        def rehearse(client: ChatClient, shown: ProgressReporter) -> Rehearsal:
            findings, failed, *_ = find(client, shown)
            n_all, first_error = len(findings) + len(failed), str(failed[0]) if failed else ""
            return Rehearsal(n_instances=n_all, n_failed=len(failed), first_error=first_error)

        return print_estimate(asking, rehearse)
    with opened_client(asking, "asking", asks=asks) as (client, waiting, on_progress):
        answers = find(client, on_progress, waiting.settle)
    tell_asked(client)
    _tell(answers, spec, budget)
    _write_files(answers, html, xlsx, copies, split=split_by is not None)
    if asking.as_json:
        options_used = {"system": spec, "budget": budget, "scope": scope, "goal": goal, "split_model": split_model}
        results = {
            "findings": list(map(telling.finding_record, answers.findings)),
            "failed": answers.reasons,
            "duplicates": [{"paper": paper.name, "same_as": kept.name} for paper, kept in answers.duplicates],
        }
        print_json({**options_used, **results, **totals_fields(client)})
    else:
        _print(answers.findings, table_format, rows_of=rows_of, split=split_by is not None)
    return 0 if not answers.failed else 1 if answers.findings else 2


def _finder(spec: str) -> str:
    """Return the finder that asks for meaning; it stands in no other system's place."""
    if spec != DEFAULT_FINDER:
        raise click.UsageError(f"--semantic is of the system {DEFAULT_FINDER}; leave it out, or --system {spec}")
    return SEMANTIC_FINDER


def _write_files(answers: _Answers, html: Path | None, xlsx: Path | None, copies: MarkedCopies, *, split: bool) -> None:
    findings = answers.findings
    links: dict[str, str] = {}
    for name, copy, problem in write_copies(findings, copies):
        if copy and html:
            links[name] = os.path.relpath(copy.resolve(), html.parent.resolve())
        said = f"marked in {copy}" if copy else f"not marked: {problem}"
        click.echo(printable(f"{name}: {said}"), err=True)
    if html is not None and findings:
        write_whole(html, findings_page(findings, split=split, failed=answers.reasons, links=links))
    if xlsx is not None and findings:
        write_whole(xlsx, telling.findings_workbook(findings))
    for path in filter(None, (html, xlsx) if findings else ()):
        click.echo(f"{path}: {counted(len(findings), 'answer')}", err=True)


def _split(given: tuple[str, ...], hypotheses_file: Path | None) -> tuple[tuple[str, ...], Sequence[str]]:
    if hypotheses_file is not None:
        if str(hypotheses_file) == STANDARD_INPUT and STANDARD_INPUT in given:
            raise click.UsageError("standard input holds either the hypotheses or a paper, not both")
        lines, name = read_lines(hypotheses_file)
        hypotheses = tuple(dict.fromkeys(filter(None, map(str.strip, lines))))
        n = len(hypotheses)
        if not 0 < n <= _MOST_HYPOTHESES:
            raise UnreadableError(f"{name}: expected 1 to {_MOST_HYPOTHESES:,} hypotheses, one a line, got {n:,}")
        return hypotheses, given
    hypothesis, *papers = _hypothesis_first(given)
    if not hypothesis.strip():
        raise click.UsageError("HYPOTHESIS: expected a sentence, got an empty one")
    return (hypothesis,), papers


_NAME_OF_PAPER = re.compile(r"\S+\.(?:pdf|n?xml|html?|txt|md|docx|epub|json|ris|bib)", re.IGNORECASE)


def _hypothesis_first(given: Sequence[str]) -> Sequence[str]:
    """Return the hypothesis and the papers, also where it comes last; raises where its quotes are missing."""
    first, *rest = given
    claims = [text for text in rest if " " in text and not _exists(text)]
    if len(claims) == 1 and (_is_paper(first) or _exists(first)):
        given = [*claims, *(text for text in given if text not in claims)]
        print_prose(f"note: HYPOTHESIS comes first; read as: {printable(_written(*given))}", err=True)
    elif _is_paper(first):
        raise click.UsageError(f"HYPOTHESIS comes first: {_written('HYPOTHESIS', *given)}")
    elif not rest:
        raise click.UsageError(f"PAPER is missing: {_written(first)} paper.pdf")
    words = list(takewhile(lambda text: " " not in text and not _is_paper(text) and not _exists(text), given))
    if 1 < len(words) < len(given):
        raise click.UsageError(f"HYPOTHESIS needs quotes: {_written(' '.join(words), *given[len(words) :])}")
    return given


def _is_paper(text: str) -> bool:
    """Whether an argument must be a paper: a file, or the name of one."""
    return (
        text == STANDARD_INPUT or _NAME_OF_PAPER.fullmatch(text) is not None or (_exists(text) and Path(text).is_file())
    )


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except OSError:  # a hypothesis that is longer than the name of a file may be
        return False


def _written(*arguments: str) -> str:
    return shlex.join(["evidencebench", "find", *arguments])


def _shown_names(given: Sequence[str], files: Sequence[PaperFile]) -> dict[str, str]:
    """Return path -> the name that is shown: within a folder that was given, and so much more as tells them apart."""
    folders = [Path(name) for name in given if name != STANDARD_INPUT and Path(name).is_dir()]
    names = {}
    for path in (Path(file.name) for file in files):
        folder = next((folder for folder in folders if path.is_relative_to(folder)), path.parent)
        names[str(path)] = path.relative_to(folder).as_posix()
    while repeated := [name for name, n in Counter(names.values()).items() if n > 1]:
        longer = {path: "/".join(Path(path).parts[-name.count("/") - 2 :]) for path, name in names.items()}
        names |= {path: longer[path] for path, name in names.items() if name in repeated}
    return names


def _without_path(text: str, names: Mapping[str, str]) -> str:
    """Return a name or message, which begins with a path, with the name that is shown in its place."""
    path = next((path for path in names if text.startswith(path)), "")
    return f"{names[path]}{text[len(path) :]}" if path else text


def _read(
    files: Sequence[PaperFile], names: Mapping[str, str], shown: ProgressReporter
) -> tuple[list[Paper], list[EvidenceBenchError]]:
    papers: list[Paper] = []
    failed: list[EvidenceBenchError] = []
    for number, (file, read) in enumerate(zip(files, read_papers(files), strict=True)):
        shown(number, len(files), "reading")
        own = {str(Path(file.name)): names[str(Path(file.name))]}
        papers += [replace(one, name=_without_path(one.name, own)) for one in read if isinstance(one, Paper)]
        failed += [one for one in read if isinstance(one, DataError)]
    return papers, failed
