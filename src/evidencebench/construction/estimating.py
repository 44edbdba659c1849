"""What the steps that are left will cost: rehearsed on a sample of drafts, corrected by the replies that are stored."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from evidencebench.construction.config import Config
from evidencebench.construction.draft import Draft
from evidencebench.construction.draft_file import DraftFile, open_drafts
from evidencebench.construction.estimate_correction import Floats, StepSums, corrected
from evidencebench.construction.model_use import NOTHING, RehearsingSender, Uses, joined
from evidencebench.construction.pipeline import model_step, steps_of
from evidencebench.construction.steps.aspects import ASSUMED_ASPECTS, MOST_ASPECTS, stand_in_aspects
from evidencebench.construction.steps.checks import words_of
from evidencebench.construction.steps.model_step import ModelStep
from evidencebench.construction.work_folder import input_of, output_of
from evidencebench.errors import DataError, ReplyError
from evidencebench.execution.rewriting import asker_from
from evidencebench.models.llm.client import ChatClient
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.reply_cache import ReplyCache
from evidencebench.systems.strategies.conversation import Asker


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What an estimate takes for granted where nothing is known.

    ``completion_tokens`` and ``aspects`` hold where no replies of the step are stored. ``n_sample`` drafts at most are
    rehearsed of each group, drawn with ``seed``.
    """

    completion_tokens: int = 400
    aspects: int = ASSUMED_ASPECTS
    n_sample: int = 200
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEstimate:
    """What is left of a step.

    Attributes
    ----------
    n_drafts
        How many drafts are left, those of steps before it included that may yet be dropped.
    uses
        Model -> what it will be asked.
    used
        Model -> what it was asked for the drafts that are done, as far as its replies are stored.
    n_pilot
        How many drafts correct the estimate; 0: tokens are estimated and replies assumed.
    margin
        Half of the 95 % interval of the prompt tokens, as a share of them, from the drafts that were drawn and those of
        the pilot; None without a pilot.
    repeated_tokens
        How many tokens a prompt has in common with the one before it, from the beginning, on average.
    """

    step: str
    n_drafts: int
    uses: Uses
    used: Uses
    n_pilot: int
    margin: float | None
    repeated_tokens: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstructionEstimate:
    """What is left of all steps; ``unreadable``: drafts of the sample whose paper cannot be read, with the reason."""

    steps: tuple[StepEstimate, ...]
    unreadable: Mapping[str, str]


def estimate_construction(
    config: Config,
    *,
    prices: PriceTable,
    cache: ReplyCache | None,
    assumptions: Assumptions = Assumptions(),
    on_progress: Callable[[int, int], None] | None = None,
) -> ConstructionEstimate:
    """Return what the steps that ask a model will use from here on; nothing is sent.

    Each draft that is left is in a group: those that wait for the same step. Some of each group are led through that
    step and all behind it, with stand-ins for replies. Drafts that are done are led the same way, and what they asked
    in truth, as the stored replies say, corrects the counts of the others: tokens, aspects, repeated requests, and
    drafts that were dropped on the way.

    Raises as `open_drafts`; the passages must be harvested.
    """
    return _Estimator(config, prices, cache, assumptions, on_progress or (lambda *_: None)).estimate()


@dataclass(slots=True, kw_only=True)
class _StepLeft:
    """What is left of a step, as in `StepEstimate`, summed over the groups of drafts that wait."""

    n_drafts: int = 0
    uses: Uses = field(default_factory=dict)
    n_pilot: int = 0
    errors: list[float] = field(default_factory=list)
    repeated_tokens: float = 0.0


