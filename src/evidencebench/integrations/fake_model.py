"""A language model for trials: right answers from labels, a few faults."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from evidencebench.construction.demo import GoldStudy
from evidencebench.data.cover import Coverage, coverage_of, greedy_ranking, maximum_coverage, minimum_cover
from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.query import AspectScope

BEHAVIOURS = {
    "oracle": "the best selection, by the labels",
    "lead": "the first sentences shown; equal scores; paper order",
    "wrong_format": "prose without a list",
    "refuses": "a refusal",
}

FAULTS = ("rate_limit", "server_error", "malformed_json")  # nothing is paid then, so that a client should try again

CHARACTERS_PER_TOKEN = 4  # a round number, easy to check by hand
BEST_SCORE = 10  # of a sentence of the minimum cover; the scale begins at 0
UNKNOWN = "No paper that this server was started with is shown between the marks, so it has nothing to answer."

_REASONING = "These sentences together report what was measured and found that bears on the hypothesis."
_COMPARED = "I compared each of the texts with what was asked."
_REFUSAL = "I'm sorry, but I can't help with that request."
_PROSE = "The paper bears on the hypothesis mainly through its trial, whose primary outcome improved."
_SUMMARY = re.compile(r"^Summary(?:, for context only)?: (.*)$", re.MULTILINE)
_ASPECT = re.compile(r"^Aspect: (.*)$", re.MULTILINE)
_CITING = re.compile(r"^.*?Sentences ([0-9]{1,5})(?: to ([0-9]{1,5}))? of the text", re.MULTILINE)
_NOISY = re.compile(r"noisy-(?P<misses>[01](?:\.[0-9]{1,6})?)-(?P<invents>[01](?:\.[0-9]{1,6})?)")
_DIGITS = "[0-9]{1,7}"  # of a sentence's number; int() refuses thousands of digits
_PAPER = re.compile(r"^<paper>\n(.*?)^</paper>$", re.MULTILINE | re.DOTALL)
_SENTENCE = re.compile(rf"^\[({_DIGITS})\] (.*)$", re.MULTILINE)
_HYPOTHESIS = re.compile(r"^Hypothesis: (.*)$", re.MULTILINE)
_BUDGET = re.compile(rf"at most ({_DIGITS}) sentences?\b|as many sentences as needed", re.IGNORECASE)
_STEP = re.compile(r"Building step: (.*)")
_ASPECT_LINE = re.compile(r"^([0-9]{1,5})\. (.*)$", re.MULTILINE)
_ESCAPED = "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}"  # in place of <, so that no sentence can end the paper
_IN_BRACES = re.compile(r"\{(\d[\d\s,;\N{EN DASH}-]*)\}")  # a reference's mark in prompts of construction
_MODES: dict[str, Literal["score", "order", "rewrite"]] = {
    "score every sentence": "score",
    "order every sentence": "order",
    "rewritten hypothesis": "rewrite",
}

Named = list[tuple[int, int]]
"""The sentences that an answer names, in order, as (number, score); scores are written only where asked for."""


class ServedMessage(msgspec.Struct, frozen=True):
    role: Literal["system", "developer", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedPrompt:
    shown: tuple[tuple[int, str], ...] = ()  # numbers and texts of sentences, in prompt order
    hypotheses: tuple[str, ...] = ()  # normalised, oldest first, those of examples included
    budget: int | None = None  # None: no limit is stated
    scope: AspectScope = "all"
    mode: Literal["select", "score", "order", "rewrite"] = "select"
    step: str = ""  # what a prompt of a step of construction asks for
    instructions: str = ""  # the first message outside of papers

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(number for number, _ in self.shown)

    @property
    def aspects(self) -> list[tuple[int, str]]:
        lines = self.instructions.partition("\nAspects:\n")[2].partition("\n\n")[0]
        return [(int(number), text) for number, text in _ASPECT_LINE.findall(lines)]


def read_prompt(messages: Sequence[ServedMessage]) -> ServedPrompt:
    """Read marks outside the paper only, since a sentence of it may hold any; the last message's first budget counts.

    >>> lines = ["At most 2 sentences.", "Hypothesis: Tea helps.", "<paper>", "[7] At most 9 sentences!", "</paper>"]
    >>> prompt = read_prompt([ServedMessage("user", chr(10).join(lines))])
    >>> prompt.budget, prompt.shown, prompt.hypotheses
    (2, ((7, 'At most 9 sentences!'),), ('Tea helps.',))
    """
    texts = [message.content for message in messages if message.role != "assistant"]
    outside, papers = [_PAPER.sub("", text) for text in texts], map(_PAPER.findall, reversed(texts))
    shown: dict[int, str] = {}
    for number, text in _SENTENCE.findall("".join(next(filter(None, papers), ()))):
        shown.setdefault(int(number), text)
    budget = next(filter(None, map(_BUDGET.search, reversed(outside))), None)
    instructions = "\n".join(outside).lower()
    first = outside[0].strip() if outside else ""
    step = _STEP.match(first)
    return ServedPrompt(
        shown=tuple(shown.items()),
        hypotheses=tuple(normalised(line) for text in outside for line in _HYPOTHESIS.findall(text)),
        budget=int(budget[1]) if budget and budget[1] else None,
        scope="results" if "outcomes and analyses only" in instructions else "all",
        mode=next((mode for words, mode in _MODES.items() if words in instructions), "select"),
        step=step[1] if step else "",
        instructions=first,
    )


def normalised(text: str) -> str:
    """Return a sentence on one line, with ``<`` and ``[16]`` where a prompt writes other signs for them."""
    return _IN_BRACES.sub(r"[\1]", " ".join(text.split()).replace(_ESCAPED, "<"))


class KnownPaper:
    def __init__(self, instance: Instance) -> None:
        self._sentences = dict(enumerate(map(normalised, instance.query.sentences)))
        self._labels = instance.labels

    def own_numbers(self, shown: Iterable[tuple[int, str]]) -> tuple[int, ...]:
        """Return the shown numbers under which the paper has the same text, in the order of the prompt."""
        return tuple(number for number, text in shown if self._sentences.get(number) == normalised(text))

    def selection(self, scope: AspectScope, budget: int | None, shown: Collection[int]) -> tuple[int, ...]:
        """Return the shown part of the paper's optimum, filled up greedily; without a budget every source."""
        coverage = coverage_of(self._labels, scope)
        if budget is None:
            return tuple(index for index in coverage.masks if index in shown)
        chosen = [index for index in maximum_coverage(coverage, budget).sentences if index in shown]
        return tuple(sorted([*chosen, *_greedy_additions(coverage, chosen, shown)[: budget - len(chosen)]]))

    def scores(self, scope: AspectScope, shown: Iterable[int]) -> dict[int, int]:
        coverage = coverage_of(self._labels, scope)
        best, masks = frozenset(minimum_cover(coverage).sentences), coverage.masks
        return {
            index: BEST_SCORE if index in best else min(masks.get(index, 0).bit_count(), BEST_SCORE - 1)
            for index in shown
        }

    def order(self, scope: AspectScope, shown: Iterable[int]) -> tuple[int, ...]:
        scores = self.scores(scope, shown)
        best = [index for index in scores if scores[index] == BEST_SCORE]
        by_score = sorted(scores, key=lambda index: (-scores[index], index))
        return tuple(dict.fromkeys([*_greedy_additions(coverage_of(self._labels, scope), (), best), *by_score]))


