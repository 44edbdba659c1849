"""The step ``judge``: which sentences hold which aspects, window by window; a source is what any window says."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Annotated, NamedTuple

import msgspec

from evidencebench.construction.draft import Draft, Judging, JudgingRound, WindowVote, dropped
from evidencebench.construction.harvest.papers import PaperFolder
from evidencebench.construction.step import ModelStep, ask_object, numbered_sentences, step_prompt
from evidencebench.construction.writing import MOST_ASPECTS, numbered_aspects
from evidencebench.errors import RefusedReplyError, SystemSpecError, UnreadableReplyError
from evidencebench.models.llm.chat import ChatReply
from evidencebench.models.llm.providers import asks_json
from evidencebench.models.llm.reading import ReplyClass, read_selection
from evidencebench.systems.llm.asking import Asker, ask_until_read, error_priority
from evidencebench.systems.llm.excerpts import Excerpt, prompt_line
from evidencebench.systems.llm.prompts import form_text, schema_of, well_formed


def windows_of_paper(n_sentences: int, window: int, overlap: int) -> list[range]:
    """Return the sentences of each window; the last ones are shorter, so that nearly all sentences are in two."""
    return [range(start, min(start + window, n_sentences)) for start in range(0, n_sentences, window - overlap)]


class SentenceVotes(NamedTuple):
    """The windows that a sentence was shown in, each as its round and its first sentence, by what was said of it."""

    yes: list[tuple[int, int]]
    no: list[tuple[int, int]]
    unread: list[tuple[int, int]]

    @property
    def lead(self) -> int:
        return len(self.yes) - len(self.no)

    @property
    def is_source(self) -> bool:
        is_asked_again = any(number for number, _ in (*self.yes, *self.no))
        return self.lead > 0 if is_asked_again and self.lead else any(number == 0 for number, _ in self.yes)


def sentence_votes(judging: Judging, aspect: int) -> list[SentenceVotes]:
    """Return the votes on each sentence; none on an aspect that was not judged."""
    of_sentences = [SentenceVotes([], [], []) for _ in range(judging.n_sentences)]
    for number, judged in enumerate(judging.rounds):
        for vote in chain(*judged.votes[aspect : aspect + 1]):
            for index in window_of(judging, vote.start):
                yes, no, unread = of_sentences[index]
                said = unread if vote.sentences is None else yes if index in vote.sentences else no
                said.append((number, vote.start))
    return of_sentences


def window_of(judging: Judging, start: int) -> range:
    return range(max(0, start), min(start + judging.window, judging.n_sentences))


def voted_sources(judging: Judging, aspect: int) -> tuple[int, ...]:
    """Return the sentences that hold an aspect: by the majority if asked again, else by any window."""
    return tuple(index for index, votes in enumerate(sentence_votes(judging, aspect)) if votes.is_source)


_MOST_AT_ONCE = 64  # requests of a draft: an open request holds its prompt, and a paper can have very many
_UNREAD_SEED = 1_000  # is added to the seed where no reply could be read
# All words that say that no sentence is a source: no numbers, and no exceptions.
_NONE = re.compile(
    r"(?:(?:so|thus|hence|therefore|overall|answer) )?(?:there (?:is|are) )?(?:none|no(?= ))(?: (?:of|in|for|the|these"
    r"|those|shown|given|listed|above|here|such|sentences?|is|are|an?|any|sources?|stated?|states|holds?|supports?|match"
    r"|matches|has|have|this|that|it|them|aspects?|window))*"
)
_USABLE = (ReplyClass.ANSWERED, ReplyClass.EMPTY, ReplyClass.DUPLICATE)

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class JudgeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    window: int = 10  # sentences that are judged together
    overlap: int = 5  # of them, shown again in the next window
    at_once: bool = False  # one request asks for all aspects of a summary, which costs an eighth
    precision: Share = 0.9  # of the labels, as estimated: below it, doubtful sentences are asked again; 0: never
    check: Share = 0.1  # of the windows, which a second model is asked whatever the first one said
    model: str | None = None  # None: the model of the other steps
    second_model: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.overlap < self.window:
            raise SystemSpecError(
                f"judge: overlap: expected 0 or more and less than the window of {self.window}, got {self.overlap}"
            )


class _AspectSources(msgspec.Struct):
    aspect: int
    sentences: list[int]


class _AllSources(msgspec.Struct):
    aspects: list[_AspectSources]


def judge_step(settings: JudgeSettings, papers: PaperFolder) -> ModelStep:
    own = {"window": settings.window, "overlap": settings.overlap}
    work = partial(_judge, settings, papers)
    return ModelStep(name="judge", prompts=judge_prompts(settings), work=work, settings=own)


def judge_prompts(settings: JudgeSettings) -> tuple[str, ...]:
    return ("judge_all" if settings.at_once else "judge_one", "judge_rule")


def _judge(settings: JudgeSettings, papers: PaperFolder, asker: Asker, draft: Draft) -> Draft:
    if not draft.aspects:
        return dropped(draft, "no aspects")
    if len(draft.aspects) > MOST_ASPECTS:
        return dropped(draft, "too many aspects", f"{len(draft.aspects):,}; at most {MOST_ASPECTS}")
    paper, sha256 = papers.paper_of(draft)
    sentences = paper.query_for(draft.hypothesis, goal="study").sentences
    aspects = tuple(range(len(draft.aspects)))
    looks = [Look(window, aspects) for window in windows_of_paper(len(sentences), settings.window, settings.overlap)]
    judged = ask_round(asker, draft, sentences, looks, at_once=settings.at_once)
    size = {"n_sentences": len(sentences), "window": settings.window, "overlap": settings.overlap}
    judging = Judging(paper_sha256=sha256, **size, rounds=(judged,), sources=())
    sources = tuple(voted_sources(judging, aspect) for aspect in aspects)
    return msgspec.structs.replace(draft, judging=msgspec.structs.replace(judging, sources=sources))


class Look(NamedTuple):
    window: range
    aspects: tuple[int, ...]  # that it is asked for


def ask_round(
    asker: Asker, draft: Draft, sentences: Sequence[str], looks: Sequence[Look], *, at_once: bool
) -> JudgingRound:
    """Return the votes of a model. A window without a reply that can be read is asked anew, with another seed."""
    other = reseeded(looking_anew(asker), _UNREAD_SEED)

    def ask(excerpt: Excerpt, aspects: tuple[int, ...]) -> list[WindowVote]:
        for asked in (asker, other):
            try:
                return (_ask_all if at_once else _ask_one)(asked, draft, aspects, excerpt)
            except UnreadableReplyError:
                continue
        return [WindowVote(min(excerpt.shown), None)] * len(aspects)

    questions: list[tuple[Excerpt, tuple[int, ...]]] = []
    for window, aspects in looks:
        excerpt = numbered_sentences({index: sentences[index] for index in window})
        questions += [(excerpt, aspects)] if at_once else [(excerpt, (aspect,)) for aspect in aspects]
    votes: list[list[WindowVote]] = [[] for _ in draft.aspects]
    outcomes = asker.client.together([partial(ask, *question) for question in questions], most=_MOST_AT_ONCE)
    answers = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    if len(answers) < len(outcomes):  # raised when all have ended, so that replies are stored
        raise min((one for one in outcomes if isinstance(one, BaseException)), key=error_priority)
    for (_, aspects), answer in zip(questions, answers, strict=True):
        for aspect, vote in zip(aspects, answer, strict=True):
            votes[aspect].append(vote)
    return JudgingRound(
        model=asker.chat.model,
        prompt=step_prompt("judge_all" if at_once else "judge_one").digest,
        votes=tuple(map(tuple, votes)),
        asks_all=at_once,
    )


def reseeded(asker: Asker, by: int) -> Asker:
    return replace(asker, chat=replace(asker.chat, seed=asker.chat.seed + by))


def looking_anew(asker: Asker) -> Asker:
    """Ask without a temperature in place of 0, at which another seed gives the same reply."""
    return replace(asker, chat=replace(asker.chat, temperature=asker.chat.temperature or None))


def says_none(text: str, *, of_all: bool = False) -> bool:
    """Whether a reply, or its last paragraph, says in words that no sentence is a source; ``of_all``: of any aspect."""
    paragraphs = [" ".join(re.findall(r"\w+", part.lower())) for part in re.split(r"\n\s*\n", text.strip())]
    last = set(paragraphs[-1].split())
    if of_all and (last & {"this", "that", "it"} or ("aspect" in last and "any" not in last)):
        return False
    is_whole = len(paragraphs) == 1 or not last.isdisjoint(("sentence", "sentences", "aspects"))
    return is_whole and _NONE.fullmatch(paragraphs[-1]) is not None


def _ask_one(asker: Asker, draft: Draft, aspects: tuple[int, ...], window: Excerpt) -> list[WindowVote]:
    structured, start, n_sentences = asks_json(asker.chat), min(window.shown), max(window.shown) + 1

    def read(reply: ChatReply) -> tuple[tuple[int, ...], str]:
        reading = read_selection(reply, window.shown, budget=None, n_sentences=n_sentences)
        if reading.reply_class in _USABLE:
            return reading.indices, ""
        if reading.reply_class is ReplyClass.REFUSED:
            raise RefusedReplyError(f"no judgment: {reading.why}")
        if reading.why.startswith("no list") and says_none(reply.text):
            return (), ""
        return (), f"{reading.reply_class}: {reading.why}"

    form = form_text("answer", structured=structured, n_sentences=n_sentences)
    answer, request = ask_until_read(
        asker,
        step_prompt("judge_one").render(
            rule=step_prompt("judge_rule").render(),
            summary=prompt_line(draft.summary),
            aspect=prompt_line(draft.aspects[aspects[0]]),
            lines=window.block,
            form=form,
        ),
        schema=schema_of("answer"),
        stand_in=well_formed("answer", [], structured=structured),
        read=read,
        again=lambda why: step_prompt("again").render(why=why, form=form),
        what="judgment",
    )
    return [WindowVote(start, tuple(sorted(set(answer))), request)]


def _ask_all(asker: Asker, draft: Draft, aspects: tuple[int, ...], window: Excerpt) -> list[WindowVote]:
    numbers, first, last = range(1, len(aspects) + 1), min(window.shown), max(window.shown)

    def wrong_with(answer: _AllSources) -> str:
        answered = [sources.aspect for sources in answer.aspects]
        if strange := [number for number in answered if number not in numbers]:
            return f"there is no aspect {strange[0]}"
        if unseen := [index for sources in answer.aspects for index in sources.sentences if index not in window.shown]:
            return f"no sentence of the number {unseen[0]} is shown: they are {first} to {last}"
        return "an aspect occurs twice" if len(set(answered)) < len(answered) else ""

    nothing = _AllSources([_AspectSources(aspect=n, sentences=[]) for n in numbers])
    answer, source = ask_object(
        asker,
        "judge_all",
        {
            "rule": step_prompt("judge_rule").render(),
            "summary": prompt_line(draft.summary),
            "aspects": numbered_aspects(tuple(draft.aspects[aspect] for aspect in aspects)),
            "lines": window.block,
        },
        example=_AllSources([_AspectSources(aspect=len(numbers) + 7, sentences=[last + 7])]),
        stand_in=nothing,
        check=wrong_with,
        in_words=lambda text: nothing if says_none(text, of_all=len(numbers) > 1) else None,
        what="judgments",
    )
    sentences = {sources.aspect: tuple(sorted(set(sources.sentences))) for sources in answer.aspects}
    return [WindowVote(first, sentences.get(n, ()), source.request) for n in numbers]
