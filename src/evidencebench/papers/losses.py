"""Count what a reader keeps and what it leaves out."""

import re
from collections import Counter
from typing import Literal

from evidencebench.papers.paper import LeftOut, Loss
from evidencebench.papers.sourced_text import INVISIBLE

Part = Literal["title", "abstract", "body"]

_UNSEEN = re.compile(rf"[\s{INVISIBLE}]+")


def n_visible(text: str) -> int:
    """Count the characters, without white space and characters of no width."""
    return len(_UNSEEN.sub("", text))


class LossCount:
    """Counts the characters of a file while it is read."""

    def __init__(self) -> None:
        self._read: Counter[str] = Counter()
        self._kept: Counter[str] = Counter()
        self._elements: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()

    def read(self, part: Part, text: str) -> None:
        """Count running text of the file."""
        self._read[part] += n_visible(text)

    def keep(self, part: Part, text: str) -> None:
        """Count text of the blocks."""
        self._kept[part] += n_visible(text)

    def leave_out(self, sort: str, text: str, *, n_elements: int = 1) -> None:
        """Count elements of a sort, such as ``table``, that do not belong into the sentences."""
        self._elements[sort] += n_elements
        self._left_out[sort] += n_visible(text)

    @property
    def loss(self) -> Loss:
        """What was counted."""
        left_out = {
            sort: LeftOut(n_elements=n, n_characters=self._left_out[sort]) for sort, n in sorted(self._elements.items())
        }
        return Loss(n_characters=dict(self._read), n_kept=dict(self._kept), left_out=left_out)
