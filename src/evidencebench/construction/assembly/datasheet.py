"""The datasheet of a data set: what is known of its files, and marks where only its makers can tell."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from evidencebench.construction.config import AssemblyReport, AssemblySettings, SplitCounts
from evidencebench.construction.draft import Draft, DraftFile
from evidencebench.construction.harvest.papers import papers_in
from evidencebench.construction.judge import WindowAgreement
from evidencebench.construction.losses import loss_table
from evidencebench.data.dataset import Dataset
from evidencebench.data.statistics import Description, Spread
from evidencebench.tables import Cell, Table, as_markdown, printable
from evidencebench.version import __version__
from evidencebench.wording import counted

# A row, its field of `Description`, and what the train and dev splits of EvidenceBench have (133 instances), measured.
_STATISTICS = (
    ("sentences of the paper", "sentences", "52 to 440, mean 170"),
    ("aspects", "aspects", "2 to 30, mean 8"),
    ("aspects labelled Results", "results", ""),
    ("sentences that are evidence", "evidence", "2 to 62"),
    ("fewest sentences that cover all", "optimum", "1 to 13"),
    ("instances without Results aspects", "n_without_results", "3 of 133"),
    ("aspects without a sentence", "n_uncoverable_aspects", ""),
)


def datasheet(
    settings: AssemblySettings,
    report: AssemblyReport,
    *,
    step_files: Sequence[DraftFile],
    drafts: Iterable[Draft],
    descriptions: Mapping[str, Description],
    n_papers: int,
    agreement: Mapping[str, WindowAgreement],
    against: Sequence[Dataset],
    papers: Path,
) -> str:
    """Return the datasheet as Markdown: ``drafts`` became instances, ``agreement`` is by model, of all judged ones."""
    settings_by_step = {
        file.header.step: [
            printable(f"{key} {' '.join(map(str, value)) if isinstance(value, list) else value}")
            for key, value in sorted(file.header.settings.items())
            if value not in (None, "", [], {}) and "url" not in key  # of one's own server: no one's business
        ]
        for file in step_files
    }
    step_settings = [f"{step}: {', '.join(known)}" for step, known in settings_by_step.items() if known]
    parts = Counter[tuple[str, str, str]]()  # part, model and prompt that the part was read from
    windows, reviews, paper_files = Counter[tuple[int, int]](), {""}, set[str]()
    for draft in drafts:
        reviews.add(draft.review_id)
        paper_files.add(draft.paper_file)
        parts.update((part, reply.model, reply.prompt) for part, reply in draft.sources_of.items())
        if draft.judging is not None:
            windows[draft.judging.window, draft.judging.overlap] += 1
            for number, judged in enumerate(draft.judging.rounds, 1):
                at_once = ", all aspects at once" if judged.asks_all else ""
                decides = ", where windows disagreed" if judged.decides else ""
                parts[f"judge, round {number}{at_once}{decides}", judged.model, judged.prompt] += 1
    chain = "Where do the reviews come from, how were they chosen, and from which years? **TO FILL IN**"
    if step_files[0].header.source_sha256:
        chain = _paragraph(
            f"The files of the steps before '{report.steps[0].step}' were not at hand, so that what they dropped is "
            "not counted. **TO FILL IN**"
        )
    replies = "No reply of a model is named in the drafts: how the texts and labels were made is **TO FILL IN**."
    if parts:
        rows: list[list[Cell]] = [[*where, prompt[:12], n] for (*where, prompt), n in parts.items()]
        table = Table(columns=["part", "model", "prompt (SHA-256)", "instances"], rows=rows)
        replies = f"Models and prompts that the parts of the instances come from:\n\n{as_markdown(table)}"
    at_hand = papers_in(papers).papers
    licences = Counter(at_hand[name].licence if name in at_hand else "unknown" for name in paper_files)
    by_number = sorted(licences.items(), key=lambda item: (-item[1], item[0]))
    licence_table = Table(columns=["licence", "papers"], rows=[[licence, n] for licence, n in by_number])
    template = files(__package__).joinpath("datasheet.md").read_text(encoding="utf-8")
    return Template(template).substitute(
        name=settings.name,
        date=settings.made_on.isoformat(),
        version=__version__,
        n_instances=f"{counted(report.n_instances, 'instance')} of {counted(n_papers, 'paper')} and "
        f"{counted(len(reviews) - 1, 'review')}",
        splits=as_markdown(split_table(report.splits)),
        statistics=as_markdown(_statistics_table(descriptions)),
        losses=as_markdown(loss_table(report.steps)),
        chain=chain,
        replies=replies,
        settings=_listed("Settings of the steps:", step_settings),
        judging=_judging(windows, len(report.unproven), agreement),
        leakage=_paragraph(
            f"No {'paper and no review' if settings.split_by == 'both' else 'paper'} is in two splits. Papers are the "
            "same that share an id, or more than a quarter of the sentences of the shorter one. What is linked so "
            f"stays together; the groups are drawn into splits at random (seed {settings.seed}), so that the sizes "
            "come as close to the wanted shares as whole groups allow."
        ),
        decontamination=_listed(
            "Left out is what is in other data sets, by a paper's id or text or by the hypothesis:",
            [f"{dataset.name}, SHA-256 {dataset.sha256}" for dataset in against],
        )
        if against
        else "The data set was not compared with others: its papers may be in them.",
        licences=f"Licences of the papers, as their files state them:\n\n{as_markdown(licence_table)}",
    )


def _paragraph(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 120, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def _listed(title: str, lines: Sequence[str]) -> str:
    listed = "\n".join([title, "", *(_paragraph(f"* {line}", "  ") for line in lines)])
    return listed if lines else f"{title} none are known."


def split_table(splits: Mapping[str, SplitCounts]) -> Table:
    rows: list[list[Cell]] = [
        [split, counts.n_instances, counts.n_papers, counts.n_reviews, 100 * counts.wanted, 100 * counts.reached]
        for split, counts in splits.items()
    ]
    return Table(columns=["split", "instances", "papers", "reviews", "wanted %", "reached %"], rows=rows)


def _statistics_table(descriptions: Mapping[str, Description]) -> Table:
    rows: list[list[Cell]] = []
    for label, name, original in _STATISTICS:
        values = [getattr(description, name) for description in descriptions.values()]
        rows.append([label, *map(_spread, values), original])
    return Table(columns=["per instance", *descriptions, "EvidenceBench, train and dev"], rows=rows)


def _spread(value: Spread | int | None) -> Cell:
    if isinstance(value, Spread):
        return f"{value.minimum:,} to {value.maximum:,}, mean {value.mean:.1f}"
    return "" if value is None else value


def _judging(windows: Counter[tuple[int, int]], n_unproven: int, agreement: Mapping[str, WindowAgreement]) -> str:
    used = [
        f"windows of {window} sentences with an overlap of {overlap} ({counted(n, 'instance')})"
        for (window, overlap), n in sorted(windows.items())
    ]
    unproven = f", but for {counted(n_unproven, 'instance')} without a proof" if n_unproven else ""
    return _paragraph(
        f"Which sentences hold an aspect was judged in {' and '.join(used)}. A sentence holds it if any window that it "
        "stands in says so; several votes on a window count by majority. The optima, that is the fewest "
        f"sentences that cover all aspects and the most aspects for a number of sentences, are exact{unproven}. "
        + " ".join(
            f"Of {model}, {windows.text}{f'. **Doubtful**: {windows.warning}' if windows.warning else ''}."
            for model, windows in agreement.items()
        )
    )
