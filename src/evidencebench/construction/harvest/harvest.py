"""Reviews to passages."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from evidencebench.construction.draft import CitedPassage, Draft, DraftHeader, output_of, writing_drafts
from evidencebench.construction.harvest.passages import passages_of
from evidencebench.construction.harvest.reasons import (
    NOT_AT_HAND,
    HarvestRules,
    ReviewSource,
    read_review,
    reason_to_drop,
)
from evidencebench.construction.harvest.references import id_to_fetch, paper_id_of
from evidencebench.errors import DataError, UnreadableError
from evidencebench.files.disk import file_sha256, read_bytes
from evidencebench.query import Kind

# A review's file becomes drafts: one for each passage, those that are dropped included.


MOST_CONTEXT = 6_000
"""The most characters of the paragraphs around a passage."""


class ReviewHarvest(NamedTuple):
    """A review's drafts in order, and how many marks stand in its headings, tables, figures and notes."""

    drafts: tuple[Draft, ...]
    n_marks_elsewhere: int


def harvest_review(content: bytes, *, file: str, rules: HarvestRules) -> ReviewHarvest:
    """Return a draft for each passage of a review; ``file`` is its name. Raises as `read_review` does."""
    source = read_review(content, file=file)
    return ReviewHarvest(tuple(_drafts(source, rules)), source.text.n_elsewhere)


def _drafts(source: ReviewSource, rules: HarvestRules) -> Iterator[Draft]:
    passages = list(passages_of(source.paper, source.marks, source.listed))
    cited = Counter(
        (source.paper.places[passage.first].section, ref) for passage in passages for ref in passage.references
    )
    body = [index for index, kind in enumerate(source.paper.kinds) if kind is Kind.BODY]
    paragraphs = {
        number: " ".join(source.paper.sentences[index] for index in members)
        for number, members in groupby(body, key=lambda index: source.paper.places[index].paragraph)
    }
    numbers: Counter[str] = Counter()
    for passage in passages:
        first, *others = passage.references or ("?",)
        name = f"{first}+{len(others)}" if others else first
        numbers[name] += 1
        ids: Mapping[str, str] = {}
        file = ""
        if len(passage.references) == 1:
            ids = source.listed[passage.references[0]].ids
            if rules.papers and (paper := rules.papers.find(ids)):
                ids, file = {**paper.ids, **ids}, paper.file
        reason = reason_to_drop(source, passage, cited, rules)
        summary = " ".join(source.paper.sentences[passage.first : passage.last + 1])
        yield Draft(
            id=f"{source.paper.name}:{name}:{numbers[name]}",
            review_id=source.id,
            paper_id=paper_id_of(ids),
            paper_file=file,
            paper_ids=ids,
            summary=summary,
            context="" if reason else _context(paragraphs, source.paper.places[passage.first].paragraph, summary),
            passage=CitedPassage(
                review_file=source.paper.name,
                start=source.paper.spans[passage.first].start,
                stop=source.paper.spans[passage.last].stop,
                marks=tuple(mark.text for mark in passage.marks),
                reference=" ".join(passage.references),
                section=source.paper.places[passage.first].section,
            ),
            dropped=reason,
        )


def _context(paragraphs: Mapping[int, str], number: int, summary: str) -> str:
    """Return a passage's paragraph, the one before and the one behind, on both sides as far as there is room."""
    before, _, behind = paragraphs[number].partition(summary)
    before = "\n\n".join([*filter(None, [paragraphs.get(number - 1)]), before])
    behind = "\n\n".join([behind, *filter(None, [paragraphs.get(number + 1)])])
    room = max(0, MOST_CONTEXT - len(summary)) // 2
    return before[max(0, len(before) - room) :] + summary + behind[:room]


