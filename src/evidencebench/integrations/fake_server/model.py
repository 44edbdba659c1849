"""The model's answers: right, by a rule, by chance, or wrong in one of several ways."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import msgspec

from evidencebench.integrations.fake_server.calls import BadCallError, Call, ChatApi, Reply, within_limit
from evidencebench.integrations.fake_server.construction_gold import GoldStudies
from evidencebench.integrations.fake_server.known_papers import BEST_SCORE, KnownPaper, KnownPapers
from evidencebench.integrations.fake_server.prompt_content import PromptContent, read_prompt
from evidencebench.integrations.fake_server.request_log import RequestLog
from evidencebench.integrations.fake_server.settings import Personality, Settings

_NAMES = frozenset(Personality)
_UNMIXED = tuple(personality for personality in Personality if personality is not Personality.MIXED)
_REPAIRABLE = frozenset({Personality.WRONG_FORMAT, Personality.TRUNCATED})
_FAR_NUMBER = 1_000_000  # no paper has as many sentences
_SURPLUS = 3  # sentences over the budget

_REASONING = "These sentences together report what was measured and found that bears on the hypothesis."
_UNKNOWN = "No paper that this server was started with is shown between the marks, so it has nothing to answer."
_COMPARED = "I compared each of the texts with what was asked."
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
_WITHOUT_ANSWER = {Personality.WRONG_FORMAT: _PROSE, Personality.SILENT: ""}

_Named = list[tuple[int, int]]
"""The sentences that an answer names, in order, as (number, score); scores are written only where asked for."""


@dataclass(frozen=True, slots=True)
class FakeModel:
    """A model that knows the labels, with the log of its requests."""

    papers: KnownPapers
    settings: Settings
    log: RequestLog
    clock: Callable[[], float] = time.time  # seconds since 1970
    studies: GoldStudies = field(default_factory=GoldStudies)

    def reply(self, api: ChatApi, body: Any, *, key: str, serial: str, may_stream: bool = True) -> Reply:
        """Return the reply to a decoded body, or raise `BadCallError`; ``key`` names the body, ``serial`` the reply."""
        call = api.read_call(body)
        if call.streams and not may_stream:
            raise BadCallError("stream: expected false in a batch", param="stream")
        reply = within_limit(self.answer(call, key))
        self.log.totals["unknown_papers"] += not reply.knows_paper
        return replace(reply, serial=serial, created=int(self.clock()))

    def answer(self, call: Call, key: str) -> Reply:
        """Return the reply to a call, of any length; the key and the seed decide what is drawn."""
        content = read_prompt(call.turns)
        personality = self._personality_for(call, content, key)
        if personality is Personality.REFUSES:
            return Reply(call=call, text=_REFUSAL, finish="refused")
        if personality is Personality.TRUNCATED:
            begin = "" if call.properties is None else '{"reasoning":"'
            return Reply(call=call, text=begin + _BROKEN_OFF, finish="length")
        if personality in _WITHOUT_ANSWER:
            return Reply(call=call, text=_WITHOUT_ANSWER[personality])
        if content.step:
            return self._construct(call, content)
        if content.mode == "rewrite":
            text = f"In other words: {content.hypotheses[-1] if content.hypotheses else ''}"
            is_object = call.properties is not None
            return Reply(call=call, text=_as_hypothesis(text, is_object=is_object), is_object=is_object)
        paper = self.papers.find(content)
        chance = random.Random(f"{self.settings.seed} {key}")  # noqa: S311 - no secret
        reasoning, named = _answer(personality, content, paper, chance)
        if personality is Personality.VERBOSE:
            reasoning = _with_false_lists(reasoning, content)
        if call.properties is None:
            text = f"{reasoning}\n\n{_in_words(personality, named, content)}"
        else:
            text = _as_object(reasoning, named, content, call.properties)
        return Reply(call=call, text=text, is_object=call.properties is not None, knows_paper=paper is not None)

    def _construct(self, call: Call, content: PromptContent) -> Reply:
        """Return the reply to a prompt of a step of construction: the gold, whatever the personality."""
        found = self.studies.answer(content, call.model, self.settings.draw)
        if found is None:
            return Reply(call=call, text=_UNKNOWN, knows_paper=False)
        if call.properties is None and content.step == "judge one aspect":
            return Reply(call=call, text=f"{_COMPARED}\n\nANSWER: {found['sentences']}")
        text = msgspec.json.encode({"reasoning": _COMPARED, **found}).decode()
        return Reply(call=call, text=text, is_object=call.properties is not None)

    def _personality_for(self, call: Call, content: PromptContent, key: str) -> Personality:
        settings = self.settings
        if settings.draw("refuse", key) < settings.refuse_rate:
            return Personality.REFUSES
        personality = Personality(call.model) if call.model in _NAMES else settings.personality
        if personality is Personality.MIXED:
            personality = _UNMIXED[int(settings.draw("mixed", key) * len(_UNMIXED))]
        mends = content.is_follow_up and (
            personality is Personality.OVER_LENGTH or (settings.repairable and personality in _REPAIRABLE)
        )
        return Personality.ORACLE if mends else personality


def _as_hypothesis(text: str, *, is_object: bool) -> str:
    return msgspec.json.encode({"hypothesis": text}).decode() if is_object else f"HYPOTHESIS: {text}"


def _answer(
    personality: Personality, content: PromptContent, paper: KnownPaper | None, chance: random.Random
) -> tuple[str, _Named]:
    """Return the reasoning, and the sentences or scores that the answer names."""
    numbers = content.numbers if content.mode == "score" else content.numbers[: content.budget]
    if personality is Personality.LEAD:
        return "A paper says what matters first.", [(number, BEST_SCORE // 2) for number in numbers]
    if personality is Personality.RANDOM:
        drawn = numbers if content.mode == "score" else chance.sample(content.numbers, len(numbers))
        return "Any of these may matter.", [(number, chance.randint(0, BEST_SCORE)) for number in drawn]
    if paper is None:
        return _UNKNOWN, []
    if personality is Personality.EMPTY:
        return _NOTHING, []
    named = _right_answer(content, paper)
    if personality is Personality.OVER_LENGTH and content.budget is not None and content.mode == "select":
        unused = [(number, 0) for number in content.numbers if (number, 0) not in named]
        named += unused[: content.budget + _SURPLUS - len(named)]
    elif personality is Personality.OUT_OF_RANGE:
        named.append((_FAR_NUMBER, BEST_SCORE // 2))
    elif personality is Personality.DUPLICATES:
        named = [one for one in named for _ in range(2)]
    return _REASONING, named


def _right_answer(content: PromptContent, paper: KnownPaper) -> _Named:
    shown = paper.own_numbers(content.shown)
    if content.mode == "select":
        return [(number, 0) for number in paper.selection(content.scope, content.budget, shown)]
    if content.mode == "order":
        return [(number, 0) for number in paper.order(content.scope, shown)[: content.budget]]
    return list(paper.scores(content.scope, shown).items())


def _as_object(reasoning: str, named: _Named, content: PromptContent, properties: frozenset[str]) -> str:
    """Return an answer as a JSON object with those of its members that are declared (none declared: all)."""
    members: dict[str, Any] = {"reasoning": reasoning}
    if content.mode == "score":
        members["scores"] = [{"sentence": number, "score": score} for number, score in named]
    else:
        members["sentences"] = [number for number, _ in named]
    return msgspec.json.encode({k: v for k, v in members.items() if not properties or k in properties}).decode()


def _in_words(personality: Personality, named: _Named, content: PromptContent) -> str:
    """Return the text below the reasoning: a line ``ANSWER:``, quotes, or the lines below ``SCORES:``."""
    if content.mode == "score":
        return "\n".join(["SCORES:", *(f"{number}: {score}" for number, score in named)])
    numbers = [number for number, _ in named]
    if personality is Personality.QUOTES:
        texts = dict(content.shown)
        return "\n".join(["ANSWER:", *(f'- "{texts[number]}"' for number in numbers)])
    if personality is Personality.RANGES:
        return f"ANSWER: {', '.join(_ranges(numbers)) or 'none'}"
    return f"ANSWER: [{', '.join(map(str, numbers))}]"


def _ranges(numbers: list[int]) -> list[str]:
    """Return numbers as texts, with consecutive ones written as a range, such as 3-5."""
    runs = [[number for _, number in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    return [f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs]


def _with_false_lists(reasoning: str, content: PromptContent) -> str:
    """Return long reasoning with numbers and lists that are not the answer."""
    numbers = content.numbers or (0,)
    first, last = numbers[0], numbers[-1]
    return "\n".join(
        [
            f"Let me go through the paper. Sentence [{first}] sets the scene, as do [{first}, {last}].",
            f"1. A first list could be [{', '.join(map(str, numbers[:5]))}], but most of it is background.",
            f"2. If I had to answer now I would write ANSWER: [{last}], which would be wrong.",
            f"3. The interval (95% CI 1.2-3.4, p = 0.03) is reported later [see ref. {last + 7}].",
            reasoning,
        ]
    )
