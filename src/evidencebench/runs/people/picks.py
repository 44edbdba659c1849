"""What a person picks, and whether it may be picked."""

from collections.abc import Sequence
from dataclasses import dataclass

from evidencebench.errors import PeopleError
from evidencebench.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Picks:
    """What a person picks in one tab of a browser.

    Attributes
    ----------
    sentences
        As `checked_picks` returns them.
    seconds
        How long the person says to have worked on it.
    revision
        Of the draft that the tab knows, and changed.
    tab
        A name that no other tab has, nor this one after it was loaded again.
    """

    sentences: tuple[int, ...]
    seconds: int = 0
    revision: int = 0
    tab: str = ""


def checked_picks(sentences: Sequence[int], *, n_sentences: int, budget: int) -> tuple[int, ...]:
    """Return picks as they were made; raise `PeopleError` where one does not exist or repeats, or they are too many."""
    for index in sentences:
        if not 0 <= index < n_sentences:
            raise PeopleError(f"sentence {index}: the paper has sentences 0..{n_sentences - 1}")
    if len(set(sentences)) < len(sentences):
        raise PeopleError("a sentence is picked twice")
    if len(sentences) > budget:
        raise PeopleError(f"{counted(len(sentences), 'sentence')} picked, but at most {budget} count; remove some")
    return tuple(sentences)
