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
from evidencebench.construction.draft import MANIFEST, DraftFile, dropped, judging_of
from evidencebench.construction.harvest.papers import papers_in
from evidencebench.construction.harvest.references import UNKNOWN
from evidencebench.construction.leakage import Met, assign_groups, linked_groups, met_elsewhere, read_candidates
from evidencebench.construction.losses import StepLosses, dropped_csv, explained, loss_table, losses_of, steps_before
from evidencebench.construction.noise import estimate_noise
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
from evidencebench.files.disk import file_sha256
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
    return members, counts, list(_warnings(counts, largest, by_review=by_review))


def _warnings(counts: Mapping[str, SplitCounts], largest: Counter[str], *, by_review: bool) -> Iterator[str]:
    n_all = sum(count.n_instances for count in counts.values())
    for split, count in counts.items():
        if not count.n_instances:
            why = f"since {counted(n_all, 'instance')} cannot be divided so; change their shares"
            yield f"split '{split}' got no instance and has no file, {why}"
    if all(abs(count.reached - count.wanted) <= _FAR for count in counts.values()):
        return
    reached = (f"{split} {100 * count.reached:.1f} % for {100 * count.wanted:g} %" for split, count in counts.items())
    review, n = largest.most_common(1)[0]
    who = f"review '{shortened(review, 40)}' has {n:,} of them; split_by = \"paper\" keeps only papers apart"
    linked = f"{largest.total():,} of {n_all:,} instances are linked and must stay in one split"
    linked += f": {who}" if by_review else ", since they are of one paper"
    why = linked if largest.total() > 1 else "The data set is small"
    yield f"the shares are not reached: {', '.join(reached)}. {why}"


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
        candidates, index, paper_of, digest = read_candidates(source, papers, read_papers, runs_on, on_read)
        met = met_elsewhere(candidates, index, against, progress_of(on_progress, "comparing"))
        first_of = dict[tuple[int, bytes], str]()  # paper and summary -> draft
        for candidate in candidates:
            if candidate.id not in met:
                first = first_of.setdefault((paper_of[candidate.id], candidate.summary), candidate.id)
                if first != candidate.id:
                    met[candidate.id] = Met(DUPLICATE, first)
        kept = [candidate for candidate in candidates if candidate.id not in met]
        reasons = Counter(why.reason for why in met.values())
        if not kept:
            told = explained(source, reasons)
            why = " ".join(["expected a draft for the data set, got none that is left.", *told])
            raise NothingKeptError(f"{source.path}: {why}", explained=told)
        ids = [candidate.id for candidate in kept]
        pairs = [(paper_of[candidate.id], candidate.review_id) for candidate in kept]
        members, counts, warnings = choose_splits(pairs, settings)
        members = {split: positions for split, positions in members.items() if positions}
        unproven, opened = dict[str, tuple[str, ...]](), open_dataset(read_papers).file
        numbers = iter(range(1, len(ids) + 1))

        def instances(split: str) -> Iterator[Instance]:
            names = [(ids[position], f"{name}_{split}_id_{n}") for n, position in enumerate(members[split])]
            for instance, tasks in map_in_order(runs_on, _solver, (source, opened), names):
                unproven.update({instance.id: tasks} if tasks else {})
                yield instance
                on_progress(next(numbers), len(ids), "solving")

        for split in members:
            write_dataset(made / f"{split}.json", instances(split))
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
        on_described = progress_of(on_progress, "describing")
        described = {split: describe(open_dataset(made / f"{split}.json"), on_described) for split in members}
        sheet = datasheet(
            name, settings, report, step_files=before, ids=ids, described=described, against=against, papers=papers
        )
        write_whole(made / "datasheet.md", sheet)
        shares = {split: str(share) for split, share in settings.fractions.items()}
        made_files = sorted(made.iterdir())
        manifest = {
            "evidencebench": __version__,
            "name": name,
            "date": settings.made_on,
            "is_partial": report.is_partial,
            "settings": {"shares": shares, "split_by": settings.split_by, "seed": settings.seed},
            "drafts_sha256": digest,  # of the drafts in the order of their ids, one a line
            "against": [{"name": dataset.name, "sha256": dataset.sha256} for dataset in against],
            "files": {path.name: {"sha256": file_sha256(path), "bytes": path.stat().st_size} for path in made_files},
        }
        write_whole(made / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
    return report


def progress_of(on_progress: OnProgress, doing: str) -> Callable[[int, int], None]:
    return lambda n_done, n_all: on_progress(n_done, n_all, doing)


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


# What is counted of an instance, its field of `Description`, and what EvidenceBench's train and dev splits have (133
# instances), measured.
_STATISTICS = (
    ("sentences of the paper", "sentences", "52 to 440, mean 170"),
    ("aspects", "aspects", "2 to 30, mean 8"),
    ("aspects labelled Results", "results", ""),
    ("sentences that are evidence", "evidence", "2 to 62"),
    ("fewest sentences that cover all", "optimum", "1 to 13"),
    ("instances without Results aspects", "n_without_results", "3 of 133"),
    ("aspects without a sentence", "n_uncoverable_aspects", ""),
)
_PARTIAL = "**This data set is partial**: drafts that had not passed all steps on that day are not in it."
_CUT = "The files of the steps before '{}' were missing, so what they dropped is not counted."
_REPLIES = "Models and prompts that wrote the parts of the instances:"
_REPLIES_NONE = "The drafts name no reply of a model: how the texts and labels were made is **TO FILL IN**."
_AGAINST = "Instances whose paper (by id or text) or hypothesis is in one of these data sets are left out:"
_AGAINST_NONE = "The data set was not compared with others, which may contain its papers."


def datasheet(
    name: str,
    settings: AssemblySettings,
    report: AssemblyReport,
    *,
    step_files: Sequence[DraftFile],
    ids: Sequence[str],
    described: Mapping[str, Description],
    against: Sequence[Dataset],
    papers: Path,
) -> str:
    """Return the datasheet as Markdown; the drafts ``ids`` of the last of the files became instances."""
    last, step_settings = step_files[-1], list[str]()
    for header in (file.header for file in step_files):
        told = [
            printable(f"{key} {' '.join(map(str, value)) if isinstance(value, list) else value}")
            for key, value in sorted(header.settings.items())
            if value not in (None, "", [], {}) and "url" not in key  # of one's own server: no one's business
        ]
        step_settings += [f"{header.step}: {', '.join(told)}"] if told else []
    parts = Counter[tuple[str, str, str]]()  # part, model and prompt that the part was read from
    windows, reviews, paper_files = Counter[tuple[int, int]](), set[str](), set[str]()
    edited, n_aspects = Counter[str](), 0  # step -> instances that people edited after it; dropped aspects
    for draft in map(last.__getitem__, ids):
        reviews.add(draft.review_id)
        paper_files.add(draft.paper_file)
        edited.update([*draft.edited])
        n_aspects += len(draft.dropped_aspects)
        parts.update((part, reply.model, reply.prompt) for part, reply in draft.sources_of.items())
        judging = judging_of(draft)
        windows[judging.window, judging.overlap] += 1
        for number, judged in enumerate(judging.rounds, 1):
            at_once = ", all aspects at once" if judged.asks_all else ""
            again = ", asked again" if number > 1 else ""
            parts[f"judge, round {number}{at_once}{again}", judged.model, judged.prompt] += 1
    columns = ("part", "model", "prompt (SHA-256)", "instances")
    replies = _table(columns, ((*where, prompt[:12], n) for (*where, prompt), n in parts.items()))
    edits = "People corrected the output of these steps: " + ", ".join(f"{step} of {n:,}" for step, n in edited.items())
    at_hand = papers_in(papers).papers
    licences = Counter(sorted(at_hand[file].licence if file in at_hand else UNKNOWN for file in paper_files))
    noise = estimate_noise(map(last.__getitem__, ids), marked_aspects(last.path.parent))
    unproven, others = report.unproven, [f"{dataset.name}, SHA-256 {dataset.sha256}" for dataset in against]
    fields = {
        "name": name,
        "date": settings.made_on,
        "version": __version__,
        "instances": counted(report.n_instances, "instance"),
        "papers": counted(sum(split.n_papers for split in report.splits.values()), "paper"),
        "reviews": counted(len(reviews - {""}), "review"),
        "partial": _PARTIAL if report.is_partial else "",
        "splits": _table(
            ("split", "instances", "papers", "reviews", "target %", "actual %"),
            (
                (split, count.n_instances, count.n_papers, count.n_reviews, 100 * count.wanted, 100 * count.reached)
                for split, count in report.splits.items()
            ),
        ),
        "statistics": _table(
            ("per instance", *described, "EvidenceBench, train and dev"),
            (
                (label, *(_spread(getattr(description, field)) for description in described.values()), original)
                for label, field, original in _STATISTICS
            ),
        ),
        "losses": as_markdown(loss_table(report.steps)),
        "cut": _CUT.format(report.steps[0].step) if step_files[0].header.reads else "",
        "replies": f"{_REPLIES}\n\n{replies}" if parts else _REPLIES_NONE,
        "settings": _listed(step_settings) or "None are known.",
        "windows": " and ".join(
            f"windows of {window} sentences with an overlap of {overlap} ({counted(n, 'instance')})"
            for (window, overlap), n in sorted(windows.items())
        ),
        "unproven": f", except for {counted(len(unproven), 'instance')} without a proof" if unproven else "",
        "noise": printable(f"{noise.text}{f' **Doubtful**: {noise.warning}.' if noise.warning else ''}"),
        "edits": edits if edited else "No person changed the output of the steps",
        "n_aspects": f"{n_aspects:,}",
        "apart": "paper and no review" if settings.split_by == "both" else "paper",
        "seed": settings.seed,
        "against": f"{_AGAINST}\n\n{_listed(others)}" if others else _AGAINST_NONE,
        "licences": _table(("licence", "papers"), licences.most_common()),
    }
    template = files(__package__).joinpath("datasheet.md").read_text(encoding="utf-8")
    paragraphs = filter(None, Template(template).substitute(fields).split("\n\n"))
    return "\n\n".join(text if text.startswith(("|", "* ", "#")) else _wrapped(text) for text in paragraphs)


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 120, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(_wrapped(f"* {line}", "  ") for line in lines)


def _table(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    return as_markdown(Table(columns=columns, rows=list(rows)))


def _spread(value: Spread | int | None) -> Cell:
    if isinstance(value, Spread):
        return f"{value.minimum:,} to {value.maximum:,}, mean {value.mean:.1f}"
    return "" if value is None else value
