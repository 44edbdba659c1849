"""The windows of sentences that are judged together, and the masks of their votes as text."""

from collections.abc import Iterable, Iterator

NOT_ASKED, UNREAD = ".", "?"
"""What stands for a window that a round did not ask, and for one whose replies could not be read."""


def windows_of_paper(n_sentences: int, window: int, overlap: int) -> list[range]:
    """Return the sentences of each window; the last ones are shorter, so that nearly all sentences are in two.

    >>> windows_of_paper(12, 10, 5)
    [range(0, 10), range(5, 12), range(10, 12)]
    """
    return [range(start, min(start + window, n_sentences)) for start in range(0, n_sentences, window - overlap)]


def mask_text(window: range, sentences: Iterable[int], digits: int) -> str:
    """Return the sentences of a window as a hexadecimal mask; the lowest bit is the window's first sentence.

    >>> mask_text(range(5, 15), [5, 14], digits=3)
    '201'
    """
    return f"{sum(1 << (index - window.start) for index in set(sentences)):0{digits}x}"


def voted_sentences(window: range, mask: str) -> list[int]:
    """Return the sentences of a mask of `mask_text`.

    >>> voted_sentences(range(5, 15), "201")
    [5, 14]
    """
    bits = int(mask, 16)
    return [index for index in window if bits >> (index - window.start) & 1]


def masks_in(votes: str, digits: int) -> Iterator[str]:
    """Yield the masks of one aspect's votes, one a window.

    >>> list(masks_in("201...0a0", 3))
    ['201', '...', '0a0']
    """
    return (votes[start : start + digits] for start in range(0, len(votes), digits))
