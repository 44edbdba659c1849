"""What the steps that are left will ask and cost: a sample of drafts is led through them, and nothing is sent."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass, field
from itertools import pairwise
from math import exp, sqrt

import msgspec
import numpy as np

from evidencebench.construction.config import Config
from evidencebench.construction.draft import Draft, input_of, open_drafts, output_of
from evidencebench.construction.noise import student_quantile
from evidencebench.construction.pipeline import configured_step, steps_of
from evidencebench.construction.step import step_asker
from evidencebench.construction.writing import ASSUMED_ASPECTS, MOST_ASPECTS, stand_in_aspects
from evidencebench.errors import DataError, ReplyError
from evidencebench.models.llm.chat import ChatReply, ChatRequest, Usage, prompt_tokens_of
from evidencebench.models.llm.client import ChatClient, EstimatingSender
from evidencebench.models.llm.costs import PriceTable
from evidencebench.models.llm.replies import ReplyCache
from evidencebench.papers.language import words_of


@dataclass(frozen=True, slots=True)
class ModelUse:
    requests: float = 0
    prompt_tokens: float = 0
    reply_tokens: float = 0

    def __add__(self, other: "ModelUse") -> "ModelUse":
        return ModelUse(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    def times(self, requests: float, prompt: float, reply: float) -> "ModelUse":
        return ModelUse(self.requests * requests, self.prompt_tokens * prompt, self.reply_tokens * reply)

    @property
    def weight(self) -> float:
        """What it costs, in tokens of prompts: with most providers, one of a reply costs four of these."""
        return self.prompt_tokens + 4 * self.reply_tokens

    def cost_usd(self, model: str, prices: PriceTable, *, batch: bool = False) -> float | None:
        usage = Usage(prompt_tokens=round(self.prompt_tokens), completion_tokens=round(self.reply_tokens))
        return prices.cost_usd(model, usage, batch=batch)


NOTHING = ModelUse()

Uses = Mapping[str, ModelUse]
"""Model -> what is asked of it."""


def joined(uses: Iterable[Uses]) -> Uses:
    total: defaultdict[str, ModelUse] = defaultdict(ModelUse)
    for use_by_model in uses:
        for model, use in use_by_model.items():
            total[model] += use
    return dict(total)


class RehearsingSender(EstimatingSender):
    """Answers with stored replies where `begin` says so, else with stand-ins, and sums up what was asked since."""

    def __init__(self, prices: PriceTable, cache: ReplyCache | None, completion_tokens: int) -> None:
        super().__init__(prices)
        self._cache, self._assumed = cache, completion_tokens
        self.uses: dict[str, ModelUse] = {}
        self.n_missing: int = 0
        self.begin()

    def begin(self, *, stored: bool = False) -> None:
        self._stored, self.uses, self.n_missing = stored, {}, 0

    def estimated(self, request: ChatRequest, stand_in: str) -> ChatReply:
        reply = self._cache.find(request.key) if self._stored and self._cache is not None else None
        usage = Usage() if reply is None else reply[0].usage
        n_prompt = prompt_tokens_of(request) if usage.prompt_tokens is None else usage.prompt_tokens
        n_reply = usage.completion_tokens
        n_reply = min(self._assumed, request.max_tokens) if n_reply is None else n_reply
        self.n_missing += reply is None
        self.uses[request.model] = self.uses.get(request.model, NOTHING) + ModelUse(1, n_prompt, n_reply)
        return ChatReply(text=stand_in) if reply is None else reply[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    completion_tokens: int = 400  # of a reply, where none of the step are stored
    aspects: int = ASSUMED_ASPECTS  # of a summary, likewise
    n_sample: int = 200  # drafts at most that are led through the steps, of those that wait for the same one


@dataclass(slots=True, kw_only=True)
class StepEstimate:
    step: str
    n_drafts: int = 0  # that are left, those of steps before it included that may yet be dropped
    uses: Uses = field(default_factory=dict)  # model -> what it will be asked
    used: Uses = field(default_factory=dict)  # model -> what it was asked, as far as its replies are stored
    factor: float | None = None  # the 95 % interval is from the estimate / factor to x factor; None: no pilot
    was: dict[str, Uses] = field(default_factory=dict)  # what drafts that did the step, the pilot, asked in truth
    kept_share: float = 1.0  # of the drafts that did it
    kept_error: float = 0.0  # the standard error of that share, as a share of it

    @property
    def n_pilot(self) -> int:
        """How many drafts correct the estimate; 0: tokens are estimated and replies assumed."""
        return len(self.was)


def estimate_construction(
    config: Config,
    *,
    prices: PriceTable,
    cache: ReplyCache | None,
    assumptions: Assumptions = Assumptions(),
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> tuple[list[StepEstimate], Mapping[str, str]]:
    """Return what the steps that ask a model will use from here on, and drafts whose paper cannot be read, with why.

    Nothing is sent. A sample of the drafts that wait for a step is led through it and all behind it, with stand-ins for
    replies; so are the drafts that did these steps. What those asked in truth, by their stored replies, for what was
    counted of them, corrects what is counted of the others.
    """
    sender = RehearsingSender(prices, cache, assumptions.completion_tokens)
    with closing(ChatClient(sender=sender, cache=None, prices=prices)) as client:
        rehearsal = _Rehearsal(config, sender, client, assumptions, on_progress)
        return list(rehearsal.estimates().values()), rehearsal.unreadable


class _Rehearsal:
    def __init__(
        self,
        config: Config,
        sender: RehearsingSender,
        client: ChatClient,
        assumptions: Assumptions,
        on_progress: Callable[[int, int], None],
    ) -> None:
        self._config, self._sender, self._on_progress = config, sender, on_progress
        self._n_sample, self._n_aspects = assumptions.n_sample, assumptions.aspects
        self._names = steps_of(config)
        self._steps, self._files = {}, {}
        for name in self._names:
            step, model = configured_step(config, name, client)
            self._steps[name] = step, step_asker(model, client=client)
            if (path := output_of(name, config.work)).is_file():
                self._files[name] = open_drafts(path, must_be_finished=False)
        first = open_drafts(input_of(self._names[0], config.work))
        self._inputs = {self._names[0]: first}  # step -> what it reads
        self._inputs |= {after: self._files[name] for name, after in pairwise(self._names) if name in self._files}
        self._random = np.random.default_rng(0)
        lengths = [len(words_of(first[draft_id].summary)) for draft_id in sorted(first.going_on)[: self._n_sample]]
        self._words_an_aspect = max(1.0, float(np.mean(lengths or [1])) / assumptions.aspects)
        self._counted: dict[tuple[str, str], Mapping[str, ModelUse]] = {}
        self.unreadable: dict[str, str] = {}

    def estimates(self) -> Mapping[str, StepEstimate]:
        steps, waiting = {name: StepEstimate(step=name) for name in self._names}, {}
        for name, source in self._inputs.items():
            done = sorted(set(source.going_on) & (self._files[name].offsets.keys() if name in self._files else set()))
            waiting[name] = sorted(set(source.going_on).difference(done))
            if done:
                self._pilot(steps[name], done)
        for name, ids in waiting.items():
            if ids:
                self._add(name, ids, steps)
        return steps

    def _pilot(self, estimate: StepEstimate, done: Sequence[str]) -> None:
        """Add what drafts that did a step asked in truth."""
        n = min(self._n_sample, len(done))
        for place in self._random.choice(len(done), n, replace=False):
            self._lead(estimate.step, self._inputs[estimate.step][done[place]], stored=True)
            if not self._sender.n_missing:  # else not all its replies are stored any more
                estimate.was[done[place]] = self._sender.uses
        share, used = len(done) / n, joined(estimate.was.values())
        estimate.used = {model: use.times(share, share, share) for model, use in used.items()}
        n_kept = len(set(done) & set(self._files[estimate.step].going_on))
        likely = (n_kept + 0.5) / (len(done) + 1)  # not 1 where all were kept
        estimate.kept_share, estimate.kept_error = n_kept / len(done), sqrt((1 - likely) / likely / len(done))

    def _lead(self, name: str, draft: Draft | None, *, stored: bool = False) -> Draft | None:
        """Lead a draft through a step; None where it cannot go on. What it asked is in the sender then."""
        step, asker = self._steps[name]
        self._sender.begin(stored=stored)
        try:
            made = None if draft is None else step.work(asker, draft)
        except ReplyError:
            return None
        except DataError as error:
            self.unreadable["" if draft is None else draft.id] = str(error)
            return None
        return None if made is None or made.dropped else made

    def _count(self, start: str, draft_id: str) -> Mapping[str, ModelUse]:
        """Return what a draft asks in a step and in those behind it, with stand-ins for replies."""
        if (start, draft_id) in self._counted:
            return self._counted[start, draft_id]
        draft: Draft | None = self._inputs[start][draft_id]
        asked = {}
        for step in self._names[self._names.index(start) :]:
            draft = self._lead(step, draft)
            asked[step] = sum(self._sender.uses.values(), NOTHING)
            if draft is not None and step == "aspects":  # their number grows with the summary
                is_known = "aspects" in self._files  # so that a pilot corrects it
                n_aspects = round(len(words_of(draft.summary)) / self._words_an_aspect) if is_known else self._n_aspects
                likely = stand_in_aspects(draft.summary, max(1, min(MOST_ASPECTS, n_aspects)))
                draft = msgspec.structs.replace(draft, aspects=tuple(likely))
        self._counted[start, draft_id] = asked
        self._on_progress(len(self._counted), max(len(self._counted), 2 * self._n_sample))
        return asked

    def _add(self, start: str, ids: Sequence[str], steps: Mapping[str, StepEstimate]) -> None:
        """Add what the drafts that wait for a step will use in it, and in those behind it."""
        sample, weights = self._weighted(start, ids)
        asked = [self._count(start, draft_id) for draft_id in sample]
        kept, errors, base = 1.0, list[float](), start
        for step in self._names[self._names.index(start) :]:
            estimate = steps[step]
            if any(uses[step].requests for uses in asked):
                base = step  # else votes decide what it asks, and the step before tells how much there is to ask
            parts = [uses[base].times(w, w, w) for uses, w in zip(asked, weights, strict=True)]
            total = sum(parts, NOTHING).times(kept, kept, kept)
            pilot = {draft_id: was for draft_id, was in estimate.was.items() if draft_id in self._inputs[start].offsets}
            counts = [self._count(start, draft_id)[base] for draft_id in pilot]
            counted, uses = sum(counts, NOTHING), dict[str, ModelUse]()
            if counted.requests:  # what the pilot asked in truth, model by model, for what was counted of it
                ratio, of_prompts = total.requests / counted.requests, total.prompt_tokens / counted.prompt_tokens
                was = joined(pilot.values())
                uses = {model: use.times(ratio, of_prompts, ratio) for model, use in was.items()}
                weighed = [sum(use.weight for use in of_draft.values()) for of_draft in pilot.values()]
                more = [*errors, _sampling_error([part.prompt_tokens for part in parts], n_all=len(ids))]
                factor = interval_factor([count.prompt_tokens for count in counts], weighed, more)
                estimate.factor = max(factor, estimate.factor or 1.0)
            elif total.requests and base == step:
                uses = {self._steps[step][1].chat.model: total}
            estimate.n_drafts += len(ids)
            estimate.uses = joined([estimate.uses, uses])
            kept *= estimate.kept_share
            errors.append(estimate.kept_error)

    def _weighted(self, start: str, ids: Sequence[str]) -> tuple[Sequence[str], Sequence[float]]:
        """Return a sample of drafts and how many each stands for; long papers are likelier, and stand for fewer."""
        if len(ids) <= self._n_sample:
            return ids, [1.0] * len(ids)
        sizes = np.array([self._size(self._inputs[start][draft_id]) for draft_id in ids])
        chances = sizes / sizes.sum()
        places = self._random.choice(len(ids), self._n_sample, p=chances)
        return [ids[place] for place in places], (1 / (self._n_sample * chances[places])).tolist()

    def _size(self, draft: Draft) -> float:
        path = self._config.papers / draft.paper_file
        n_parts = 1 if self._config.file.judge.at_once else len(draft.aspects) or len(words_of(draft.summary))
        return float(max(1, path.stat().st_size if path.is_file() else 0) * max(1, n_parts))


def interval_factor(counted: Sequence[float], used: Sequence[float], errors: Iterable[float] = ()) -> float:
    """Return by what factor a total may be off, with 95 %, by what was counted and used of each draft of a pilot.

    The error of the ratio is the jackknife's, which gives large drafts their weight, with Student's t; ``errors`` are
    others, as shares. The interval lies on the scale of logarithms, as sizes do.

    >>> round(interval_factor([1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 5, 6]), 2)
    1.2
    """
    n, shares, all_used = len(counted), np.array(counted) / sum(counted), sum(used)
    if n < 2 or not all_used:  # noqa: PLR2004 - one says nothing of how they differ
        return float("inf")
    residuals = (np.array(used) / all_used - shares) / (1 - np.minimum(shares, 0.9))
    squares = student_quantile(0.975, n - 1) ** 2 * float(residuals @ residuals) * (n - 1) / n + 1.96**2 * sum(
        error**2 for error in errors
    )
    return exp(min(50.0, sqrt(squares)))


def _sampling_error(parts: Sequence[float], *, n_all: int) -> float:
    """Return the standard error of a sum of weighted parts, as a share of it; 0 where nothing was left out."""
    if len(parts) == n_all or not any(parts):
        return 0.0
    return float(np.std(parts, ddof=1) / np.mean(parts) / sqrt(len(parts)))
