"""The splits of the candidates, with their counts, and what a user should know of them."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from evidencebench.construction.assembly.candidates import Candidate
from evidencebench.construction.assembly.settings import AssemblySettings, SplitCounts
from evidencebench.construction.assembly.splits import assign_groups, linked_groups
from evidencebench.tables import shortened
from evidencebench.wording import counted

_FAR = 0.02  # a reached share that is so far from the wanted one is told


class ChosenSplits(NamedTuple):
    """Split -> positions of its candidates; its counts; and whole sentences of warning."""

    members: dict[str, list[int]]
    counts: dict[str, SplitCounts]
    warnings: list[str]


def choose_splits(
    candidates: Sequence[Candidate], paper_of: Sequence[int], kept: Sequence[int], settings: AssemblySettings
) -> ChosenSplits:
    """Return the splits of the kept candidates; ``paper_of`` has the number of each candidate's paper."""

    def review(position: int) -> str:
        return candidates[position].draft.review_id

    by_review = settings.split_by == "both"
    keys = [[paper_of[position], *([review(position)] if by_review and review(position) else [])] for position in kept]
    groups = [[kept[index] for index in group] for group in linked_groups(keys)]
    shares = {split: share for split, share in settings.shares.items() if share}
    places = assign_groups([len(group) for group in groups], shares, seed=settings.seed)
    members: dict[str, list[int]] = {split: [] for split in shares}
    for group, split in zip(groups, places, strict=True):
        members[split] += group
    counts = {
        split: SplitCounts(
            n_instances=len(chosen),
            n_papers=len({paper_of[position] for position in chosen}),
            n_reviews=len({review(position) for position in chosen} - {""}),
            wanted=float(shares[split]),
            reached=len(chosen) / len(kept),
        )
        for split, chosen in members.items()
    }
    largest = max(groups, key=len)
    reviews = Counter(review(position) for position in largest)
    warnings = _warnings(counts, len(largest), len(kept), reviews, by_review=by_review)
    return ChosenSplits({split: sorted(chosen) for split, chosen in members.items()}, counts, warnings)


def _warnings(
    counts: dict[str, SplitCounts], n_largest: int, n_all: int, reviews: Counter[str], *, by_review: bool
) -> list[str]:
    told = [
        f"split '{split}' got no instance and has no file, since {counted(n_all, 'instance')} cannot be divided so; "
        "change --shares"
        for split, count in counts.items()
        if not count.n_instances
    ]
    if all(abs(count.reached - count.wanted) <= _FAR for count in counts.values()):
        return told
    reached = ", ".join(
        f"{split} {100 * count.reached:.1f} % for {100 * count.wanted:g} %" for split, count in counts.items()
    )
    if n_largest <= max(count.wanted for count in counts.values()) * n_all:
        return [*told, f"the shares are not reached: {reached}; the data set is small, or its reviews are large"]
    name, n_of_it = reviews.most_common(1)[0]
    linked = (
        f"review '{shortened(name, 40)}' has {n_of_it:,} of them"
        if len(reviews) == 1
        else f"{len(reviews):,} reviews that share papers, the largest '{shortened(name, 40)}'"
    )
    advice = "--split-by paper keeps only papers apart" if by_review else "other --shares would fit"
    who = linked if by_review else "they are of one paper"
    told.append(
        f"the shares cannot be reached: {reached}. {n_largest:,} of {n_all:,} instances are linked and must stay in "
        f"one split: {who}; {advice}"
    )
    return told
