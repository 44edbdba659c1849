"""How the model answers: rightly, by rule, by chance, or in one of the ways that go wrong."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Self

from evidencebench.integrations.fake_server.answers import (
    Answer,
    as_object,
    doubled,
    in_quotes,
    in_ranges,
    in_words,
    lengthened,
)
from evidencebench.integrations.fake_server.calls import Call, Reply
from evidencebench.integrations.fake_server.faults import draw
from evidencebench.integrations.fake_server.known_papers import BEST_SCORE, KnownPaper, KnownPapers
from evidencebench.integrations.fake_server.prompt_content import PromptContent, read_prompt


class Personality(StrEnum):
    """One way to answer every prompt, and what it answers in a line."""

    meaning: str

    def __new__(cls, name: str, meaning: str = "") -> Self:
        """Keep the meaning beside the name."""
        member = str.__new__(cls, name)
        member._value_, member.meaning = name, meaning
        return member

    ORACLE = "oracle", "the best selection, by the labels"
    LEAD = "lead", "the first that are shown; equal scores; paper order"
    RANDOM = "random", "sentences drawn by seed and prompt"
    VERBOSE = "verbose", "the oracle's, behind reasoning with numbers and false lists"
    RANGES = "ranges", "the oracle's, written as ranges such as 3-5"
    QUOTES = "quotes", "the oracle's, quoting sentences instead of numbers"
    WRONG_FORMAT = "wrong_format", "prose without a list"
    REFUSES = "refuses", "a refusal"
    EMPTY = "empty", "an answer that names nothing"
    SILENT = "silent", "no text at all"
    OVER_LENGTH = "over_length", "more than the budget; in a follow-up turn the oracle's"
    OUT_OF_RANGE = "out_of_range", "the oracle's and a sentence that the paper does not have"
    DUPLICATES = "duplicates", "the oracle's, each sentence twice"
    TRUNCATED = "truncated", "the beginning of the reasoning, cut by length"
    MIXED = "mixed", "one of the others for each prompt, drawn by seed"


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
class FakeModel:
    """A model that knows the labels; the options are those of `Settings`."""

    papers: KnownPapers
    personality: Personality = Personality.ORACLE
    seed: int = 0
    repairable: bool = False
    refuse_rate: float = 0.0

    def reply(self, call: Call, key: str) -> Reply:
        """Return the reply to a call, hidden reasoning left out; the key, with the seed, decides what is drawn."""
        content = read_prompt(call.turns)
        paper = self.papers.find(content)
        personality = self._personality_for(call, content, key)
        if personality in _WITHOUT_ANSWER:
            return _WITHOUT_ANSWER[personality](call)
        answer = _answer(personality, content, paper, random.Random(f"{self.seed} {key}"))  # noqa: S311 - no secret
        text = _in_form(personality, answer, content, call)
        return Reply(call=call, text=text, is_object=call.properties is not None, knows_paper=paper is not None)

    def _personality_for(self, call: Call, content: PromptContent, key: str) -> Personality:
        if draw(self.seed, "refuse", key) < self.refuse_rate:
            return Personality.REFUSES
        personality = _BY_NAME.get(call.model, self.personality)
        if personality is Personality.MIXED:
            personality = _UNMIXED[int(draw(self.seed, "mixed", key) * len(_UNMIXED))]
        mends = content.is_follow_up and (
            personality is Personality.OVER_LENGTH or (self.repairable and personality in _REPAIRABLE)
        )
        return Personality.ORACLE if mends else personality


def _cut_off(call: Call) -> Reply:
    text = _BROKEN_OFF if call.properties is None else f'{{"reasoning":"{_BROKEN_OFF}'
    return Reply(call=call, text=text, finish="length")


_WITHOUT_ANSWER: Mapping[Personality, Callable[[Call], Reply]] = MappingProxyType(
    {
        Personality.WRONG_FORMAT: lambda call: Reply(call=call, text=_PROSE),
        Personality.REFUSES: lambda call: Reply(call=call, text=_REFUSAL, finish="refused"),
        Personality.SILENT: lambda call: Reply(call=call, text=""),
        Personality.TRUNCATED: _cut_off,
    }
)


def _answer(
    personality: Personality, content: PromptContent, paper: KnownPaper | None, chance: random.Random
) -> Answer:
    """Return what a personality answers, before the form decides how it is written."""
    if personality is Personality.LEAD:
        return _lead(content)
    if personality is Personality.RANDOM:
        return _by_chance(content, chance)
    if paper is None or personality is Personality.EMPTY:
        reasoning = _UNKNOWN if paper is None else _NOTHING
        return Answer(reasoning=reasoning, scores=() if content.mode == "score" else None)
    answer = _oracle(content, paper)
    if personality is Personality.OVER_LENGTH and content.budget is not None and content.mode == "select":
        unused = [number for number in content.numbers if number not in answer.sentences]
        return lengthened(answer, unused[: content.budget + _SURPLUS - len(answer.sentences)])
    if personality is Personality.OUT_OF_RANGE:
        return lengthened(answer, (_FAR_NUMBER,))
    return doubled(answer) if personality is Personality.DUPLICATES else answer


def _oracle(content: PromptContent, paper: KnownPaper) -> Answer:
    if content.mode == "select":
        named = paper.right.selection(content.scope, content.budget, paper.numbers)
        return Answer(reasoning=_REASONING, sentences=named)
    shown = [number for number in content.numbers if number in paper.numbers]
    if content.mode == "order":
        return Answer(reasoning=_REASONING, sentences=paper.right.order(content.scope, shown)[: content.budget])
    return Answer(reasoning=_REASONING, scores=tuple(paper.right.scores(content.scope, shown).items()))


def _lead(content: PromptContent) -> Answer:
    reasoning = "A paper says what matters first."
    if content.mode == "score":
        return Answer(reasoning=reasoning, scores=tuple((number, BEST_SCORE // 2) for number in content.numbers))
    return Answer(reasoning=reasoning, sentences=content.numbers[: content.budget])


def _by_chance(content: PromptContent, chance: random.Random) -> Answer:
    numbers, reasoning = content.numbers, "Any of these may matter."
    if content.mode == "score":
        return Answer(reasoning=reasoning, scores=tuple((number, chance.randint(0, BEST_SCORE)) for number in numbers))
    n_named = min(len(numbers), len(numbers) if content.budget is None else content.budget)
    return Answer(reasoning=reasoning, sentences=tuple(chance.sample(numbers, n_named)))


def _in_form(personality: Personality, answer: Answer, content: PromptContent, call: Call) -> str:
    if personality is Personality.VERBOSE:
        answer = _padded(answer, content)
    if call.properties is not None:
        return as_object(answer, call.properties)
    if personality is Personality.RANGES and answer.scores is None:
        return in_ranges(answer)
    if personality is Personality.QUOTES and answer.scores is None:
        return in_quotes(answer, dict(content.shown))
    return in_words(answer)


def _padded(answer: Answer, content: PromptContent) -> Answer:
    """Return an answer behind long reasoning with numbers and lists that are not the answer."""
    numbers = content.numbers or (0,)
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
    return replace(answer, reasoning=reasoning)
