"""Counts, while a paper is read, what becomes of its characters."""

from collections import Counter

from evidencebench.papers.paper import LeftOut, Loss
from evidencebench.papers.sourced_text import SourcedText, n_visible


class LossCount:
    """Becomes a `Loss`.

    >>> count = LossCount()
    >>> count.see("body", "Tea helps.")
    >>> count.leave_out("tables", "12 13 14", n_elements=1)
    >>> loss = count.loss()
    >>> loss.n_characters, loss.n_kept, loss.left_out
    ({'body': 9}, {'body': 0}, {'tables': LeftOut(n_elements=1, n_characters=6)})
    """

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._kept: Counter[str] = Counter()
        self._left_out: dict[str, LeftOut] = {}

    def see(self, part: str, text: str) -> None:
        """Count running text that stands in a part of the file, such as ``body``."""
        self._seen[part] += n_visible(text)

    def keep(self, part: str, text: SourcedText) -> None:
        """Count text that became sentences."""
        self._kept[part] += text.n_of_source

    def leave_out(self, sort: str, text: str, *, n_elements: int) -> None:
        """Count text that is left out by design."""
        before = self._left_out.get(sort, LeftOut(n_elements=0, n_characters=0))
        self._left_out[sort] = LeftOut(
            n_elements=before.n_elements + n_elements, n_characters=before.n_characters + n_visible(text)
        )

    def loss(self) -> Loss:
        """Return what was counted."""
        return Loss(
            n_characters=dict(self._seen),
            n_kept={part: self._kept[part] for part in self._seen},
            left_out=dict(self._left_out),
        )
