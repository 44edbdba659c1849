"""An answer and the forms in which it is written: a list, ranges, quotes, scores, or JSON."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is answered, before it is written; where scores are wanted, no sentences are named."""

    reasoning: str
    sentences: tuple[int, ...] = ()
    scores: tuple[tuple[int, int], ...] | None = None  # number and score


def in_words(answer: Answer) -> str:
    """Return an answer as free text: reasoning, then a line ``ANSWER:`` or the lines below ``SCORES:``.

    >>> print(in_words(Answer(reasoning="Both matter.", sentences=(3, 17))))
    Both matter.
    <BLANKLINE>
    ANSWER: [3, 17]
    """
    if answer.scores is not None:
        return "\n".join([answer.reasoning, "", "SCORES:", *(f"{number}: {score}" for number, score in answer.scores)])
    return f"{answer.reasoning}\n\nANSWER: [{', '.join(map(str, answer.sentences))}]"


def as_object(answer: Answer, properties: frozenset[str]) -> str:
    """Return an answer as a JSON object with those of its members that are declared (none declared: all).

    >>> as_object(Answer(reasoning="Yes.", sentences=(3,)), frozenset())
    '{"reasoning":"Yes.","sentences":[3]}'
    """
    named: Mapping[str, Any] = (
        {"sentences": answer.sentences}
        if answer.scores is None
        else {"scores": [{"sentence": number, "score": score} for number, score in answer.scores]}
    )
    members = {"reasoning": answer.reasoning, **named}
    return msgspec.json.encode({k: v for k, v in members.items() if not properties or k in properties}).decode()


def in_ranges(answer: Answer) -> str:
    """Return an answer with runs of numbers written as ranges.

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


def in_quotes(answer: Answer, texts: Mapping[int, str]) -> str:
    """Return an answer that quotes the sentences instead of numbering them."""
    return "\n".join([answer.reasoning, "", "ANSWER:", *(f'- "{texts[number]}"' for number in answer.sentences)])


def doubled(answer: Answer) -> Answer:
    """Return an answer that names each sentence twice."""
    if answer.scores is not None:
        return replace(answer, scores=tuple(pair for pair in answer.scores for _ in range(2)))
    return replace(answer, sentences=tuple(number for number in answer.sentences for _ in range(2)))


def lengthened(answer: Answer, numbers: Iterable[int]) -> Answer:
    """Return an answer that names further sentences."""
    if answer.scores is not None:
        return replace(answer, scores=(*answer.scores, *((number, 5) for number in numbers)))
    return replace(answer, sentences=(*answer.sentences, *numbers))
