"""Reviews become ``passages.jsonl``: a draft a passage, those that are dropped included."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from evidencebench.construction.draft import CitedPassage, Draft, DraftHeader, output_of, writing_drafts
from evidencebench.construction.harvest.passages import passages_of
from evidencebench.construction.harvest.reasons import NOT_AT_HAND, HarvestRules, read_review, reason_to_drop
from evidencebench.construction.harvest.references import id_to_fetch, paper_id_of
from evidencebench.errors import DataError, UnreadableError
from evidencebench.files.disk import file_sha256, read_bytes
from evidencebench.query import Kind

MOST_CONTEXT = 6_000  # the most characters of the paragraphs around a passage


class ReviewHarvest(NamedTuple):
    drafts: tuple[Draft, ...]
    n_marks_elsewhere: int  # in headings, tables, figures and notes


def harvest_review(content: bytes, *, file: str, rules: HarvestRules) -> ReviewHarvest:
    """Return a draft for each passage of a review; ``file`` is its name."""
    source = read_review(content, file=file)
    review, passages = source.paper, list(passages_of(source.paper, source.marks, source.listed))
    cited = Counter((review.places[passage.first].section, ref) for passage in passages for ref in passage.references)
    body = [index for index, kind in enumerate(review.kinds) if kind is Kind.BODY]
    paragraphs = {
        number: " ".join(review.sentences[index] for index in members)
        for number, members in groupby(body, key=lambda index: review.places[index].paragraph)
    }
    numbers: Counter[str] = Counter()
    drafts = []
    for passage in passages:
        place = review.places[passage.first]
        first, *others = passage.references or ("?",)
        name = f"{first}+{len(others)}" if others else first
        numbers[name] += 1
        ids = source.listed[first].ids if len(passage.references) == 1 else {}
        paper = rules.papers.find(ids) if rules.papers else None
        reason = reason_to_drop(source, passage, cited, rules, paper)
        if paper is not None:
            ids = {**paper.ids, **ids}
        summary = " ".join(review.sentences[passage.first : passage.last + 1])
        draft = Draft(
            id=f"{review.name}:{name}:{numbers[name]}",
            review_id=source.id,
            paper_id=paper_id_of(ids),
            paper_file="" if paper is None else paper.file,
            paper_ids=ids,
            summary=summary,
            context="" if reason else _context(paragraphs, place.paragraph, summary),
            passage=CitedPassage(
                review_file=review.name,
                start=review.spans[passage.first].start,
                stop=review.spans[passage.last].stop,
                marks=tuple(mark.text for mark in passage.marks),
                reference=" ".join(passage.references),
                section=place.section,
            ),
            dropped=reason,
        )
        drafts.append(draft)
    return ReviewHarvest(tuple(drafts), source.text.n_elsewhere)


def _context(paragraphs: Mapping[int, str], number: int, summary: str) -> str:
    """Return a passage's paragraph, the one before and the one behind, on both sides as far as there is room."""
    before, _, behind = paragraphs[number].partition(summary)
    before = "\n\n".join([*filter(None, [paragraphs.get(number - 1)]), before])
    behind = "\n\n".join([behind, *filter(None, [paragraphs.get(number + 1)])])
    room = max(0, MOST_CONTEXT - len(summary)) // 2
    return before[max(0, len(before) - room) :] + summary + behind[:room]


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestReport:
    n_reviews: int = 0  # that were read, with passages or not
    n_without_marks: int = 0  # of these, those in which no mark was found
    n_kept: int  # drafts that go on
    n_papers: int  # that these speak of
    dropped: Counter[str]  # reason -> drafts
    n_marks_elsewhere: int = 0  # in headings, tables, figures and notes, which are in no draft
    unreadable: tuple[str, ...] = ()  # why files could not be read
    ids: tuple[str, ...]  # of the papers that are wanted and not at hand, as ``papers fetch`` takes them, each once


def write_passages(
    output: Path, drafts: Iterable[Draft], *, settings: Mapping[str, object], rules: HarvestRules, overwrite: bool
) -> HarvestReport:
    """Write drafts, those that are not in the file yet, and count all; ``settings`` and the rules decide them."""
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{output.parent}: cannot be made: {error.strerror}") from error
    papers = rules.papers.sha256[:12] if rules.papers else ""
    header = DraftHeader(step="harvest", settings={**settings, "licences": sorted(rules.licences), "papers": papers})
    n_kept, dropped, cited, ids = 0, Counter[str](), set[str](), dict[str, None]()
    with writing_drafts(output, header, overwrite=overwrite) as writer:
        for draft in drafts:
            if draft.id not in writer.done:
                writer.append(draft)
            if draft.dropped:
                dropped[draft.dropped] += 1
            else:
                n_kept += 1
                cited.add(draft.paper_id)
            if draft.paper_ids and not draft.paper_file and draft.dropped in ("", NOT_AT_HAND):
                ids[id_to_fetch(draft.paper_ids)] = None
        writer.finish()
    return HarvestReport(n_kept=n_kept, n_papers=len(cited), dropped=dropped, ids=tuple(ids))


def harvest(
    reviews: Sequence[Path],
    folder: Path,
    *,
    rules: HarvestRules,
    overwrite: bool = False,
    on_review: Callable[[int, int], object] = lambda *_: None,
) -> HarvestReport:
    n_files = Counter(path.name for path in reviews)
    if twice := [name for name, n in n_files.items() if n > 1]:
        raise DataError(
            f"{twice[0]}: expected reviews in files of different names, got several of this one; rename them, since a "
            "draft is named after its file"
        )
    digest = hashlib.sha256()
    for path in reviews:
        try:
            digest.update(f"{path.name} {file_sha256(path)}\n".encode())
        except OSError:  # told when it is harvested
            digest.update(f"{path.name}\n".encode())
    unreadable: list[str] = []
    n_without_marks = n_marks_elsewhere = 0

    def drafts() -> Iterator[Draft]:
        nonlocal n_without_marks, n_marks_elsewhere
        for number, path in enumerate(reviews, 1):
            try:
                of_review, n_elsewhere = harvest_review(read_bytes(path), file=path.name, rules=rules)
            except UnreadableError as error:
                unreadable.append(str(error))
            else:
                yield from of_review
                n_without_marks += not (of_review or n_elsewhere)
                n_marks_elsewhere += n_elsewhere
            on_review(number, len(reviews))

    output, settings = output_of("harvest", folder), {"reviews": digest.hexdigest()[:12]}
    report = write_passages(output, drafts(), settings=settings, rules=rules, overwrite=overwrite)
    return replace(
        report,
        n_reviews=len(reviews) - len(unreadable),
        n_without_marks=n_without_marks,
        n_marks_elsewhere=n_marks_elsewhere,
        unreadable=tuple(unreadable),
    )
