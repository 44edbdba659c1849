"""Which papers are the same by their text: over a quarter of the sentences of the shorter one stand in the other.

Of 817 papers (Evidence Inference and the train split), no two have more than 8 % in common. A paper read from two
formats has 96 % in common with itself in the median, and 50 % at least. `tools/measure_same_text.py` measures that.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evidencebench.query import Kind

Hashes = NDArray[np.uint64]

_WORD = re.compile(r"\w+")
_FEWEST_WORDS = 5  # a shorter sentence, such as a list of names, stands in many papers
_LEAST_SHARED_SHARE = 0.25
_FEWEST_SHARED = 5  # sentences; two short papers may have the same declarations
_MOST_PAPERS = 20  # with one sentence: what more papers say is no sign of any


def normalised(text: str) -> str:
    """Return the words of a text in small letters, without marks and spaces.

    >>> normalised("Tea  lowered it (P = 0.03).")
    'tea lowered it p 0 03'
    """
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def sentence_hashes(sentences: Sequence[str], kinds: Sequence[Kind]) -> Hashes:
    """Return a hash for each distinct sentence that tells papers apart, ascending: headings and short ones do not."""
    words = {normalised(sentence) for sentence, kind in zip(sentences, kinds, strict=True) if kind is not Kind.HEADING}
    digests = (
        hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
        for text in words
        if text.count(" ") >= _FEWEST_WORDS - 1
    )
    return np.array(sorted({int.from_bytes(digest, "big") for digest in digests}), dtype=np.uint64)


@dataclass(frozen=True, slots=True, kw_only=True)
class SamePaper:
    """A paper of an index, by its position, and the share of the shorter paper's sentences that both have."""

    position: int
    share: float


class TextIndex:
    """Finds, for the sentences of any paper, those papers of a list that are the same; memory is 12 bytes a sentence.

    Papers of the list with equal sentences are found under the first of their positions: see ``first``.
    """

    def __init__(self, papers: Sequence[Hashes]) -> None:
        by_text: dict[bytes, int] = {}
        self.first = [by_text.setdefault(hashes.tobytes() or str(n).encode(), n) for n, hashes in enumerate(papers)]
        distinct = sorted(set(self.first))
        owners = np.repeat(np.array(distinct, dtype=np.uint32), [len(papers[number]) for number in distinct])
        hashes = np.concatenate([np.empty(0, dtype=np.uint64), *(papers[number] for number in distinct)])
        order = np.argsort(hashes, kind="stable")
        hashes, owners = hashes[order], owners[order]
        _, n_papers = np.unique(hashes, return_counts=True)
        tells = np.repeat(n_papers <= _MOST_PAPERS, n_papers)
        self._hashes, self._owners = hashes[tells], owners[tells]
        self._n_sentences = np.bincount(self._owners, minlength=len(papers))

    def same_papers(self, hashes: Hashes) -> Iterator[SamePaper]:
        """Yield the papers of the list that are the same as one with these sentences."""
        begins = np.searchsorted(self._hashes, hashes, side="left")
        n_each = np.searchsorted(self._hashes, hashes, side="right") - begins
        places = np.arange(n_each.sum()) + np.repeat(begins - (np.cumsum(n_each) - n_each), n_each)
        positions, n_shared = np.unique(self._owners[places], return_counts=True)
        shorter = np.minimum(self._n_sentences[positions], len(hashes))
        is_same = (n_shared > _LEAST_SHARED_SHARE * shorter) & (n_shared >= _FEWEST_SHARED)
        for position, shared, all_of_them in zip(positions[is_same], n_shared[is_same], shorter[is_same], strict=True):
            yield SamePaper(position=int(position), share=float(shared / all_of_them))
