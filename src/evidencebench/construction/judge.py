"""Judge: windows, votes."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import msgspec

from evidencebench.construction.draft import Draft, Judging, JudgingRound, WindowVote
from evidencebench.construction.harvest.papers import PaperFolder
from evidencebench.construction.step import FORM_PROMPTS, ModelStep, ask_object, dropped, settings_of_asker, step_prompt
from evidencebench.construction.writing import MOST_ASPECTS, numbered_aspects
from evidencebench.errors import SystemSpecError, UnreadableReplyError
from evidencebench.models.llm.chat import ChatReply
from evidencebench.models.llm.reading import ReplyClass, read_selection
from evidencebench.query import Query
from evidencebench.systems.llm.asking import Asker, ask_until_read, error_priority
from evidencebench.systems.llm.excerpts import Excerpt, prompt_line
from evidencebench.systems.llm.prompts import form_text, schema_of, well_formed
from evidencebench.wording import counted

# From the votes of windows to the sources of an aspect: positive if any window says so.


LEAST_KAPPA = 0.6
"""Below it, what two windows say of the same sentences has little in common, and the labels are not to be trusted."""

MOST_UNREAD = 0.1
"""The share of windows without a reply that can be read, above which something is wrong with the model."""

_LOOK = "it may guess, or number sentences otherwise than they are shown: read some of its replies, or take another"


def windows_of_paper(n_sentences: int, window: int, overlap: int) -> list[range]:
    """Return the sentences of each window; the last ones are shorter, so that nearly all sentences are in two.

    >>> windows_of_paper(12, 10, 5)
    [range(0, 10), range(5, 12), range(10, 12)]
    """
    return [range(start, min(start + window, n_sentences)) for start in range(0, n_sentences, window - overlap)]


def window_votes(rounds: Sequence[JudgingRound], aspect: int, windows: Sequence[range]) -> list[frozenset[int] | None]:
    """Return, for each window, the sentences that it says are sources of an aspect; None where nothing was read.

    Rounds that do not decide vote by majority, sentence by sentence, a tie being a no; a later round that ``decides``
    stands in their place where it was read. A window that was never asked says none.
    """
    votes = [(one.decides, {vote.start: vote.sentences for vote in one.votes[aspect]}) for one in rounds]
    return [
        _majority([(decides, said[window.start]) for decides, said in votes if window.start in said])
        for window in windows
    ]


def _majority(votes: Sequence[tuple[bool, tuple[int, ...] | None]]) -> frozenset[int] | None:
    read = [(decides, sentences) for decides, sentences in votes if sentences is not None]
    if not read:
        return None if votes else frozenset()
    voting = [sentences for decides, sentences in read if decides][-1:] or [sentences for _, sentences in read]
    n_votes = Counter(index for sentences in voting for index in set(sentences))
    return frozenset(index for index, n in n_votes.items() if 2 * n > len(voting))


def sources_of_votes(votes: Sequence[frozenset[int] | None]) -> tuple[int, ...]:
    """Return the sentences that any window says are sources, in paper order."""
    return tuple(sorted(frozenset[int]().union(*(vote for vote in votes if vote is not None))))


def unjudged(votes: Sequence[frozenset[int] | None], windows: Sequence[range]) -> set[int]:
    """Return the sentences of which no window could be read."""
    read = {index for vote, window in zip(votes, windows, strict=True) if vote is not None for index in window}
    return {index for window in windows for index in window} - read


def doubtful(votes: Sequence[frozenset[int] | None], windows: Sequence[range]) -> list[int]:
    """Return the places of the windows that disagree with another window on a sentence, or were not read.

    >>> doubtful([frozenset({7}), frozenset(), frozenset()], [range(0, 10), range(5, 12), range(10, 12)])
    [0, 1]
    """
    doubted = {place for place, vote in enumerate(votes) if vote is None}
    for place, vote in enumerate(votes):
        for other, theirs in enumerate(votes[place + 1 :], place + 1):
            if windows[other].start >= windows[place].stop:
                break
            if vote is not None and theirs is not None:
                shared = range(windows[other].start, min(windows[place].stop, windows[other].stop))
                if not (vote ^ theirs).isdisjoint(shared):
                    doubted |= {place, other}
    return sorted(doubted)


@dataclass(slots=True, kw_only=True)
class WindowAgreement:
    """How often two windows with the same sentence say the same of it: the reliability of a model, for nothing.

    ``pairs`` has how many sentences, once for each aspect and two windows, that both said to be a source (2), one (1)
    or none (0); ``n_unread``, how many of ``n_asked`` windows, once for each aspect, had no reply that could be read.
    """

    pairs: Counter[int] = field(default_factory=Counter)
    n_asked: int = 0
    n_unread: int = 0

    def add(self, judging: Judging, judged: JudgingRound) -> None:
        """Count the votes of a round."""
        for votes in judged.votes:
            read = [
                (range(vote.start, min(vote.start + judging.window, judging.n_sentences)), set(vote.sentences))
                for vote in votes
                if vote.sentences is not None
            ]
            self.n_asked += len(votes)
            self.n_unread += len(votes) - len(read)
            for place, (window, said) in enumerate(read):
                for other, others in read[place + 1 :]:
                    if other.start >= window.stop:
                        break
                    shared = range(other.start, min(window.stop, other.stop))
                    own, theirs = said.intersection(shared), others.intersection(shared)
                    self.pairs[2] += len(own & theirs)
                    self.pairs[1] += len(own ^ theirs)
                    self.pairs[0] += len(shared) - len(own | theirs)

    @property
    def share(self) -> float | None:
        """The share of sentences on which both windows agree; None where no sentence stands in two."""
        n = self.pairs.total()
        return (n - self.pairs[1]) / n if n else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa of two windows, neither of which is the first; None where all or none are sources."""
        n = self.pairs.total()
        of_sources = (2 * self.pairs[2] + self.pairs[1]) / (2 * n) if n else 0.0
        by_chance = of_sources**2 + (1 - of_sources) ** 2
        return None if self.share is None or by_chance == 1 else (self.share - by_chance) / (1 - by_chance)

    @property
    def text(self) -> str:
        """The agreement in words."""
        if self.share is None:
            return "no sentence was judged in two windows, so that their agreement is not known"
        kappa = "undefined" if self.kappa is None else f"{self.kappa:.2f}"
        unread = f"; {self.n_unread:,} of {counted(self.n_asked, 'window')} could not be read" if self.n_unread else ""
        return (
            f"two windows with the same sentence agree in {100 * self.share:.1f} % of {self.pairs.total():,} judgments "
            f"of both, kappa {kappa}{unread}"
        )

    @property
    def warning(self) -> str:
        """Why labels from these votes are not to be trusted; empty where nothing speaks against them."""
        if self.n_unread > MOST_UNREAD * self.n_asked:
            return f"its replies on {self.n_unread:,} of {self.n_asked:,} windows could not be read, and {_LOOK}"
        if self.pairs[2] and self.kappa is None:
            return "it took every sentence for a source of every aspect, so that its labels say nothing"
        is_low = self.kappa is not None and self.kappa < LEAST_KAPPA
        return f"its windows hardly agree: kappa {self.kappa:.2f}, below {LEAST_KAPPA:g}; {_LOOK}" if is_low else ""


