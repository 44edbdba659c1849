"""The step ``assemble``: judged drafts become a data set in the published format, split without leakage."""

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import chain
from pathlib import Path
from string import Template

import msgspec

from evidencebench.construction.config import AssemblySettings
from evidencebench.construction.draft import MANIFEST, Draft, DraftFile, dropped, judging_of
from evidencebench.construction.harvest.papers import papers_in
from evidencebench.construction.leakage import (
    Candidate,
    Met,
    TextIndex,
    assign_groups,
    linked_groups,
    met_elsewhere,
    read_candidates,
    same_papers,
)
from evidencebench.construction.losses import (
    StepLosses,
    by_number,
    dropped_csv,
    explained,
    loss_table,
    losses_of,
    steps_before,
)
from evidencebench.construction.noise import LabelNoise, estimate_noise
from evidencebench.construction.people.marks import marked_aspects
from evidencebench.data.dataset import Dataset, open_dataset, reopen_dataset, write_dataset
from evidencebench.data.instance import Instance, Labels
from evidencebench.data.optima import derive_optima, with_optima
from evidencebench.data.sources import DataFile
from evidencebench.data.statistics import Description, Spread, describe
from evidencebench.engine.local import engine_of
from evidencebench.engine.protocol import Engine, map_in_order
from evidencebench.errors import NothingKeptError
from evidencebench.files.atomic import whole_folder, write_whole
from evidencebench.files.disk import file_sha256, packaged_table
from evidencebench.tables import Cell, Table, as_markdown, printable, shortened
from evidencebench.version import __version__
from evidencebench.wording import counted

_FAR = 0.02  # a reached share that is so far from the wanted one is told


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCounts:
    n_instances: int
    n_papers: int
    n_reviews: int
    wanted: float
    reached: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyReport:
    folder: str
    n_instances: int
    steps: tuple[StepLosses, ...]  # all from the first one known, ``assemble`` included
    splits: Mapping[str, SplitCounts]  # all wanted ones, also those that got no instance and so have no file
    warnings: tuple[str, ...]  # whole sentences
    unproven: Mapping[str, tuple[str, ...]]  # by instance id: the tasks whose optimum is not proven
    is_partial: bool = False  # whether drafts wait for a step


def choose_splits(
    kept: Sequence[tuple[int, str]], settings: AssemblySettings
) -> tuple[dict[str, list[int]], dict[str, SplitCounts], list[str]]:
    """Divide instances, given paper and review of each; return their positions by split, counts, and warnings."""
    by_review = settings.split_by == "both"
    groups = linked_groups([(paper, review) if by_review and review else (paper,) for paper, review in kept])
    shares = {split: share for split, share in settings.fractions.items() if share}
    places = assign_groups([len(group) for group in groups], shares, seed=settings.seed)
    placed = list(zip(places, groups, strict=True))
    members = {split: sorted(chain(*(group for place, group in placed if place == split))) for split in shares}
    counts = {
        split: SplitCounts(
            n_instances=len(chosen),
            n_papers=len({kept[position][0] for position in chosen}),
            n_reviews=len({kept[position][1] for position in chosen} - {""}),
            wanted=float(shares[split]),
            reached=len(chosen) / len(kept),
        )
        for split, chosen in members.items()
    }
    largest = Counter(kept[position][1] for position in max(groups, key=len))  # review -> instances
    return members, counts, list(_warnings(counts, largest, len(kept), by_review=by_review))


def _warnings(
    counts: Mapping[str, SplitCounts], largest: Counter[str], n_all: int, *, by_review: bool
) -> Iterator[str]:
    for split, count in counts.items():
        if not count.n_instances:
            why = f"since {counted(n_all, 'instance')} cannot be divided so; change their shares"
            yield f"split '{split}' got no instance and has no file, {why}"
    if all(abs(count.reached - count.wanted) <= _FAR for count in counts.values()):
        return
    reached = ", ".join(
        f"{split} {100 * count.reached:.1f} % for {100 * count.wanted:g} %" for split, count in counts.items()
    )
    review, n = largest.most_common(1)[0]
    who = f"review '{shortened(review, 40)}' has {n:,} of them; split_by = \"paper\" keeps only papers apart"
    linked = f"{largest.total():,} of {n_all:,} instances are linked and must stay in one split"
    linked += f": {who}" if by_review else ", since they are of one paper"
    yield f"the shares are not reached: {reached}. {linked if largest.total() > 1 else 'The data set is small'}"