def _greedy_additions(coverage: Coverage, chosen: Iterable[int], shown: Iterable[int]) -> tuple[int, ...]:
    uncovered = coverage.coverable & ~coverage.mask_of(chosen)
    gains = {index: coverage.masks.get(index, 0) & uncovered for index in shown}
    return greedy_ranking(replace(coverage, masks={index: mask for index, mask in gains.items() if mask}))


class KnownPapers:
    def __init__(self, dataset: Dataset) -> None:
        self._hypotheses: dict[str, str] = {}  # instance id -> hypothesis
        # The hash of (number, text) -> the instances with this text at this number: an index of 64-bit hashes takes
        # a tenth of the memory of one of texts. `KnownPaper.own_numbers` compares the texts.
        self._ids: dict[int, tuple[str, ...]] = {}
        # So many papers of 25 kB are 100 MB.
        self._known = lru_cache(maxsize=4096)(lambda instance_id: KnownPaper(dataset[instance_id]))
        for query in dataset.queries():
            self._hypotheses[query.instance_id] = normalised(query.hypothesis)
            for sentence in map(hash, enumerate(map(normalised, query.sentences))):
                self._ids[sentence] = (*self._ids.get(sentence, ()), query.instance_id)

    def find(self, prompt: ServedPrompt) -> KnownPaper | None:
        """Return the paper of most shown sentences with their numbers; of equals, one whose hypothesis is asked."""
        votes = Counter[str]()
        for number, text in prompt.shown:
            votes.update(self._ids.get(hash((number, normalised(text))), ()))
        best = [instance_id for instance_id, count in votes.items() if count == max(votes.values())]
        asked = (instance_id for instance_id in best if self._hypotheses[instance_id] in prompt.hypotheses)
        return self._known(next(asked, best[0])) if best else None


