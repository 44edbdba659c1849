"""The datasheet of a data set: what is known of its files, and marks where only its makers can tell."""

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from evidencebench.construction.assembly.losses import StepLosses, loss_table
from evidencebench.construction.assembly.provenance import Sources, source_table
from evidencebench.construction.assembly.settings import AssemblySettings, SplitCounts
from evidencebench.construction.steps.votes import WindowAgreement
from evidencebench.data.statistics import Description, Spread
from evidencebench.tables import Cell, Table, as_markdown
from evidencebench.version import __version__
from evidencebench.wording import counted

_WIDTH = 120

# What the train and dev splits of EvidenceBench have (133 instances), measured: least to most, and mean where told.
_ORIGINAL = {
    "sentences of the paper": "52 to 440, mean 170",
    "aspects": "2 to 30, mean 8",
    "sentences that are evidence": "2 to 62",
    "fewest sentences that cover all": "1 to 13",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasheetFacts:
    """What the datasheet tells.

    ``descriptions`` are the statistics by split; ``starts_late`` says that the first step of ``steps`` read a file that
    is not at hand; ``agreement`` is that of the windows of all judged drafts, by model; ``against`` are
    names and checksums of other data sets; ``licences`` counts the papers by licence.
    """

    settings: AssemblySettings
    steps: Sequence[StepLosses]
    starts_late: bool
    splits: Mapping[str, SplitCounts]
    descriptions: Mapping[str, Description]
    n_papers: int
    n_reviews: int
    n_unproven: int
    sources: Sources
    agreement: Mapping[str, WindowAgreement]
    setting_lines: Sequence[str]
    against: Sequence[tuple[str, str]]
    licences: Counter[str]


def datasheet(facts: DatasheetFacts) -> str:
    """Return the datasheet as Markdown."""
    template = Template(files(__package__).joinpath("datasheet.md").read_text(encoding="utf-8"))
    n_instances = sum(one.n_instances for one in facts.splits.values())
    return template.substitute(
        name=facts.settings.name,
        date=facts.settings.made_on.isoformat(),
        version=__version__,
        n_instances=f"{counted(n_instances, 'instance')} of {counted(facts.n_papers, 'paper')} and "
        f"{counted(facts.n_reviews, 'review')}",
        splits=as_markdown(_split_table(facts.splits)),
        statistics=as_markdown(_statistics_table(facts.descriptions)),
        losses=as_markdown(loss_table(facts.steps)),
        chain=_chain(facts),
        replies=_replies(facts.sources),
        settings=_listed("Settings of the steps:", facts.setting_lines),
        judging=_judging(facts),
        leakage=_leakage(facts.settings),
        decontamination=_decontamination(facts.against),
        licences=_licences(facts.licences),
    )


def _paragraph(text: str, indent: str = "") -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def _listed(title: str, lines: Sequence[str]) -> str:
    return (
        "\n".join([title, "", *(_paragraph(f"* {line}", "  ") for line in lines)])
        if lines
        else f"{title} none are known."
    )


def _split_table(splits: Mapping[str, SplitCounts]) -> Table:
    rows: list[list[Cell]] = [
        [split, one.n_instances, one.n_papers, one.n_reviews, 100 * one.wanted, 100 * one.reached]
        for split, one in splits.items()
    ]
    return Table(columns=["split", "instances", "papers", "reviews", "wanted %", "reached %"], rows=rows)


def _statistics_table(descriptions: Mapping[str, Description]) -> Table:
    """Return the statistics by split, beside those of the benchmark whose way of making this is."""

    def row(name: str, spreads: Sequence[Spread | None]) -> list[Cell]:
        return [name, *("" if one is None else _range(one) for one in spreads), _ORIGINAL.get(name, "")]

    found = list(descriptions.values())
    rows: list[list[Cell]] = [
        row("sentences of the paper", [one.sentences for one in found]),
        row("aspects", [one.aspects for one in found]),
        row("aspects labelled Results", [one.results for one in found]),
        row("sentences that are evidence", [one.evidence for one in found]),
        row("fewest sentences that cover all", [one.optimum for one in found]),
        ["instances without Results aspects", *(one.n_without_results for one in found), "3 of 133"],
        ["aspects without a sentence", *(one.n_uncoverable_aspects for one in found), ""],
    ]
    return Table(columns=["per instance", *descriptions, "EvidenceBench, train and dev"], rows=rows)


def _range(spread: Spread) -> str:
    return f"{spread.minimum:,} to {spread.maximum:,}, mean {spread.mean:.1f}"


def _chain(facts: DatasheetFacts) -> str:
    if facts.starts_late:
        return _paragraph(
            f"The files of the steps before '{facts.steps[0].step}' were not at hand, so that what they dropped is not "
            "counted. **TO FILL IN**"
        )
    return "Where do the reviews come from, how were they chosen, and from which years? **TO FILL IN**"


def _replies(sources: Sources) -> str:
    if not sources.parts:
        return "No reply of a model is named in the drafts: how the texts and labels were made is **TO FILL IN**."
    return (
        f"Models and prompts that the parts of the instances come from:\n\n{as_markdown(source_table(sources.parts))}"
    )


def _judging(facts: DatasheetFacts) -> str:
    told = [
        f"windows of {one.window} sentences with an overlap of {one.overlap} ({counted(n, 'instance')})"
        for one, n in sorted(facts.sources.windows.items())
    ]
    unproven = f", but for {counted(facts.n_unproven, 'instance')} without a proof" if facts.n_unproven else ""
    return _paragraph(
        f"Which sentences hold an aspect was judged in {' and '.join(told)}. A sentence holds it if any window that it "
        "stands in says so; several votes on a window count by majority. The optima, that is the fewest "
        f"sentences that cover all aspects and the most aspects for a number of sentences, are exact{unproven}. "
        + " ".join(
            f"Of {model}, {one.text}{f'. **Doubtful**: {one.warning}' if one.warning else ''}."
            for model, one in facts.agreement.items()
        )
    )


def _leakage(settings: AssemblySettings) -> str:
    apart = "paper and no review" if settings.split_by == "both" else "paper"
    return _paragraph(
        f"No {apart} is in two splits. Papers are the same that share an id, or more than a quarter of the "
        "sentences of the shorter one. What is linked so stays together; the groups are drawn into splits at random "
        f"(seed {settings.seed}), so that the sizes come as close to the wanted shares as whole groups allow."
    )


def _decontamination(against: Sequence[tuple[str, str]]) -> str:
    if not against:
        return "The data set was not compared with others: its papers may be in them."
    lines = [f"{name}, SHA-256 {sha256}" for name, sha256 in against]
    return _listed("Left out is what is in other data sets, by a paper's id or text or by the hypothesis:", lines)


def _licences(licences: Counter[str]) -> str:
    rows: list[list[Cell]] = []
    rows += [[licence, n] for licence, n in sorted(licences.items(), key=lambda item: (-item[1], item[0]))]
    table = as_markdown(Table(columns=["licence", "papers"], rows=rows))
    return f"Licences of the papers, as their files state them:\n\n{table}"
