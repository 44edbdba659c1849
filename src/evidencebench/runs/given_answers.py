"""Answers in a dict, as Python and the tools of information retrieval hold them: indices or scores by instance."""

import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from evidencebench.errors import AnswerError
from evidencebench.runs.answer_line import Answer, Failure
from evidencebench.system import Ranking

# What can stand for an answer: see `answers_in`.
GivenAnswer: TypeAlias = (
    Ranking | Failure | Sequence[int] | AbstractSet[int] | Mapping[int, float] | Mapping[str, float] | None
)

# Plain digits only: int() would also take 1_0 and digits of other scripts, and fails at thousands of digits.
INDEX_DIGITS = re.compile(r"[0-9]{1,18}")

_EXPECTED = "expected sentence indices, {index: score}, a Ranking, or None for a failed answer"


def answers_in(given: Mapping[str, GivenAnswer]) -> dict[str, Answer]:
    """Return instance id -> answer, by the rules for files that were made elsewhere; raises `AnswerError`.

    An answer is the indices of sentences, in which the order means nothing; sentence -> score, the highest first, where
    a sentence is its index, as a number or as text, or ``id#00042``; a `Ranking`, whose order counts; or None for an
    answer that failed.
    """
    return {instance_id: _answer(instance_id, answer) for instance_id, answer in given.items()}


def _answer(instance_id: object, given: object) -> Answer:
    if not isinstance(instance_id, str):
        raise AnswerError(f"answers: expected instance ids as keys, got {instance_id!r}")
    match given:
        case None:
            return Failure(error="None among the answers")
        case Ranking() | Failure():
            return given
        case Mapping():
            return _ranking_from(instance_id, given)
        case str() | bytes():
            raise AnswerError(f"answers: {instance_id}: {_EXPECTED}, got the text {given!r}")
        case Iterable():
            return Ranking(sentences=tuple(_index(instance_id, index) for index in given), ordered=False)
    raise AnswerError(f"answers: {instance_id}: {_EXPECTED}, got {type(given).__name__}")


def _ranking_from(instance_id: str, given: Mapping[object, object]) -> Ranking:
    """Return the sentences by score, ties by index, as in a TREC run."""
    pairs = []
    for sentence, score in given.items():
        if isinstance(score, str | bytes):  # float() would take 1_0, and the digits of every script
            raise AnswerError(f"answers: {instance_id}: {sentence!r}: expected a number as score, got {score!r}")
        try:
            number = float(score)  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            raise AnswerError(f"answers: {instance_id}: {sentence!r}: expected a number as score: {error}") from error
        if not math.isfinite(number):
            raise AnswerError(f"answers: {instance_id}: {sentence!r}: expected a finite score, got {number}")
        pairs.append((-number, _sentence(instance_id, sentence)))
    return ranking_of(pairs)


def ranking_of(pairs: list[tuple[float, int]]) -> Ranking:
    """Return sentences, given as (minus the score, index), by score, ties by index."""
    pairs.sort()
    return Ranking(sentences=tuple(index for _, index in pairs), scores=tuple(-score for score, _ in pairs))


def _sentence(instance_id: str, sentence: object) -> int:
    """Return the index of a sentence from a key of scores."""
    if not isinstance(sentence, str):
        return _index(instance_id, sentence)
    paper, mark, digits = sentence.rpartition("#")
    if mark and paper != instance_id:
        raise AnswerError(
            f"answers: {instance_id}: expected a sentence of its own paper, got '{sentence}'; "
            "each hypothesis is answered from its own paper"
        )
    if not INDEX_DIGITS.fullmatch(digits):
        raise AnswerError(f"answers: {instance_id}: expected the index of a sentence, or id#index, got '{sentence}'")
    return int(digits)


def _index(instance_id: str, given: object) -> int:
    try:
        if not isinstance(given, bool):
            return operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise AnswerError(f"answers: {instance_id}: expected whole numbers, the indices of sentences, got {given!r}")