class GoldStudies:
    def __init__(self, studies: Iterable[GoldStudy] = ()) -> None:
        self._studies = list(studies)
        self._by_text = {normalised(text): study for study in self._studies for text in (study.passage, study.summary)}

    def answer(self, prompt: ServedPrompt, model: str, draw: Callable[..., float]) -> dict[str, Any] | None:
        if prompt.step == "delimit the passage":
            return self._delimit(prompt)
        if prompt.step == "label results":  # whose prompt has no summary
            known = (aspect for study in self._studies for aspect in study.aspects)
            results = {normalised(aspect.aspect) for aspect in known if aspect.is_result}
            return {"results": [number for number, text in prompt.aspects if normalised(text) in results]}
        if prompt.step == "can the paper answer":
            return {"can_answer": True}
        summary, aspect = _SUMMARY.search(prompt.instructions), _ASPECT.search(prompt.instructions)
        study = None if summary is None else self._by_text.get(normalised(summary[1]))
        if study is None:
            return None
        if aspect is not None and prompt.step == "judge one aspect":
            return {"sentences": self.judge(study, aspect[1], prompt, model, draw)}
        aspects = {normalised(aspect.aspect) for aspect in study.aspects}
        verdicts = ((number, normalised(text) in aspects) for number, text in prompt.aspects)
        judged = ((number, self.judge(study, text, prompt, model, draw)) for number, text in prompt.aspects)
        answers: dict[str, dict[str, Any]] = {
            "keep summaries of results": {"reports_results": study.reports_results},
            "purpose of the evidence": {"purpose": study.purpose},
            "hypothesis": {"hypothesis": study.hypothesis},
            "aspects": {"aspects": [aspect.aspect for aspect in study.aspects]},
            "verify the aspects": {
                "verdicts": [
                    {"aspect": n, "faithful": is_so, "single": True, "self_contained": True} for n, is_so in verdicts
                ]
            },
            "correct the aspects": {"corrections": []},
            "judge all aspects": {"aspects": [{"aspect": n, "sentences": sentences} for n, sentences in judged]},
        }
        return answers.get(prompt.step)

    def judge(
        self, study: GoldStudy, aspect: str, prompt: ServedPrompt, model: str, draw: Callable[..., float]
    ) -> list[int]:
        """Miss, as ``noisy-0.1-0.01``, a tenth of the sources in each window, and name a hundredth of the others."""
        text, noise = normalised(aspect), _NOISY.fullmatch(model)
        sources = {index for gold in study.aspects if normalised(gold.aspect) == text for index in gold.sentences}
        if noise is None:
            return [number for number in prompt.numbers if number in sources]
        key = (normalised(study.summary), text, min(prompt.numbers, default=0))

        def is_named(number: int) -> bool:
            drawn = draw("judges", model, *key, number)
            return drawn >= float(noise["misses"]) if number in sources else drawn < float(noise["invents"])

        return list(filter(is_named, prompt.numbers))

    def _delimit(self, prompt: ServedPrompt) -> dict[str, Any] | None:
        """Return the shown sentences that stand in the summary of the study whose passage is asked about."""
        citing = _CITING.search(prompt.instructions)
        if citing is None:
            return None
        first, last = int(citing[1]), int(citing[2] or citing[1])
        cited = normalised(" ".join(text for number, text in prompt.shown if first <= number <= last))
        study = next((study for study in self._studies if cited in normalised(study.passage)), None)
        if study is None:
            return None
        summary = normalised(study.summary)
        return {"sentences": [number for number, text in prompt.shown if normalised(text) in summary]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    behaviour: str = "oracle"  # a request whose model is the name of another gets that one's answer
    fault_rate: float = 0.0
    fault_kinds: tuple[str, ...] = FAULTS  # each is equally likely
    latency_seconds: float = 0.0
    seed: int = 0  # decides everything that is drawn

    def fault_met(self, key: str, attempt: int) -> str | None:
        if self.draw("meets", key, attempt) >= self.fault_rate:
            return None
        return self.fault_kinds[int(self.draw("kind", key, attempt) * len(self.fault_kinds))]

    def draw(self, *parts: object) -> float:
        """Return a number in [0, 1), the same for the same parts and seed."""
        digest = hashlib.sha256("\x1f".join(map(str, (self.seed, *parts))).encode()).digest()
        return int.from_bytes(digest[:6], "big") / 2**48


class _NamedSchema(msgspec.Struct, frozen=True):
    schema: dict[str, Any] = {}


class _ResponseFormat(msgspec.Struct, frozen=True):
    json_schema: _NamedSchema | None = None


class Call(msgspec.Struct, kw_only=True):
    """A request for one reply, as OpenAI's clients write it; other fields are ignored."""

    model: str
    messages: Annotated[list[ServedMessage], msgspec.Meta(min_length=1)]
    max_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    max_completion_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    response_format: _ResponseFormat | None = None
    n: Literal[1] | None = None
    stream: bool | None = None

    @property
    def properties(self) -> frozenset[str] | None:
        """The names that the wanted JSON object declares; None: free text is wanted."""
        wanted = None if self.response_format is None else self.response_format.json_schema
        return None if wanted is None else frozenset(wanted.schema.get("properties", ()))

    @property
    def prompt_tokens(self) -> int:
        return sum(tokens_in(message.content) + 3 for message in self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    call: Call
    text: str
    is_cut: bool = False


def tokens_in(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


class FakeModel:
    def __init__(self, dataset: Dataset, settings: Settings, studies: Iterable[GoldStudy] = ()) -> None:
        self.settings = settings
        self._papers, self._studies = KnownPapers(dataset), GoldStudies(studies)

    def reply(self, call: Call, key: str) -> Reply:
        prompt, most = read_prompt(call.messages), call.max_completion_tokens or call.max_tokens
        reply = self.answer(self.behaviour(call, prompt, key), call, prompt, key)
        if most is None or tokens_in(reply.text) <= most:
            return reply
        return replace(reply, text=reply.text[: most * CHARACTERS_PER_TOKEN], is_cut=True)

    def behaviour(self, call: Call, _prompt: ServedPrompt, _key: str) -> str:
        return call.model if call.model in BEHAVIOURS else self.settings.behaviour

    def answer(self, behaviour: str, call: Call, prompt: ServedPrompt, key: str) -> Reply:
        if behaviour == "refuses":
            return Reply(call=call, text=_REFUSAL)
        if behaviour == "wrong_format":
            return Reply(call=call, text=_PROSE)
        if prompt.step:
            return self._construct(call, prompt)
        if prompt.mode == "rewrite":
            text = f"In other words: {prompt.hypotheses[-1] if prompt.hypotheses else ''}"
            return Reply(call=call, text=f"HYPOTHESIS: {text}" if call.properties is None else _json(hypothesis=text))
        reasoning, named = self.select(behaviour, prompt, self._papers.find(prompt), key)
        if call.properties is None:
            return Reply(call=call, text=f"{reasoning}\n\n{self.in_words(behaviour, named, prompt)}")
        members: dict[str, Any] = {"reasoning": reasoning}
        if prompt.mode == "score":
            members["scores"] = [{"sentence": number, "score": score} for number, score in named]
        else:
            members["sentences"] = [number for number, _ in named]
        declared = call.properties or members
        return Reply(call=call, text=_json(**{name: value for name, value in members.items() if name in declared}))

    def select(self, behaviour: str, prompt: ServedPrompt, paper: KnownPaper | None, _key: str) -> tuple[str, Named]:
        if behaviour == "lead":
            numbers = prompt.numbers if prompt.mode == "score" else prompt.numbers[: prompt.budget]
            return "A paper says what matters first.", [(number, BEST_SCORE // 2) for number in numbers]
        if paper is None:
            return UNKNOWN, []
        shown = paper.own_numbers(prompt.shown)
        if prompt.mode == "score":
            return _REASONING, list(paper.scores(prompt.scope, shown).items())
        if prompt.mode == "order":
            return _REASONING, [(number, 0) for number in paper.order(prompt.scope, shown)[: prompt.budget]]
        return _REASONING, [(number, 0) for number in paper.selection(prompt.scope, prompt.budget, shown)]

    def in_words(self, _behaviour: str, named: Named, prompt: ServedPrompt) -> str:
        if prompt.mode == "score":
            return "\n".join(["SCORES:", *(f"{number}: {score}" for number, score in named)])
        return f"ANSWER: {[number for number, _ in named]}"

    def _construct(self, call: Call, prompt: ServedPrompt) -> Reply:
        """Return the reply to a step of construction: the gold, whatever the behaviour."""
        gold = self._studies.answer(prompt, call.model, self.settings.draw)
        if gold is None:
            return Reply(call=call, text=UNKNOWN)
        if call.properties is None and prompt.step == "judge one aspect":
            return Reply(call=call, text=f"{_COMPARED}\n\nANSWER: {gold['sentences']}")
        return Reply(call=call, text=_json(reasoning=_COMPARED, **gold))


def _json(**members: object) -> str:
    return msgspec.json.encode(members).decode()