class _Estimator:
    """Leads drafts through the steps."""

    def __init__(
        self,
        config: Config,
        prices: PriceTable,
        cache: ReplyCache | None,
        assumptions: Assumptions,
        on_progress: Callable[[int, int], None],
    ) -> None:
        self._config, self._assumptions, self._on_progress = config, assumptions, on_progress
        self._names = steps_of(config)
        self._senders = {
            stored: RehearsingSender(prices, cache if stored else None, assumptions.completion_tokens)
            for stored in (False, True)
        }
        self._clients = {
            stored: ChatClient(sender=sender, cache=None, prices=prices) for stored, sender in self._senders.items()
        }
        self._steps: dict[tuple[bool, str], tuple[ModelStep, Asker]] = {}
        for stored, client in self._clients.items():
            for name in self._names:
                step, model = model_step(config, name, client)
                self._steps[stored, name] = step, asker_from(model, client=client)
        self._files: dict[str, DraftFile] = {}  # by the step that wrote it
        self._going_on: dict[str, frozenset[str]] = {}
        self._known_uses: dict[tuple[str, str], Uses | None] = {}
        self._unreadable: dict[str, str] = {}
        self._n_led = self._n_to_lead = 0

    def estimate(self) -> ConstructionEstimate:
        try:
            return self._estimate()
        finally:
            for client in self._clients.values():
                client.close()

    def _estimate(self) -> ConstructionEstimate:
        first = self._names[0]
        source = open_drafts(input_of(first, self._config.work))
        for name in self._names:
            if (path := output_of(name, self._config.work)).is_file():
                self._files[name] = open_drafts(path, must_be_finished=False)
                self._going_on[name] = frozenset(self._files[name].going_on)
        given = {name: self._input(name, source) for name in self._names}
        self._aspects_per_word = self._rate_of_aspects()
        waiting = {
            name: ids
            for name, file in given.items()
            if file is not None and (ids := sorted(set(file.going_on) - set(self._done(name))))
        }
        self._n_to_lead = sum(
            len(self._drawn(ids)) + len(self._drawn(self._done_of(name, given[name]))) for name, ids in waiting.items()
        )
        left = {name: _StepLeft() for name in self._names}
        for name, ids in waiting.items():
            self._add_group(name, ids, given, left)
        return ConstructionEstimate(
            steps=tuple(
                StepEstimate(
                    step=name,
                    n_drafts=left[name].n_drafts,
                    uses=left[name].uses,
                    used=self._used(name, given[name]),
                    n_pilot=left[name].n_pilot,
                    margin=max(left[name].errors, default=None),
                    repeated_tokens=left[name].repeated_tokens,
                )
                for name in self._names
            ),
            unreadable=self._unreadable,
        )

    def _add_group(
        self, name: str, ids: Sequence[str], given: Mapping[str, DraftFile | None], left: Mapping[str, _StepLeft]
    ) -> None:
        """Add what the drafts that wait for a step will use in it, and in those behind it."""
        file = given[name]
        if file is None:
            return
        behind = self._names[self._names.index(name) :]
        done = self._pilot_of(name, file, given, behind)
        drawn = self._drawn(ids)
        todo = {step: StepSums() for step in behind}
        for one in drawn:
            self._rehearse(file[one], behind, todo)
        weights = self._weights(name, file, ids, drawn)
        for step in behind:
            model = self._steps[False, step][1].chat.model
            found, error = corrected(model, todo[step], done[step], weights, len(ids))
            n_requests = sum(one.requests for one in todo[step].rehearsed)
            sums = left[step]
            sums.n_drafts += len(ids)
            sums.uses = joined(sums.uses, found)
            sums.n_pilot = max(sums.n_pilot, len(done[step].was))
            sums.errors += [] if error is None else [error]
            sums.repeated_tokens = todo[step].repeated_tokens / n_requests if n_requests else 0.0

    def _input(self, name: str, source: DraftFile) -> DraftFile | None:
        place = self._names.index(name)
        return source if place == 0 else self._files.get(self._names[place - 1])

    def _done(self, name: str) -> Iterable[str]:
        return self._files[name].offsets if name in self._files else ()

    def _done_of(self, name: str, file: DraftFile | None) -> list[str]:
        """Return the drafts that did a step, of those that it was given."""
        return [] if file is None else sorted(set(file.going_on) & set(self._done(name)))

    def _drawn(self, ids: Sequence[str]) -> list[str]:
        n_drawn = min(self._assumptions.n_sample, len(ids))
        drawn = np.random.default_rng(self._assumptions.seed).choice(len(ids), n_drawn, replace=False)
        return [ids[place] for place in sorted(drawn)]

    def _rate_of_aspects(self) -> float | None:
        """Return how many aspects a word of a summary has, of those that are there; None where there are none."""
        if "aspects" not in self._files:
            return None
        found = [self._files["aspects"][one] for one in self._drawn(sorted(self._files["aspects"].going_on))]
        n_words = sum(len(words_of(one.summary)) for one in found)
        return sum(len(one.aspects) for one in found) / n_words if n_words else None

    def _with_likely_aspects(self, draft: Draft) -> Draft:
        n_aspects = self._assumptions.aspects
        if self._aspects_per_word is not None:
            n_aspects = round(self._aspects_per_word * len(words_of(draft.summary)))
        n_aspects = max(1, min(MOST_ASPECTS, n_aspects))
        return msgspec.structs.replace(draft, aspects=tuple(stand_in_aspects(draft.summary, n_aspects)))

    def _ask(self, name: str, draft: Draft, *, stored: bool) -> Draft | None:
        """Lead a draft through a step; None where it cannot go on. What it asked is in the sender then."""
        step, asker = self._steps[stored, name]
        self._senders[stored].begin()
        try:
            made = step.work(asker, draft)
        except ReplyError:
            return None
        except DataError as error:
            self._unreadable[draft.id] = str(error)
            return None
        return None if made.dropped else made

    def _rehearse(self, draft: Draft, behind: Sequence[str], sums: Mapping[str, StepSums]) -> None:
        """Lead a draft through steps with stand-ins, and note what it asked in each."""
        sender = self._senders[False]
        self._on_progress(self._n_led, self._n_to_lead)
        self._n_led += 1
        now: Draft | None = draft
        for name in behind:
            sender.begin()  # also where it cannot go on
            if now is not None:
                now = self._ask(name, now, stored=False)
            sums[name].rehearsed.append(sum(sender.uses.values(), NOTHING))
            sums[name].repeated_tokens += sender.repeated_tokens
            if now is not None and name == "aspects":
                now = self._with_likely_aspects(now)

    def _weights(self, name: str, file: DraftFile, ids: Sequence[str], drawn: Sequence[str]) -> Floats:
        """Return how many drafts of its group each drawn one stands for.

        What is judged grows with the sizes of the papers, and with the numbers of aspects where these are asked about
        one by one. Both are known for all drafts that wait for it, so that drawn ones weigh more where the others are
        larger than they are: the linear calibration of survey sampling.
        """
        weights = np.full(len(drawn), len(ids) / len(drawn))
        if name != "judge" or len(drawn) == len(ids):
            return weights
        sizes = {one: self._size_of(file[one]) for one in ids}
        own = np.array([sizes[one] for one in drawn])
        apart = own - own.mean()
        if not apart.any():
            return weights
        missing = sum(sizes.values()) - len(ids) * own.mean()
        calibrated: Floats = weights + missing * apart / (apart @ apart)
        return calibrated

    def _size_of(self, draft: Draft) -> float:
        try:
            n_bytes = (self._config.papers / draft.paper_file).stat().st_size
        except OSError:
            return 0.0
        return float(n_bytes if self._config.file.judge.at_once else n_bytes * len(draft.aspects))

    def _pilot_of(
        self, name: str, file: DraftFile, given: Mapping[str, DraftFile | None], behind: Sequence[str]
    ) -> Mapping[str, StepSums]:
        """Return what drafts asked that did the step: rehearsed from there on, and as it was as far as they came."""
        sums = {step: StepSums() for step in behind}
        for one in self._drawn(self._done_of(name, file)):
            rehearsed = {step: StepSums() for step in behind}
            self._rehearse(file[one], behind, rehearsed)
            is_dropped = False
            for step in behind:
                source = given[step]
                uses: Uses | None = {}
                if not is_dropped:
                    is_known = source is not None and one in source.offsets and one in self._done(step)
                    uses = self._used_by(step, source[one]) if is_known and source is not None else None
                    is_dropped = is_known and one not in self._going_on[step]
                if uses is None:  # it is not known what becomes of it
                    break
                sums[step].rehearsed += rehearsed[step].rehearsed
                sums[step].was.append(uses)
        return sums

    def _used_by(self, name: str, draft: Draft) -> Uses | None:
        """Return what a draft asked in a step that it has done; None where not all replies are stored any more."""
        if (name, draft.id) not in self._known_uses:
            self._ask(name, draft, stored=True)
            sender = self._senders[True]
            self._known_uses[name, draft.id] = None if sender.n_missing else sender.uses
        return self._known_uses[name, draft.id]

    def _used(self, name: str, file: DraftFile | None) -> Uses:
        """Return what was asked for all drafts that did a step, from a sample of them."""
        done = sorted(self._done(name))
        if file is None or not done:
            return {}
        drawn = self._drawn(done)
        total: Uses = {}
        for one in drawn:
            total = joined(total, self._used_by(name, file[one]) or {})
        share = len(done) / len(drawn)
        return {model: use.times(share, share, share) for model, use in total.items()}
