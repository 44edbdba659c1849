"""An answer and the forms in which it is written: a list, ranges, quotes, scores, or JSON."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from evidencebench.integrations.fake_server.asked import Asked

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is answered, before it is written.

    Attributes
    ----------
    reasoning
        What stands before it.
    sentences
        The numbers that are named, in the order in which they are.
    scores
        A number and its score, a pair a line; None where no scores are wanted. Then `sentences` is empty.
    """

    reasoning: str
    sentences: tuple[int, ...] = ()
    scores: tuple[tuple[int, int], ...] | None = None


def written(answer: Answer) -> str:
    """Return an answer in free text: reasoning, then a line ``ANSWER:`` or the lines below ``SCORES:``.

    Examples
    --------
    >>> print(written(Answer(reasoning="Both matter.", sentences=(3, 17))))
    Both matter.
    <BLANKLINE>
    ANSWER: [3, 17]
    >>> print(written(Answer(reasoning="Hm.", scores=((0, 10), (1, 0)))))
    Hm.
    <BLANKLINE>
    SCORES:
    0: 10
    1: 0
    """
    if answer.scores is not None:
        return "\n".join([answer.reasoning, "", "SCORES:", *(f"{number}: {score}" for number, score in answer.scores)])
    return f"{answer.reasoning}\n\nANSWER: [{', '.join(map(str, answer.sentences))}]"


def as_object(answer: Answer, properties: frozenset[str]) -> str:
    """Return an answer as a JSON object with those of its members that are declared (none declared: all).

    Examples
    --------
    >>> as_object(Answer(reasoning="Yes.", sentences=(3,)), frozenset())
    '{"reasoning":"Yes.","sentences":[3]}'
    """
    members: Mapping[str, Any] = (
        {"reasoning": answer.reasoning, "sentences": answer.sentences}
        if answer.scores is None
        else {"reasoning": answer.reasoning, "scores": [{"sentence": n, "score": score} for n, score in answer.scores]}
    )
    return msgspec.json.encode({k: v for k, v in members.items() if not properties or k in properties}).decode()


def in_ranges(answer: Answer) -> str:
    """Return an answer with runs of numbers written as ranges.

    Examples
    --------
    >>> in_ranges(Answer(reasoning="See:", sentences=(3, 4, 5, 9))).splitlines()[-1]
    'ANSWER: 3-5, 9'
    """
    runs: list[list[int]] = []
    for number in answer.sentences:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    ranges = (f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
    return f"{answer.reasoning}\n\nANSWER: {', '.join(ranges) or 'none'}"


def in_quotes(answer: Answer, asked: Asked) -> str:
    """Return an answer that quotes the sentences instead of numbering them."""
    texts = dict(asked.shown)
    quotes = (f'- "{texts[number]}"' for number in answer.sentences)
    return "\n".join([answer.reasoning, "", "ANSWER:", *quotes])


def doubled(answer: Answer) -> Answer:
    """Return an answer that names each sentence twice."""
    return Answer(
        reasoning=answer.reasoning,
        sentences=_twice(answer.sentences),
        scores=None if answer.scores is None else _twice(answer.scores),
    )


def lengthened(answer: Answer, numbers: Iterable[int]) -> Answer:
    """Return an answer that names further sentences."""
    if answer.scores is not None:
        extra = tuple((number, 5) for number in numbers)
        return Answer(reasoning=answer.reasoning, scores=answer.scores + extra)
    return Answer(reasoning=answer.reasoning, sentences=(*answer.sentences, *numbers))


def _twice(items: Sequence[Item]) -> tuple[Item, ...]:
    return tuple(item for item in items for _ in range(2))