STEP = "assemble"
DUPLICATE = "same paper and summary as another draft"
_MIN_DRAFTS_A_JOB = 50

OnProgress = Callable[[int, int, str], None]
"""Called with how many are done, how many there are, and what is done."""


def assemble(
    source: DraftFile,
    papers: Path,
    output: Path,
    name: str,
    settings: AssemblySettings,
    *,
    against: Sequence[Dataset] = (),
    overwrite: bool = False,
    jobs: int = 1,
    engine: Engine | None = None,
    on_progress: OnProgress = lambda *_: None,
) -> AssemblyReport:
    """Write a folder, whole or not at all, of the drafts that `filter_drafts` left, and what files beside them tell."""
    runs_on = engine_of(engine, jobs, at_most=1 + len(source.going_on) // _MIN_DRAFTS_A_JOB)
    before = steps_before(source)
    with whole_folder(output, marker=MANIFEST, overwrite=overwrite) as (made, scratch):
        read_papers, on_read = scratch / "papers.json", progress_of(on_progress, "reading")
        candidates, hashes, digest = read_candidates(source, papers, read_papers, runs_on, on_read)
        index = TextIndex(hashes)
        paper_of = same_papers(candidates, hashes, index)
        met = met_elsewhere(candidates, index, against, progress_of(on_progress, "comparing"))
        kept: dict[tuple[int, bytes], Candidate] = {}  # one of each paper and summary
        for candidate in candidates:
            if candidate.id not in met:
                first = kept.setdefault((paper_of[candidate.id], candidate.summary), candidate)
                if first is not candidate:
                    met[candidate.id] = Met(DUPLICATE, first.id)
        reasons = Counter(why.reason for why in met.values())
        if not kept:
            told = explained(source, reasons)
            why = " ".join(["expected a draft for the data set, got none that is left.", *told])
            raise NothingKeptError(f"{source.path}: {why}", explained=told)
        ids = [candidate.id for candidate in kept.values()]
        members, counts, warnings = choose_splits(
            [(paper, candidate.review_id) for (paper, _), candidate in kept.items()], settings
        )
        named = {
            split: [(ids[position], f"{name}_{split}_id_{n}") for n, position in enumerate(positions)]
            for split, positions in members.items()
            if positions
        }
        unproven = _write_splits(
            made, source, read_papers, named, engine=runs_on, on_progress=progress_of(on_progress, "solving")
        )
        gone = (dropped(source[draft_id], *why) for draft_id, why in sorted(met.items()))
        write_whole(made / "dropped.csv", dropped_csv(before, STEP, gone))
        report = AssemblyReport(
            folder=str(output),
            n_instances=len(kept),
            steps=(*map(losses_of, before), StepLosses(STEP, len(candidates), len(kept), reasons)),
            splits=counts,
            warnings=tuple(warnings),
            unproven=unproven,
            is_partial=not all(file.is_finished for file in before),
        )
        sheet = datasheet(
            name,
            settings,
            report,
            step_files=before,
            drafts=map(source.__getitem__, ids),
            descriptions={
                split: describe(open_dataset(made / f"{split}.json"), progress_of(on_progress, "describing"))
                for split in named
            },
            noise=estimate_noise(map(source.__getitem__, ids), marked_aspects(source.path.parent)),
            against=against,
            papers=papers,
        )
        write_whole(made / "datasheet.md", sheet)
        sizes = {path.name: path.stat().st_size for path in sorted(made.iterdir())}
        manifest = {
            "evidencebench": __version__,
            "name": name,
            "date": settings.made_on,
            "is_partial": report.is_partial,
            "settings": {
                "shares": {split: str(share) for split, share in settings.fractions.items()},
                "split_by": settings.split_by,
                "seed": settings.seed,
            },
            "drafts_sha256": digest,  # of the drafts in the order of their ids, one a line
            "against": [{"name": dataset.name, "sha256": dataset.sha256} for dataset in against],
            "files": {file: {"sha256": file_sha256(made / file), "bytes": size} for file, size in sizes.items()},
        }
        write_whole(made / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
    return report


def progress_of(on_progress: OnProgress, doing: str) -> Callable[[int, int], None]:
    return lambda n_done, n_all: on_progress(n_done, n_all, doing)


def _write_splits(
    folder: Path,
    source: DraftFile,
    papers: Path,
    named: Mapping[str, Sequence[tuple[str, str]]],
    *,
    engine: Engine,
    on_progress: Callable[[int, int], None],
) -> dict[str, tuple[str, ...]]:
    """Write a file a split, given the ids of its drafts and of their instances; return the optima without proof."""
    unproven: dict[str, tuple[str, ...]] = {}
    opened, n_all, n_done = open_dataset(papers).file, sum(map(len, named.values())), 0

    def instances(names: Sequence[tuple[str, str]]) -> Iterator[Instance]:
        nonlocal n_done
        for instance, tasks in map_in_order(engine, _solver, (source, opened), names):
            if tasks:
                unproven[instance.id] = tasks
            yield instance
            n_done += 1
            on_progress(n_done, n_all)

    for split, names in named.items():
        write_dataset(folder / f"{split}.json", instances(names))
    return unproven


def _solver(source: DraftFile, file: DataFile) -> Callable[[tuple[str, str]], tuple[Instance, tuple[str, ...]]]:
    papers = reopen_dataset(file)

    def solved(names: tuple[str, str]) -> tuple[Instance, tuple[str, ...]]:
        draft, instance_id = source[names[0]], names[1]
        paper, judging = papers[draft.paper_file].query, judging_of(draft)
        aspects = tuple(f"{instance_id}_aspect_{number}" for number in range(len(draft.aspects)))
        query = replace(paper, instance_id=instance_id, paper_id=draft.paper_id, hypothesis=draft.hypothesis)
        labels = Labels(
            aspects=aspects,
            results=tuple(aspects[number] for number in sorted(set(draft.results or ()))),
            sources={aspect: tuple(sorted(set(held))) for aspect, held in zip(aspects, judging.sources, strict=True)},
            texts=dict(zip(aspects, draft.aspects, strict=True)),
            review_id=draft.review_id,
        )
        instance = Instance(query=query, labels=labels)
        optima = derive_optima(instance)
        return with_optima(instance, optima), optima.unproven

    return solved


_SHEET = packaged_table(__file__, "datasheet.toml")


def datasheet(
    name: str,
    settings: AssemblySettings,
    report: AssemblyReport,
    *,
    step_files: Sequence[DraftFile],
    drafts: Iterable[Draft],
    descriptions: Mapping[str, Description],
    noise: LabelNoise,
    against: Sequence[Dataset],
    papers: Path,
) -> str:
    """Return the datasheet as Markdown: ``drafts`` became instances, and ``noise`` is of their labels."""
    step_settings = []
    for file in step_files:
        told = [
            printable(f"{key} {' '.join(map(str, value)) if isinstance(value, list) else value}")
            for key, value in sorted(file.header.settings.items())
            if value not in (None, "", [], {}) and "url" not in key  # of one's own server: no one's business
        ]
        step_settings += [f"{file.header.step}: {', '.join(told)}"] if told else []
    parts = Counter[tuple[str, str, str]]()  # part, model and prompt that the part was read from
    windows, reviews, paper_files = Counter[tuple[int, int]](), {""}, set[str]()
    edited, n_aspects = Counter[str](), 0  # step -> instances that people edited after it; dropped aspects
    for draft in drafts:
        reviews.add(draft.review_id)
        paper_files.add(draft.paper_file)
        edited.update([*draft.edited])
        n_aspects += len(draft.dropped_aspects)
        parts.update((part, reply.model, reply.prompt) for part, reply in draft.sources_of.items())
        if draft.judging is not None:
            windows[draft.judging.window, draft.judging.overlap] += 1
            for number, judged in enumerate(draft.judging.rounds, 1):
                at_once = ", all aspects at once" if judged.asks_all else ""
                again = ", asked again" if number > 1 else ""
                parts[f"judge, round {number}{at_once}{again}", judged.model, judged.prompt] += 1
    edits = "People corrected what steps had made: " + ", ".join(f"{step} of {n:,}" for step, n in edited.items())
    edits = edits if edited else "No person changed what the steps had made"
    is_whole = not step_files[0].header.reads
    beginning = _paragraph("chain") if is_whole else _paragraph("chain_without_beginning", step=report.steps[0].step)
    replies = _paragraph("no_replies")
    if parts:
        rows: list[list[Cell]] = [[*where, prompt[:12], n] for (*where, prompt), n in parts.items()]
        table = Table(columns=["part", "model", "prompt (SHA-256)", "instances"], rows=rows)
        replies = f"{_paragraph('replies')}\n\n{as_markdown(table)}"
    at_hand = papers_in(papers).papers
    licences = Counter(at_hand[name].licence if name in at_hand else "unknown" for name in paper_files)
    licence_table = Table(columns=["licence", "papers"], rows=[list(row) for row in by_number(licences)])
    heads = ["split", "instances", "papers", "reviews", "wanted %", "reached %"]
    splits: list[list[Cell]] = [
        [split, counts.n_instances, counts.n_papers, counts.n_reviews, 100 * counts.wanted, 100 * counts.reached]
        for split, counts in report.splits.items()
    ]
    n_papers, n = sum(split.n_papers for split in report.splits.values()), len(report.unproven)
    measured = ["per instance", *descriptions, "EvidenceBench, train and dev"]
    statistics: list[list[Cell]] = []
    for row in _SHEET["statistics"]:
        values = (getattr(description, row["field"]) for description in descriptions.values())
        statistics.append([row["label"], *map(_spread, values), row["original"]])
    used = [
        f"windows of {window} sentences with an overlap of {overlap} ({counted(n, 'instance')})"
        for (window, overlap), n in sorted(windows.items())
    ]
    unproven = f", but for {counted(n, 'instance')} without a proof" if n else ""
    said = printable(f"{noise.text}{f' **Doubtful**: {noise.warning}.' if noise.warning else ''}")
    apart = "paper and no review" if settings.split_by == "both" else "paper"
    template = files(__package__).joinpath("datasheet.md").read_text(encoding="utf-8")
    return Template(template).substitute(
        name=name,
        date=settings.made_on,
        version=__version__,
        n_instances=f"{counted(report.n_instances, 'instance')} of {counted(n_papers, 'paper')} and "
        f"{counted(len(reviews) - 1, 'review')}",
        partial=f"\n\n{_paragraph('partial')}" if report.is_partial else "",
        edits=_paragraph("edits", edits=edits, n_aspects=f"{n_aspects:,}"),
        splits=as_markdown(Table(columns=heads, rows=splits)),
        statistics=as_markdown(Table(columns=measured, rows=statistics)),
        losses=as_markdown(loss_table(report.steps)),
        chain=beginning,
        replies=replies,
        settings=_listed(_paragraph("settings"), step_settings),
        judging=_paragraph("judging", windows=" and ".join(used), unproven=unproven, noise=said),
        leakage=_paragraph("leakage", apart=apart, seed=settings.seed),
        decontamination=_listed(
            _paragraph("against"), [f"{dataset.name}, SHA-256 {dataset.sha256}" for dataset in against]
        )
        if against
        else _paragraph("against_none"),
        licences=f"{_paragraph('licences')}\n\n{as_markdown(licence_table)}",
    )


def _paragraph(name: str, **fields: object) -> str:
    return _wrapped(Template(_SHEET["paragraphs"][name]).substitute(fields))


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 120, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def _listed(title: str, lines: Sequence[str]) -> str:
    listed = "\n".join([title, "", *(_wrapped(f"* {line}", "  ") for line in lines)])
    return listed if lines else f"{title} none are known."


def _spread(value: Spread | int | None) -> Cell:
    if isinstance(value, Spread):
        return f"{value.minimum:,} to {value.maximum:,}, mean {value.mean:.1f}"
    return "" if value is None else value
