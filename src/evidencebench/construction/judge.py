"""The step ``judge``: which sentences hold which aspects, window by window; a source is what any window says."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import msgspec

from evidencebench.construction.draft import Draft, Judging, JudgingRound, WindowVote, dropped
from evidencebench.construction.harvest.papers import PaperFolder
from evidencebench.construction.step import ModelStep, ask_object, numbered_sentences, settings_of_asker, step_prompt
from evidencebench.construction.writing import MOST_ASPECTS, numbered_aspects
from evidencebench.errors import RefusedReplyError, SystemSpecError, UnreadableReplyError
from evidencebench.models.llm.chat import ChatReply
from evidencebench.models.llm.providers import asks_json
from evidencebench.models.llm.reading import ReplyClass, read_selection
from evidencebench.systems.llm.asking import Asker, ask_until_read, error_priority
from evidencebench.systems.llm.excerpts import Excerpt, prompt_line
from evidencebench.systems.llm.prompts import form_text, schema_of, well_formed
from evidencebench.wording import counted

LEAST_KAPPA = 0.6  # below it, two windows have little in common, and the labels are not to be trusted
MOST_UNREAD = 0.1  # of the windows; above it, something is wrong with the model
_LOOK = "it may guess, or number sentences otherwise than they are shown: read some of its replies, or take another"


def windows_of_paper(n_sentences: int, window: int, overlap: int) -> list[range]:
    """Return the sentences of each window; the last ones are shorter, so that nearly all sentences are in two."""
    return [range(start, min(start + window, n_sentences)) for start in range(0, n_sentences, window - overlap)]


def window_votes(rounds: Sequence[JudgingRound], aspect: int, windows: Sequence[range]) -> list[frozenset[int] | None]:
    """Return, for each window, the sentences that it says are sources of an aspect; None where nothing was read.

    Rounds that do not decide vote by majority, sentence by sentence, a tie being a no; a later round that ``decides``
    stands in their place where it was read. A window that was never asked says none.
    """
    votes = [(voted.decides, {vote.start: vote.sentences for vote in voted.votes[aspect]}) for voted in rounds]
    sources: list[frozenset[int] | None] = []
    for window in windows:
        asked = [(decides, of_round[window.start]) for decides, of_round in votes if window.start in of_round]
        read = [(decides, sentences) for decides, sentences in asked if sentences is not None]
        voting = [sentences for decides, sentences in read if decides][-1:] or [sentences for _, sentences in read]
        n_votes = Counter(index for sentences in voting for index in set(sentences))
        majority = frozenset(index for index, n in n_votes.items() if 2 * n > len(voting))
        sources.append(None if asked and not read else majority)
    return sources


def sources_of_votes(votes: Sequence[frozenset[int] | None]) -> tuple[int, ...]:
    """Return the sentences that any window says are sources, in paper order."""
    return tuple(sorted(frozenset[int]().union(*(vote for vote in votes if vote is not None))))


def unjudged(votes: Sequence[frozenset[int] | None], windows: Sequence[range]) -> set[int]:
    """Return the sentences of which no window could be read."""
    read = {index for vote, window in zip(votes, windows, strict=True) if vote is not None for index in window}
    return {index for window in windows for index in window} - read


def _overlaps(windows: Sequence[range]) -> Iterator[tuple[int, int, range]]:
    """Yield the places of each two windows that share sentences, and these."""
    for place, window in enumerate(windows):
        for other in range(place + 1, len(windows)):
            if windows[other].start >= window.stop:
                break
            yield place, other, range(windows[other].start, min(window.stop, windows[other].stop))


def doubtful(votes: Sequence[frozenset[int] | None], windows: Sequence[range]) -> list[int]:
    """Return the places of the windows that disagree with another window on a sentence, or were not read."""
    doubted = {place for place, vote in enumerate(votes) if vote is None}
    for place, other, shared in _overlaps(windows):
        vote, theirs = votes[place], votes[other]
        if vote is not None and theirs is not None and not (vote ^ theirs).isdisjoint(shared):
            doubted |= {place, other}
    return sorted(doubted)


@dataclass(slots=True, kw_only=True)
class WindowAgreement:
    """How often two windows with the same sentence say the same of it: the reliability of a model, for nothing."""

    # How many sentences, once for each aspect and two windows, both said to be a source (2), one (1) or none (0).
    pairs: Counter[int] = field(default_factory=Counter)
    n_asked: int = 0  # windows, once for each aspect
    n_unread: int = 0  # of them without a reply that could be read

    def add(self, judging: Judging, judged: JudgingRound) -> None:
        for votes in judged.votes:
            read = [(vote.start, set(vote.sentences)) for vote in votes if vote.sentences is not None]
            self.n_asked += len(votes)
            self.n_unread += len(votes) - len(read)
            windows = [range(start, min(start + judging.window, judging.n_sentences)) for start, _ in read]
            for place, other, shared in _overlaps(windows):
                own, theirs = (read[window][1].intersection(shared) for window in (place, other))
                self.pairs[2] += len(own & theirs)
                self.pairs[1] += len(own ^ theirs)
                self.pairs[0] += len(shared) - len(own | theirs)

    @property
    def share(self) -> float | None:
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
    by_model: dict[str, WindowAgreement] = {}
    for draft in drafts:
        for judged in draft.judging.rounds if draft.judging else ():
            if draft.judging is not None and not judged.decides:  # that one is asked where windows disagree
                by_model.setdefault(judged.model, WindowAgreement()).add(draft.judging, judged)
    return by_model


_MOST_AT_ONCE = 64  # requests of a draft: an open request holds its prompt, and a paper can have very many
_USABLE = (ReplyClass.ANSWERED, ReplyClass.EMPTY, ReplyClass.DUPLICATE)

Outcome = TypeVar("Outcome")


class JudgeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    window: int = 10  # sentences that are judged together
    overlap: int = 5  # of them, shown again in the next window
    at_once: bool = False  # one request asks for all aspects of a summary, which costs an eighth
    votes: int = 1  # how often each window is asked, with another seed each time; the majority decides

    def __post_init__(self) -> None:
        if not 0 <= self.overlap < self.window:
            raise SystemSpecError(
                f"judge: overlap: expected 0 or more and less than the window of {self.window}, got {self.overlap}"
            )
        if self.votes < 1:
            raise SystemSpecError(f"judge: votes: expected at least 1, got {self.votes}")


class _AspectSources(msgspec.Struct):
    aspect: int
    sentences: list[int]


class _AllSources(msgspec.Struct):
    aspects: list[_AspectSources]


def judge_step(settings: JudgeSettings, papers: PaperFolder, *, second: Asker | None = None) -> ModelStep:
    own = {"window": settings.window, "overlap": settings.overlap, "votes": settings.votes}
    if second is not None:
        own |= {f"second {name}": value for name, value in settings_of_asker(second).items()}
    prompts = ("judge_all" if settings.at_once else "judge_one", "judge_rule")
    return ModelStep(name="judge", prompts=prompts, work=partial(_judge, settings, papers, second), settings=own)


def _judge(settings: JudgeSettings, papers: PaperFolder, second: Asker | None, asker: Asker, draft: Draft) -> Draft:
    if not draft.aspects:
        return dropped(draft, "no aspects")
    if len(draft.aspects) > MOST_ASPECTS:
        return dropped(draft, "too many aspects", f"{len(draft.aspects):,}; at most {MOST_ASPECTS}")
    paper, sha256 = papers.paper_of(draft)
    sentences = paper.query_for(draft.hypothesis, wish="study").sentences
    spans = windows_of_paper(len(sentences), settings.window, settings.overlap)
    windows = [numbered_sentences({index: sentences[index] for index in span}) for span in spans]
    aspects = range(len(draft.aspects))
    everything = [list(range(len(windows)))] * len(aspects)
    askers = [replace(asker, chat=replace(asker.chat, seed=asker.chat.seed + vote)) for vote in range(settings.votes)]
    rounds = _ask_together(  # so that one batch holds all votes
        asker, [partial(_round, voter, draft, windows, everything, at_once=settings.at_once) for voter in askers]
    )
    if second is not None:
        doubts = [doubtful(window_votes(rounds, aspect, spans), spans) for aspect in aspects]
        decided = _round(second, draft, windows, doubts, at_once=settings.at_once)
        rounds.append(msgspec.structs.replace(decided, decides=True))
    votes = [window_votes(rounds, aspect, spans) for aspect in aspects]
    judging = Judging(
        paper_sha256=sha256,
        n_sentences=len(sentences),
        window=settings.window,
        overlap=settings.overlap,
        rounds=tuple(rounds),
        sources=tuple(map(sources_of_votes, votes)),
    )
    made = msgspec.structs.replace(draft, judging=judging)
    if unread := sorted(set[int]().union(*(unjudged(of_aspect, spans) for of_aspect in votes))):
        return dropped(made, "sentences without a readable judgment", ", ".join(map(str, unread)))
    return made


def _round(
    asker: Asker, draft: Draft, windows: Sequence[Excerpt], asked: Sequence[Sequence[int]], *, at_once: bool
) -> JudgingRound:
    """Return the votes of one model; ``asked`` has the places of the windows to ask, aspect by aspect."""
    aspects = range(len(draft.aspects))
    if at_once:
        places = sorted({place for of_aspect in asked for place in of_aspect})
        answers = _ask_together(asker, [partial(_ask_all, asker, draft, windows[place]) for place in places])
        votes = [[answer[aspect] for answer in answers] for aspect in aspects]
    else:
        pairs = [(aspect, place) for aspect in aspects for place in asked[aspect]]
        work = [partial(_ask_one, asker, draft, aspect, windows[place]) for aspect, place in pairs]
        said = dict(zip(pairs, _ask_together(asker, work), strict=True))
        votes = [[said[aspect, place] for place in asked[aspect]] for aspect in aspects]
    return JudgingRound(
        model=asker.chat.model,
        prompt=step_prompt("judge_all" if at_once else "judge_one").digest,
        votes=tuple(map(tuple, votes)),
        asks_all=at_once,
    )


def _ask_one(asker: Asker, draft: Draft, aspect: int, window: Excerpt) -> WindowVote:
    structured, start, n_sentences = asks_json(asker.chat), min(window.shown), max(window.shown) + 1

    def read(reply: ChatReply) -> tuple[tuple[int, ...], str]:
        reading = read_selection(reply, window.shown, budget=None, n_sentences=n_sentences)
        if reading.reply_class in _USABLE:
            return reading.indices, ""
        if reading.reply_class is ReplyClass.REFUSED:
            raise RefusedReplyError(f"no judgment: {reading.why}")
        return (), f"{reading.reply_class}: {reading.why}"

    form = form_text("answer", structured=structured, n_sentences=n_sentences)
    try:
        answer, request = ask_until_read(
            asker,
            step_prompt("judge_one").render(
                rule=step_prompt("judge_rule").render(),
                summary=prompt_line(draft.summary),
                aspect=prompt_line(draft.aspects[aspect]),
                lines=window.block,
                form=form,
            ),
            schema=schema_of("answer"),
            stand_in=well_formed("answer", [], structured=structured),
            read=read,
            again=lambda why: step_prompt("again").render(why=why, form=form),
            what="judgment",
        )
    except UnreadableReplyError:
        return WindowVote(start, None)
    return WindowVote(start, tuple(sorted(set(answer))), request)


def _ask_all(asker: Asker, draft: Draft, window: Excerpt) -> list[WindowVote]:
    numbers, first, last = range(1, len(draft.aspects) + 1), min(window.shown), max(window.shown)

    def wrong_with(answer: _AllSources) -> str:
        answered = [sources.aspect for sources in answer.aspects]
        if strange := [number for number in answered if number not in numbers]:
            return f"there is no aspect {strange[0]}"
        if unseen := [index for sources in answer.aspects for index in sources.sentences if index not in window.shown]:
            return f"no sentence of the number {unseen[0]} is shown: they are {first} to {last}"
        return "an aspect occurs twice" if len(set(answered)) < len(answered) else ""

    try:
        answer, source = ask_object(
            asker,
            "judge_all",
            {
                "rule": step_prompt("judge_rule").render(),
                "summary": prompt_line(draft.summary),
                "aspects": numbered_aspects(draft.aspects),
                "lines": window.block,
            },
            example=_AllSources([_AspectSources(aspect=len(numbers) + 7, sentences=[last + 7])]),
            stand_in=_AllSources([_AspectSources(aspect=n, sentences=[]) for n in numbers]),
            check=wrong_with,
            what="judgments",
        )
    except UnreadableReplyError:
        return [WindowVote(first, None) for _ in numbers]
    sentences = {sources.aspect: tuple(sorted(set(sources.sentences))) for sources in answer.aspects}
    return [WindowVote(first, sentences.get(n, ()), source.request) for n in numbers]


def _ask_together(asker: Asker, work: Sequence[Callable[[], Outcome]]) -> list[Outcome]:
    """Return what functions that ask return; an error is raised when all have ended, so that replies are stored."""
    outcomes = asker.client.together(work, most=_MOST_AT_ONCE)
    if errors := [outcome for outcome in outcomes if isinstance(outcome, BaseException)]:
        raise min(errors, key=error_priority)
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
