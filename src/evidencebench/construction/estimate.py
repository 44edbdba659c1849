"""What the steps that are left will ask and cost: a sample of drafts is led through them, and nothing is sent."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass, field
from itertools import pairwise
from math import sqrt

import msgspec
import numpy as np
from numpy.typing import NDArray

from evidencebench.construction.config import Config
from evidencebench.construction.draft import Draft, input_of, open_drafts, output_of
from evidencebench.construction.pipeline import configured_step, steps_of
from evidencebench.construction.writing import ASSUMED_ASPECTS, MOST_ASPECTS, stand_in_aspects
from evidencebench.errors import DataError, ReplyError
from evidencebench.execution.rewriting import asker_from
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
    margin: float | None = None  # half of the 95 % interval of prompt tokens, as a share of them; None without a pilot
    # What drafts that did the step, the pilot, asked: as counted with stand-ins, and as it was.
    counted: list[ModelUse] = field(default_factory=list)
    was: list[Uses] = field(default_factory=list)
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

    Nothing is sent. Some of the drafts that wait for a step are led through it and all behind it, with stand-ins for
    replies. Stored replies of drafts that did a step correct its tokens and repeated requests; what it dropped, the
    steps behind it.
    """
    sender = RehearsingSender(prices, cache, assumptions.completion_tokens)
    with closing(ChatClient(sender=sender, cache=None, prices=prices)) as client:
        return _Estimator(config, sender, client, assumptions, on_progress).estimate()


