"""The same paper in several files."""

from collections import Counter
from collections.abc import Sequence

from evidencebench.papers.html import letters_of
from evidencebench.papers.paper import Paper

_SCHEMES = ("doi", "pmid", "pmcid")
_LONG = 40  # letters and digits of a sentence that hardly two papers share
# The share of long sentences that two papers have in common where they are one: in other formats at least 0.8, while
# no two of 722 articles have 0.1.
_SHARED = 0.4


def without_duplicates(
    papers: Sequence[Paper], *, pdf_first: bool = False
) -> tuple[list[Paper], list[tuple[Paper, Paper]]]:
    """Return each paper once, in the best of its formats, and the others, each with the one that stands for it.

    The same are papers with the same DOI, PMID or PMCID, or, where none differs, with many of the same sentences.
    """
    groups: list[list[Paper]] = []
    place_of: dict[object, int] = {}  # of each id and long sentence: the place in groups
    for paper in papers:
        ids = {scheme: paper.ids[scheme].lower() for scheme in _SCHEMES if paper.ids.get(scheme)}
        long = _long(paper)
        places = [place_of[own] for own in ids.items() if own in place_of]
        for like, n in Counter(place_of[text] for text in long if text in place_of).most_common(0 if places else 1):
            other = groups[like][0]
            is_other = any(other.ids.get(scheme, own).lower() != own for scheme, own in ids.items())
            if n >= _SHARED * min(len(long), len(_long(other))) and not is_other:
                places.append(like)
        place = next(iter(places), len(groups))
        if not places:
            groups.append([])
        groups[place].append(paper)
        for key in [*ids.items(), *long]:
            place_of.setdefault(key, place)

    # XML says of itself how it is divided into sections, a PDF does not.
    def rank(paper: Paper) -> int:
        if paper.format == "PDF":
            return 0 if pdf_first else 3
        return 1 if paper.format.endswith("XML") else 2

    best = [min(group, key=rank) for group in groups]
    same = [(paper, kept) for group, kept in zip(groups, best, strict=True) for paper in group if paper is not kept]
    return best, same


def _long(paper: Paper) -> set[str]:
    return {text for text in map(letters_of, paper.sentences) if len(text) >= _LONG}
