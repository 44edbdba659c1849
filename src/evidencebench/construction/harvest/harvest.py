"""Reviews become ``passages.jsonl``: one draft a passage, those that were dropped included."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evidencebench.construction.draft_file import DraftHeader, writing_drafts
from evidencebench.construction.harvest.drafts import drafts_of_review
from evidencebench.errors import UnreadableError
from evidencebench.storage.reading import file_sha256, read_whole

PASSAGES_NAME = "passages.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestReport:
    """What became of the passages: how many are kept, reason -> how many were dropped; why reviews were not read."""

    n_reviews: int
    n_kept: int
    dropped: Counter[str]
    unreadable: tuple[str, ...]


def harvest(
    reviews: Sequence[Path],
    folder: Path,
    *,
    overwrite: bool = False,
    on_review: Callable[[int, int], object] = lambda *_: None,
) -> HarvestReport:
    """Write the passages of reviews into ``passages.jsonl`` in a folder; go on there after a stop."""
    header = DraftHeader(step="harvest", settings={"reviews": [f"{path.name} {file_sha256(path)}" for path in reviews]})
    n_kept, dropped, unreadable = 0, Counter[str](), list[str]()
    folder.mkdir(parents=True, exist_ok=True)
    with writing_drafts(folder / PASSAGES_NAME, header, overwrite=overwrite) as writer:
        for number, path in enumerate(reviews, 1):
            try:
                drafts = list(drafts_of_review(read_whole(path), file=path.name))
            except UnreadableError as error:
                unreadable.append(str(error))
                continue
            for draft in drafts:
                if draft.id not in writer.done:
                    writer.append(draft)
                if draft.dropped:
                    dropped[draft.dropped] += 1
                else:
                    n_kept += 1
            on_review(number, len(reviews))
        writer.finish()
    return HarvestReport(n_reviews=len(reviews), n_kept=n_kept, dropped=dropped, unreadable=tuple(unreadable))