# Reviews become ``passages.jsonl``: one draft a passage, those that were dropped included.


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestReport:
    """What became of the drafts."""

    n_reviews: int  # that were read, with passages or not
    n_without_marks: int  # of these, those in which no mark was found
    n_kept: int  # drafts that go on
    n_papers: int  # that these speak of
    dropped: Counter[str]  # reason -> drafts
    n_marks_elsewhere: int  # in headings, tables, figures and notes, which are in no draft
    unreadable: tuple[str, ...]  # why files could not be read
    ids: tuple[str, ...]  # of the papers that are wanted and not at hand, as ``papers fetch`` takes them, each once


class DraftCount:
    """Counts drafts while they are made."""

    def __init__(self) -> None:
        self.dropped: Counter[str] = Counter()
        self.n_kept = 0
        self._papers: set[str] = set()
        self._wanted: dict[str, None] = {}

    def add(self, draft: Draft) -> None:
        """Count a draft."""
        if draft.dropped:
            self.dropped[draft.dropped] += 1
        else:
            self.n_kept += 1
            self._papers.add(draft.paper_id)
        if draft.paper_ids and not draft.paper_file and draft.dropped in ("", NOT_AT_HAND):
            self._wanted[id_to_fetch(draft.paper_ids)] = None

    def report(
        self, *, n_reviews: int, n_without_marks: int = 0, n_marks_elsewhere: int = 0, unreadable: Sequence[str] = ()
    ) -> HarvestReport:
        """Return what was counted, and what the caller adds."""
        return HarvestReport(
            n_reviews=n_reviews,
            n_without_marks=n_without_marks,
            n_kept=self.n_kept,
            n_papers=len(self._papers),
            dropped=self.dropped,
            n_marks_elsewhere=n_marks_elsewhere,
            unreadable=tuple(unreadable),
            ids=tuple(self._wanted),
        )


def harvest(
    reviews: Sequence[Path],
    folder: Path,
    *,
    rules: HarvestRules,
    overwrite: bool = False,
    on_review: Callable[[int, int], object] = lambda *_: None,
) -> HarvestReport:
    """Write the passages of reviews into ``passages.jsonl`` in a folder; go on there after a stop."""
    n_files = Counter(path.name for path in reviews)
    if twice := [name for name, n in n_files.items() if n > 1]:
        raise DataError(
            f"{twice[0]}: expected reviews in files of different names, got several of this one; rename them, since a "
            "draft is named after its file"
        )
    header = DraftHeader(step="harvest", settings={"reviews": _digest(reviews), **settings_of(rules)})
    count, unreadable = DraftCount(), list[str]()
    n_without_marks = n_marks_elsewhere = 0
    make_folder(folder)
    with writing_drafts(output_of("harvest", folder), header, overwrite=overwrite) as writer:
        for number, path in enumerate(reviews, 1):
            try:
                drafts, n_elsewhere = harvest_review(read_bytes(path), file=path.name, rules=rules)
            except UnreadableError as error:
                unreadable.append(str(error))
            else:
                for draft in drafts:
                    if draft.id not in writer.done:
                        writer.append(draft)
                    count.add(draft)
                n_without_marks += not (drafts or n_elsewhere)
                n_marks_elsewhere += n_elsewhere
            on_review(number, len(reviews))
        writer.finish()
    return count.report(
        n_reviews=len(reviews) - len(unreadable),
        n_without_marks=n_without_marks,
        n_marks_elsewhere=n_marks_elsewhere,
        unreadable=unreadable,
    )


def settings_of(rules: HarvestRules) -> dict[str, object]:
    """Return what of the rules decides the drafts, for the file's header."""
    papers = rules.papers.sha256[:12] if rules.papers else ""
    return {"licences": sorted(rules.licences), "papers": papers}


def make_folder(folder: Path) -> None:
    """Make a work folder, unless it is there; raises `DataError` where it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be made: {error.strerror}") from error


def _digest(reviews: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in reviews:
        try:
            digest.update(f"{path.name} {file_sha256(path)}\n".encode())
        except OSError:  # told when it is harvested
            digest.update(f"{path.name}\n".encode())
    return digest.hexdigest()[:12]
