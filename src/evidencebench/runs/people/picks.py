"""Which picks a person may make."""

from collections.abc import Sequence

from evidencebench.errors import PeopleError
from evidencebench.wording import counted


def checked_picks(sentences: Sequence[int], *, n_sentences: int, budget: int) -> tuple[int, ...]:
    """Return picks as they were made.

    Parameters
    ----------
    sentences
        0-based indices, in any order.
    n_sentences
        Of the paper.
    budget
        How many may be picked.

    Raises
    ------
    PeopleError
        If a sentence does not exist or is picked twice, or there are more than the budget allows.
    """
    for index in sentences:
        if not 0 <= index < n_sentences:
            raise PeopleError(f"sentence {index}: the paper has sentences 0..{n_sentences - 1}")
    if len(set(sentences)) < len(sentences):
        raise PeopleError("a sentence is picked twice")
    if len(sentences) > budget:
        raise PeopleError(f"{counted(len(sentences), 'sentence')} picked, but at most {budget} count; remove some")
    return tuple(sentences)
