"""How the model answers: rightly, by rule, by chance, or in one of the ways that go wrong."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from evidencebench.integrations.fake_server.answers import (
    Answer,
    as_object,
    doubled,
    in_quotes,
    in_ranges,
    lengthened,
    written,
)
from evidencebench.integrations.fake_server.asked import Asked, read_asked
from evidencebench.integrations.fake_server.calls import Call, Spoken
from evidencebench.integrations.fake_server.faults import draw
from evidencebench.integrations.fake_server.gold import BEST_SCORE, Known
from evidencebench.integrations.fake_server.library import Library


class Personality(StrEnum):
    """One way to answer every prompt."""

    ORACLE = "oracle"
    LEAD = "lead"
    RANDOM = "random"
    VERBOSE = "verbose"
    RANGES = "ranges"
    QUOTES = "quotes"
    WRONG_FORMAT = "wrong_format"
    REFUSES = "refuses"
    EMPTY = "empty"
    SILENT = "silent"
    OVER_LENGTH = "over_length"
    OUT_OF_RANGE = "out_of_range"
    DUPLICATES = "duplicates"
    TRUNCATED = "truncated"
    MIXED = "mixed"


PERSONALITIES: Mapping[Personality, str] = MappingProxyType(
    {
        Personality.ORACLE: "the best selection, by the labels",
        Personality.LEAD: "the first that are shown; equal scores; paper order",
        Personality.RANDOM: "sentences drawn by seed and prompt",
        Personality.VERBOSE: "the oracle's, behind reasoning with numbers and false lists",
        Personality.RANGES: "the oracle's, written as ranges such as 3-5",
        Personality.QUOTES: "the oracle's, quoting sentences instead of numbers",
        Personality.WRONG_FORMAT: "prose without a list",
        Personality.REFUSES: "a refusal",
        Personality.EMPTY: "an answer that names nothing",
        Personality.SILENT: "no text at all",
        Personality.OVER_LENGTH: "more than the budget; in a follow-up turn the oracle's",
        Personality.OUT_OF_RANGE: "the oracle's and a sentence that the paper does not have",
        Personality.DUPLICATES: "the oracle's, each sentence twice",
        Personality.TRUNCATED: "the beginning of the reasoning, cut by length",
        Personality.MIXED: "one of the others for each prompt, drawn by seed",
    }
)
"""What each personality answers, in a line."""

_UNMIXED = tuple(personality for personality in Personality if personality is not Personality.MIXED)
_BY_NAME = {str(personality): personality for personality in Personality}
_REPAIRABLE = frozenset({Personality.WRONG_FORMAT, Personality.TRUNCATED})
_FAR_NUMBER = 1_000_000  # no paper has as many sentences
_SURPLUS = 3  # sentences over the budget

_REASONING = "These sentences together report what was measured and found that bears on the hypothesis."
_UNKNOWN = "No paper that this server was started with is shown between the marks, so it has nothing to answer."
_NOTHING = "None of these sentences bears on the hypothesis."
_REFUSAL = "I'm sorry, but I can't help with that request."
_PROSE = (
    "The paper bears on the hypothesis mainly through its trial, whose primary outcome improved. "
    "I would read the abstract and the tables first, and would not rely on the discussion."
)
_BROKEN_OFF = (
    "To decide which sentences matter, consider first how the participants were chosen. The methods say that they "
    "were recruited from several clinics, and that those who"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """A model that knows the labels.

    Attributes
    ----------
    library
        The papers it knows.
    personality
        How it answers, unless a call's model is named like a personality.
    seed
        Of everything that it draws.
    repairable
        Whether `wrong_format` and `truncated` answer rightly when they are asked again in the same conversation.
    refuse_rate
        Share of prompts, 0 to 1, that are refused whatever the personality.
    """

    library: Library
    personality: Personality = Personality.ORACLE
    seed: int = 0
    repairable: bool = False
    refuse_rate: float = 0.0

    def speak(self, call: Call, key: str) -> Spoken:
        """Return the reply to a call; ``key`` names it for what is drawn."""
        asked = read_asked(call.turns)
        known = self.library.find(asked)
        personality = self._personality_for(call, asked, key)
        if personality in _WITHOUT_ANSWER:
            return _WITHOUT_ANSWER[personality](call)
        answer = _answer(personality, asked, known, random.Random(f"{self.seed} {key}"))  # noqa: S311 - no secret
        text = _in_form(personality, answer, asked, call)
        return Spoken(text=text, is_object=call.properties is not None, knows_paper=known is not None)

    def _personality_for(self, call: Call, asked: Asked, key: str) -> Personality:
        if draw(self.seed, "refuse", key) < self.refuse_rate:
            return Personality.REFUSES
        personality = _BY_NAME.get(call.model, self.personality)
        if personality is Personality.MIXED:
            personality = _UNMIXED[int(draw(self.seed, "mixed", key) * len(_UNMIXED))]
        mends = asked.is_follow_up and (
            personality is Personality.OVER_LENGTH or (self.repairable and personality in _REPAIRABLE)
        )
        return Personality.ORACLE if mends else personality


def _cut_off(call: Call) -> Spoken:
    text = _BROKEN_OFF if call.properties is None else f'{{"reasoning":"{_BROKEN_OFF}'
    return Spoken(text=text, finish="length")


_WITHOUT_ANSWER: Mapping[Personality, Callable[[Call], Spoken]] = MappingProxyType(
    {
        Personality.WRONG_FORMAT: lambda _: Spoken(text=_PROSE),
        Personality.REFUSES: lambda _: Spoken(text=_REFUSAL, finish="refused"),
        Personality.SILENT: lambda _: Spoken(text=""),
        Personality.TRUNCATED: _cut_off,
    }
)


def _answer(personality: Personality, asked: Asked, known: Known | None, chance: random.Random) -> Answer:
    """Return what a personality answers, before the form decides how it is written."""
    if personality is Personality.LEAD:
        return _lead(asked)
    if personality is Personality.RANDOM:
        return _by_chance(asked, chance)
    if known is None or personality is Personality.EMPTY:
        reasoning = _UNKNOWN if known is None else _NOTHING
        return Answer(reasoning=reasoning, scores=() if asked.mode == "score" else None)
    answer = _oracle(asked, known)
    if personality is Personality.OVER_LENGTH and asked.budget is not None and asked.mode == "select":
        unused = [number for number in asked.numbers if number not in answer.sentences]
        return lengthened(answer, unused[: asked.budget + _SURPLUS - len(answer.sentences)])
    if personality is Personality.OUT_OF_RANGE:
        return lengthened(answer, (_FAR_NUMBER,))
    return doubled(answer) if personality is Personality.DUPLICATES else answer


def _oracle(asked: Asked, known: Known) -> Answer:
    if asked.mode == "select":
        named = known.gold.selection(asked.scope, asked.budget, known.numbers)
        return Answer(reasoning=_REASONING, sentences=named)
    shown = [number for number in asked.numbers if number in known.numbers]
    if asked.mode == "order":
        return Answer(reasoning=_REASONING, sentences=known.gold.order(asked.scope, shown)[: asked.budget])
    return Answer(reasoning=_REASONING, scores=tuple(known.gold.scores(asked.scope, shown).items()))


def _lead(asked: Asked) -> Answer:
    reasoning = "A paper says what matters first."
    if asked.mode == "score":
        return Answer(reasoning=reasoning, scores=tuple((number, BEST_SCORE // 2) for number in asked.numbers))
    return Answer(reasoning=reasoning, sentences=asked.numbers[: asked.budget])


def _by_chance(asked: Asked, chance: random.Random) -> Answer:
    numbers, reasoning = asked.numbers, "Any of these may matter."
    if asked.mode == "score":
        return Answer(reasoning=reasoning, scores=tuple((number, chance.randint(0, BEST_SCORE)) for number in numbers))
    n_named = min(len(numbers), len(numbers) if asked.budget is None else asked.budget)
    return Answer(reasoning=reasoning, sentences=tuple(chance.sample(numbers, n_named)))


def _in_form(personality: Personality, answer: Answer, asked: Asked, call: Call) -> str:
    if personality is Personality.VERBOSE:
        answer = _padded(answer, asked)
    if call.properties is not None:
        return as_object(answer, call.properties)
    if personality is Personality.RANGES and answer.scores is None:
        return in_ranges(answer)
    if personality is Personality.QUOTES and answer.scores is None:
        return in_quotes(answer, asked)
    return written(answer)


def _padded(answer: Answer, asked: Asked) -> Answer:
    """Return an answer behind long reasoning with numbers and lists that are not the answer."""
    numbers = asked.numbers or (0,)
    first, last = numbers[0], numbers[-1]
    reasoning = "\n".join(
        [
            f"Let me go through the paper. Sentence [{first}] sets the scene, as do [{first}, {last}].",
            f"1. A first list could be [{', '.join(map(str, numbers[:5]))}], but most of it is background.",
            f"2. If I had to answer now I would write ANSWER: [{last}], which would be wrong.",
            f"3. The interval (95% CI 1.2-3.4, p = 0.03) is reported later [see ref. {last + 7}].",
            f"{answer.reasoning}",
        ]
    )
    return Answer(reasoning=reasoning, sentences=answer.sentences, scores=answer.scores)