def windows_agree(drafts: Iterable[Draft]) -> dict[str, WindowAgreement]:
    """Return how often two windows of judged drafts agree on a sentence, by model."""
    by_model: dict[str, WindowAgreement] = {}
    for draft in drafts:
        for judged in draft.judging.rounds if draft.judging else ():
            if draft.judging is not None and not judged.decides:  # that one is asked where windows disagree
                by_model.setdefault(judged.model, WindowAgreement()).add(draft.judging, judged)
    return by_model


# Judge which sentences of a paper hold which aspects, window by window.


_MOST_AT_ONCE = 64
"""Requests of a draft that are made at once: an open request holds its prompt, and a paper can have very many."""

_USABLE = (ReplyClass.ANSWERED, ReplyClass.EMPTY, ReplyClass.DUPLICATE)

Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """How papers are judged."""

    window: int = 10  # sentences that are judged together
    overlap: int = 5  # of them, shown again in the next window
    at_once: bool = False  # one request asks for all aspects of a summary, which costs an eighth
    votes: int = 1  # how often each window is asked, with another seed each time; the majority decides

    def __post_init__(self) -> None:
        """Raise where windows would not go forward, or there would be no vote."""
        if not 0 <= self.overlap < self.window:
            raise SystemSpecError(
                f"judge: overlap: expected 0 or more and less than the window of {self.window}, got {self.overlap}"
            )
        if self.votes < 1:
            raise SystemSpecError(f"judge: votes: expected at least 1, got {self.votes}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShownWindow:
    """Sentences that are judged together: their indices, their texts as a prompt shows them, and its lines."""

    sentences: range
    shown: dict[int, str]
    lines: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Vote:
    """What a model said of a window for one aspect: the sentences, or None where nothing could be read."""

    sentences: tuple[int, ...] | None
    request_key: str = ""


class _AspectSources(msgspec.Struct):
    aspect: int
    sentences: list[int]


class _AllSources(msgspec.Struct):
    aspects: list[_AspectSources]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge:
    """Judges drafts; ``second`` asks again, of another model, what the windows disagree on."""

    settings: JudgeSettings
    papers: PaperFolder
    second: Asker | None

    def __call__(self, asker: Asker, draft: Draft) -> Draft:
        """Return a draft with its judging; many requests are made at once."""
        if not draft.aspects:
            return dropped(draft, "no aspects")
        if len(draft.aspects) > MOST_ASPECTS:
            return dropped(draft, "too many aspects", f"{len(draft.aspects):,}; at most {MOST_ASPECTS}")
        on_disk = self.papers.paper_of(draft)
        query = on_disk.paper.query_for(draft.hypothesis, wish="study")
        settings = self.settings
        windows = [
            _shown(query, one) for one in windows_of_paper(len(query.sentences), settings.window, settings.overlap)
        ]
        asked = list(range(len(windows)))
        rounds = _ask_together(  # so that one batch holds all votes
            asker,
            [
                partial(
                    self._round,
                    replace(asker, chat=replace(asker.chat, seed=asker.chat.seed + vote)),
                    draft,
                    windows,
                    [asked] * len(draft.aspects),
                )
                for vote in range(settings.votes)
            ],
        )
        judging = Judging(
            paper_sha256=on_disk.sha256,
            n_sentences=len(query.sentences),
            window=settings.window,
            overlap=settings.overlap,
            rounds=tuple(rounds),
            sources=(),
        )
        spans = [one.sentences for one in windows]
        votes_of = partial(window_votes, windows=spans)
        if self.second is not None:
            doubts = [doubtful(votes_of(judging.rounds, aspect), spans) for aspect in range(len(draft.aspects))]
            decided = self._round(self.second, draft, windows, doubts)
            judging = msgspec.structs.replace(
                judging, rounds=(*judging.rounds, msgspec.structs.replace(decided, decides=True))
            )
        votes = [votes_of(judging.rounds, aspect) for aspect in range(len(draft.aspects))]
        judging = msgspec.structs.replace(judging, sources=tuple(map(sources_of_votes, votes)))
        made = msgspec.structs.replace(draft, judging=judging)
        if left := sorted(set[int]().union(*(unjudged(one, spans) for one in votes))):
            return dropped(made, "sentences without a readable judgment", ", ".join(map(str, left)))
        return made

    def _round(
        self, asker: Asker, draft: Draft, windows: Sequence[_ShownWindow], asked: Sequence[Sequence[int]]
    ) -> JudgingRound:
        """Return the votes of one model; ``asked`` has the places of the windows to ask, aspect by aspect."""
        places = sorted({place for one in asked for place in one})
        if self.settings.at_once:
            found = _ask_together(asker, [partial(_ask_all, asker, draft, windows[place]) for place in places])
            votes = {(aspect, place): one[aspect] for place, one in zip(places, found, strict=True)
                     for aspect in range(len(draft.aspects))}  # fmt: skip
        else:
            pairs = [(aspect, place) for aspect, one in enumerate(asked) for place in one]
            said = _ask_together(
                asker, [partial(_ask_one, asker, draft, aspect, windows[place]) for aspect, place in pairs]
            )
            votes = dict(zip(pairs, said, strict=True))
        return JudgingRound(
            model=asker.chat.model,
            prompt=step_prompt("judge_all" if self.settings.at_once else "judge_one").digest,
            votes=tuple(
                tuple(
                    WindowVote(window.sentences.start, vote.sentences, vote.request_key)
                    for place, window in enumerate(windows)
                    if (vote := votes.get((aspect, place))) is not None
                )
                for aspect in range(len(draft.aspects))
            ),
            asks_all=self.settings.at_once,
        )


def _shown(query: Query, sentences: range) -> _ShownWindow:
    shown = {index: prompt_line(query.sentences[index]) for index in sentences}
    return _ShownWindow(sentences=sentences, shown=shown, lines=Excerpt(shown=shown).block)


def _ask_one(asker: Asker, draft: Draft, aspect: int, window: _ShownWindow) -> _Vote:
    """Return what a model says of a window for one aspect."""
    shown, structured = window.shown, asker.chat.structured
    n_sentences = max(shown) + 1

    def read(reply: ChatReply) -> tuple[tuple[int, ...], str]:
        reading = read_selection(reply, shown, budget=None, n_sentences=n_sentences)
        if reading.reply_class in _USABLE:
            return reading.indices, ""
        return (), f"{reading.reply_class}: {reading.why}"

    form = form_text("answer", structured=structured, n_sentences=n_sentences)
    try:
        found = ask_until_read(
            asker,
            step_prompt("judge_one").render(
                rule=step_prompt("judge_rule").render(),
                summary=prompt_line(draft.summary),
                aspect=prompt_line(draft.aspects[aspect]),
                lines=window.lines,
                form=form,
            ),
            schema=schema_of("answer"),
            stand_in=well_formed("answer", [], structured=structured),
            read=read,
            again=lambda why: step_prompt("again").render(why=why, form=form),
            what="judgment",
        )
    except UnreadableReplyError:
        return _Vote(sentences=None)
    return _Vote(sentences=tuple(sorted(set(found.answer))), request_key=found.request_key)


def _ask_all(asker: Asker, draft: Draft, window: _ShownWindow) -> list[_Vote]:
    """Return what a model says of a window, aspect by aspect, asked for all of them at once."""
    n_aspects = len(draft.aspects)
    try:
        found, source = ask_object(
            asker,
            "judge_all",
            {
                "rule": step_prompt("judge_rule").render(),
                "summary": prompt_line(draft.summary),
                "aspects": numbered_aspects(draft.aspects),
                "lines": window.lines,
            },
            example=_AllSources([_AspectSources(aspect=n_aspects + 7, sentences=[max(window.shown) + 7])]),
            stand_in=_AllSources([_AspectSources(aspect=n, sentences=[]) for n in range(1, n_aspects + 1)]),
            check=lambda found: _wrong_with(found.aspects, n_aspects, window),
            what="judgments",
        )
    except UnreadableReplyError:
        return [_Vote(sentences=None)] * n_aspects
    said = {one.aspect: tuple(sorted(set(one.sentences))) for one in found.aspects}
    return [_Vote(sentences=said.get(n, ()), request_key=source.request) for n in range(1, n_aspects + 1)]


def _wrong_with(aspects: Sequence[_AspectSources], n_aspects: int, window: _ShownWindow) -> str:
    numbers = [one.aspect for one in aspects]
    if strange := [number for number in numbers if not 1 <= number <= n_aspects]:
        return f"there is no aspect {strange[0]}"
    if unseen := [index for one in aspects for index in one.sentences if index not in window.shown]:
        return f"no sentence of the number {unseen[0]} is shown: they are {min(window.shown)} to {max(window.shown)}"
    return "an aspect stands twice" if len(set(numbers)) < len(numbers) else ""


def _ask_together(asker: Asker, work: Sequence[Callable[[], Outcome]]) -> list[Outcome]:
    """Return what functions that ask return; an error is raised when all have ended, so that replies are stored."""
    ended = asker.client.together(work, most=_MOST_AT_ONCE)
    if errors := [one for one in ended if isinstance(one, BaseException)]:
        raise min(errors, key=error_priority)
    return [one for one in ended if not isinstance(one, BaseException)]


def judge_step(
    settings: JudgeSettings,
    papers: PaperFolder,
    *,
    second: Asker | None = None,
) -> ModelStep:
    """Return the step that judges; ``second`` is asked where windows disagree, and decides there."""
    prompt = "judge_all" if settings.at_once else "judge_one"
    own = {"window": settings.window, "overlap": settings.overlap, "votes": settings.votes}
    if second is not None:
        own |= {f"second {name}": value for name, value in settings_of_asker(second).items()}
    return ModelStep(
        name="judge",
        prompts=(prompt, "judge_rule", *FORM_PROMPTS),
        work=_Judge(settings=settings, papers=papers, second=second),
        settings=own,
    )