class _Estimator:
    def __init__(
        self,
        config: Config,
        sender: RehearsingSender,
        client: ChatClient,
        assumptions: Assumptions,
        on_progress: Callable[[int, int], None],
    ) -> None:
        self._config, self._sender, self._assumptions = config, sender, assumptions
        self._on_progress = on_progress
        self._names = steps_of(config)
        self._steps, self._files = {}, {}
        for name in self._names:
            step, model = configured_step(config, name, client)
            self._steps[name] = step, asker_from(model, client=client)
            if (path := output_of(name, config.work)).is_file():
                self._files[name] = open_drafts(path, must_be_finished=False)
        self._inputs = {self._names[0]: open_drafts(input_of(self._names[0], config.work))}  # step -> what it reads
        self._inputs |= {after: self._files[name] for name, after in pairwise(self._names) if name in self._files}
        # How many aspects a word of a summary has, of those that are there, and the standard error of that.
        self._aspects_per_word, self._aspects_error = None, 0.0
        if (aspects := self._files.get("aspects")) is not None:
            drafts = [aspects[draft_id] for draft_id in self._sample(sorted(aspects.going_on))]
            counts = [(len(draft.aspects), len(words_of(draft.summary))) for draft in drafts]
            self._aspects_error = _relative_error(counts) or 0.0
            if n_words := sum(n for _, n in counts):
                self._aspects_per_word = sum(n for n, _ in counts) / n_words
        self._unreadable: dict[str, str] = {}
        self._n_led = self._n_to_lead = 0

    def estimate(self) -> tuple[list[StepEstimate], Mapping[str, str]]:
        going_on = {name: set(file.going_on) for name, file in self._inputs.items()}
        done: dict[str, list[str]] = {name: [] for name in self._names}  # of those that go on in the file that it reads
        for name, file in self._files.items():
            done[name] = sorted(going_on.get(name, set()) & file.offsets.keys())
        waiting = {name: sorted(ids.difference(done[name])) for name, ids in going_on.items()}
        self._n_to_lead = sum(len(self._sample(ids)) for ids in (*done.values(), *waiting.values()))
        steps = {name: self._piloted(name, ids) for name, ids in done.items()}
        for name, ids in waiting.items():
            if ids:
                self._add_waiting(name, ids, steps)
        return list(steps.values()), self._unreadable

    def _sample(self, ids: Sequence[str]) -> list[str]:
        size = min(self._assumptions.n_sample, len(ids))
        return [ids[index] for index in sorted(np.random.default_rng(0).choice(len(ids), size, replace=False))]

    def _piloted(self, name: str, done: Sequence[str]) -> StepEstimate:
        estimate = StepEstimate(step=name)
        sample = self._sample(done)
        for draft_id in sample:
            draft = self._next(name, draft_id)
            self._lead(name, draft, stored=True)
            if not self._sender.n_missing:  # else not all its replies are stored any more
                estimate.was.append(self._sender.uses)
                self._lead(name, draft)
                estimate.counted.append(sum(self._sender.uses.values(), NOTHING))
        if done:
            n_kept, share = len(set(done) & set(self._files[name].going_on)), len(done) / len(sample)
            estimate.kept_share = n_kept / len(done)
            estimate.kept_error = sqrt((1 - estimate.kept_share) / n_kept) if n_kept else 0.0
            estimate.used = {model: use.times(share, share, share) for model, use in joined(estimate.was).items()}
        return estimate

    def _next(self, name: str, draft_id: str) -> Draft:
        self._on_progress(self._n_led, self._n_to_lead)
        self._n_led += 1
        return self._inputs[name][draft_id]

    def _lead(self, name: str, draft: Draft | None, *, stored: bool = False) -> Draft | None:
        """Lead a draft through a step; None where it cannot go on. What it asked is in the sender then."""
        step, asker = self._steps[name]
        self._sender.begin(stored=stored)
        if draft is None:
            return None
        try:
            made = step.work(asker, draft)
        except ReplyError:
            return None
        except DataError as error:
            self._unreadable[draft.id] = str(error)
            return None
        return None if made.dropped else made

    def _add_waiting(self, name: str, ids: Sequence[str], steps: Mapping[str, StepEstimate]) -> None:
        """Add what the drafts that wait for a step will use in it, and in those behind it."""
        behind = self._names[self._names.index(name) :]
        sample = self._sample(ids)
        asked: dict[str, list[ModelUse]] = {step: [] for step in behind}
        for draft_id in sample:
            draft: Draft | None = self._next(name, draft_id)
            for step in behind:
                draft = self._lead(step, draft)
                asked[step].append(sum(self._sender.uses.values(), NOTHING))
                if draft is not None and step == "aspects":
                    n_aspects = self._assumptions.aspects
                    if self._aspects_per_word is not None:
                        n_aspects = round(self._aspects_per_word * len(words_of(draft.summary)))
                    likely = stand_in_aspects(draft.summary, max(1, min(MOST_ASPECTS, n_aspects)))
                    draft = msgspec.structs.replace(draft, aspects=tuple(likely))
        weights = self._weights(name, ids, sample)
        kept, errors = 1.0, {"sample": 0.0}
        for step in behind:
            estimate = steps[step]
            total = sum((use.times(w, w, w) for use, w in zip(asked[step], weights, strict=True)), NOTHING)
            total, counted = total.times(kept, kept, kept), sum(estimate.counted, NOTHING)
            uses: Uses = {self._steps[step][1].chat.model: total} if total.requests else {}
            if counted.requests:  # what the pilot asked in truth, model by model, for what was counted of it
                requests, tokens = total.requests / counted.requests, total.prompt_tokens / counted.prompt_tokens
                uses = {model: use.times(requests, tokens, requests) for model, use in joined(estimate.was).items()}
            estimate.n_drafts += len(ids)
            estimate.uses = joined([estimate.uses, uses])
            was = [sum(use.prompt_tokens for use in uses.values()) for uses in estimate.was]
            of_pilot = _relative_error(zip(was, [use.prompt_tokens for use in estimate.counted], strict=True))
            errors["sample"] = _sampling_error([use.prompt_tokens for use in asked[step]], weights, len(ids))
            if of_pilot is not None:
                margin = 1.96 * sqrt(sum(error**2 for error in (of_pilot, *errors.values())))
                estimate.margin = max(margin, estimate.margin or 0.0)
            kept *= estimate.kept_share
            errors[step] = estimate.kept_error
            if step == "aspects":
                errors["number of aspects"] = self._aspects_error

    def _weights(self, name: str, ids: Sequence[str], sample: Sequence[str]) -> list[float]:
        """Return how many of the drafts that wait for a step each of the sample stands for.

        What is judged grows with sizes that are known for all drafts, so that those of the sample weigh more where the
        others are larger than they are: the linear calibration of survey sampling.
        """
        weights = np.full(len(sample), len(ids) / len(sample))
        if name == "judge" and len(sample) < len(ids):
            sizes = {draft_id: self._size(self._inputs[name][draft_id]) for draft_id in ids}
            of_sample = np.array([sizes[draft_id] for draft_id in sample])
            apart = of_sample - of_sample.mean()
            if apart.any():
                weights += (sum(sizes.values()) - len(ids) * of_sample.mean()) * apart / (apart @ apart)
        return weights.tolist()

    def _size(self, draft: Draft) -> float:
        try:
            n_bytes = (self._config.papers / draft.paper_file).stat().st_size
        except OSError:
            return 0.0
        return float(n_bytes if self._config.file.judge.at_once else n_bytes * len(draft.aspects))


def _sampling_error(tokens: Sequence[float], weights: Sequence[float], n_all: int) -> float:
    """Return the standard error of a total from a sample, as a share of it; what the weights follow is no error."""
    n, sample = len(tokens), np.array(tokens)
    if n == n_all or n < 3 or not sample.any():  # noqa: PLR2004 - two parameters are fitted
        return 0.0
    apart: NDArray[np.float64] = np.array(weights) - np.mean(weights)
    slope = float(apart @ sample / (apart @ apart)) if apart.any() else 0.0
    residuals = sample - sample.mean() - slope * apart
    return sqrt(float(residuals @ residuals) / (n - 2) / n * (1 - n / n_all)) / float(sample.mean())


def _relative_error(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Return the standard error of a ratio of sums, as a share of it; None for fewer than two pairs or nothing."""
    above, below = np.array([*pairs], dtype=np.float64).reshape(-1, 2).T
    n = len(above)
    if n < 2 or not above.any() or not below.any():  # noqa: PLR2004 - one says nothing of how they differ
        return None
    residuals = above - above.sum() / below.sum() * below
    return sqrt(float(residuals @ residuals) / (n - 1) * n) / float(above.sum())
