"""The step ``recheck``: doubtful sentences are asked again, in other windows, until their votes lead by enough."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path

from msgspec.structs import replace

from evidencebench.construction.draft import DRAFTS, Draft, Judging, dropped, judging_of
from evidencebench.construction.harvest.papers import PaperFolder
from evidencebench.construction.judge import (
    JudgeSettings,
    Look,
    SentenceVotes,
    ask_round,
    judge_prompts,
    looking_anew,
    reseeded,
    sentence_votes,
    voted_sources,
    window_of,
)
from evidencebench.construction.noise import LabelNoise
from evidencebench.construction.step import ModelStep, settings_of_asker
from evidencebench.errors import DataError, RunError, RunFormatError
from evidencebench.systems.llm.asking import Asker

MOST_LEAD = 4  # votes by which a verdict leads at most
MOST_VOTES = 7  # on a sentence and an aspect
MOST_UNJUDGED = 0.05  # of a draft's sentences for any aspect; above it, the draft is dropped
UNJUDGED = "too many sentences without a readable judgment"


def recheck_step(settings: JudgeSettings, papers: PaperFolder, *, lead: int, second: Asker | None = None) -> ModelStep:
    """Ask doubtful sentences again until yes or no leads by ``lead`` votes; 0: only what a second model checks."""
    own: dict[str, object] = {"lead": lead}
    if second is not None:
        own |= {"check": settings.check}
        own |= {f"second {name}": value for name, value in settings_of_asker(second).items()}
    work = partial(_recheck, settings=settings, papers=papers, lead=lead, second=second)
    return ModelStep(name="recheck", prompts=judge_prompts(settings), work=work, settings=own)


def lead_in(path: Path) -> int:
    """Return the lead of a file that the step wrote; 0 where there is none."""
    try:
        lead = DRAFTS.scan(path)[0].settings.get("lead") if path.is_file() else 0
    except RunError:  # the step says what is wrong
        return 0
    return lead if isinstance(lead, int) and 0 <= lead <= MOST_LEAD else 0


def asks_again(noise: LabelNoise | None, lead: int, precision: float) -> bool:
    """Whether labels of a lead, as estimated, are less precise than wanted, and a higher lead may help."""
    estimated = noise.precision_if_errors_differ if noise else None
    return lead < MOST_LEAD and estimated is not None and estimated < precision


def _recheck(
    asker: Asker, draft: Draft, *, settings: JudgeSettings, papers: PaperFolder, lead: int, second: Asker | None
) -> Draft:
    judging = judging_of(draft)
    if judging.window < 1 or any(len(judged.votes) != len(draft.aspects) for judged in judging.rounds):
        raise RunFormatError(f"draft '{draft.id}': expected votes on each aspect, got others; judge it anew")
    if not judging.rounds:
        return draft
    paper, checksum = papers.paper_of(draft)
    if checksum != judging.paper_sha256:
        raise DataError(f"{draft.paper_file}: was changed since it was judged; put it back, or judge anew")
    sentences = paper.query_for(draft.hypothesis, goal="study").sentences
    # Of an aspect whose sources are not what the votes say, people said which they are.
    aspects = [n for n, sources in enumerate(judging.sources) if sources == voted_sources(judging, n)]

    def asked(judging: Judging, asker: Asker, looks: Sequence[Look]) -> Judging:
        made = ask_round(asker, draft, sentences, looks, at_once=settings.at_once)
        return replace(judging, rounds=(*judging.rounds, made))

    if second is not None and (looks := _checked(settings.check, draft, judging)):
        judging = asked(judging, second, looks)
    again = second or looking_anew(asker)
    for leading in range(1, lead + 1):  # so that a higher lead begins with the requests of a lower one
        while looks := looks_again(judging, aspects, leading, at_once=settings.at_once):
            judging = asked(judging, reseeded(again, len(judging.rounds)), looks)
    sources = tuple(voted_sources(judging, n) if n in aspects else given for n, given in enumerate(judging.sources))
    made = replace(draft, judging=replace(judging, sources=sources))
    n_unjudged = [sum(not (votes.yes or votes.no) for votes in sentence_votes(judging, aspect)) for aspect in aspects]
    if (n := max(n_unjudged, default=0)) > MOST_UNJUDGED * judging.n_sentences:
        return dropped(made, UNJUDGED, f"{n} for an aspect")
    return made


def _checked(share: float, draft: Draft, judging: Judging) -> list[Look]:
    """Return what the second model is asked in any case: some windows, by chance, and those that were not read."""
    looks: list[Look] = []
    votes = [(vote, aspect) for aspect, votes in enumerate(judging.rounds[0].votes) for vote in votes]
    for start in sorted({vote.start for vote, _ in votes}):
        drawn = int.from_bytes(sha256(f"{draft.id} {start}".encode()).digest()[:6], "big") / 2**48
        asked = [aspect for vote, aspect in votes if vote.start == start and (drawn < share or vote.sentences is None)]
        looks += [Look(window_of(judging, start), tuple(asked))] if asked else []
    return looks


def looks_again(judging: Judging, aspects: Iterable[int], lead: int, *, at_once: bool) -> list[Look]:
    """Return the windows in which doubtful sentences are shown again, and for which aspects."""
    doubts = {
        aspect: {index for index, votes in enumerate(sentence_votes(judging, aspect)) if _is_doubtful(votes, lead)}
        for aspect in aspects
    }
    groups = [doubts] if at_once else [{aspect: sentences} for aspect, sentences in doubts.items()]
    return [look for group in groups for look in _windows_over(judging, group)]


def _is_doubtful(votes: SentenceVotes, lead: int) -> bool:
    """Whether votes do not lead by enough; a sentence that nobody took for a source is none."""
    return abs(votes.lead) < lead and bool(votes.yes or not votes.no) and sum(map(len, votes)) < MOST_VOTES


def _windows_over(judging: Judging, doubts: Mapping[int, set[int]]) -> Iterator[Look]:
    """Yield windows over all doubtful sentences, each over as many as it can, and far from those shown before."""
    shown = {vote.start for judged in judging.rounds for aspect in doubts for vote in judged.votes[aspect]}
    last = max(0, judging.n_sentences - (judging.window + 1) // 2)  # at least half a window is shown
    left = {aspect: set(sentences) for aspect, sentences in doubts.items()}
    while any(left.values()):
        first = min(index for sentences in left.values() for index in sentences)
        lowest = max(0, first - judging.window + 1)
        starts = range(lowest, max(lowest, min(first, last)) + 1)

        def worth(start: int, first: int = first) -> tuple[bool, int, int, int]:
            covered = sum(len(sentences.intersection(window_of(judging, start))) for sentences in left.values())
            distance = min((abs(start - other) for other in shown), default=judging.window)
            return start not in shown, covered, distance, -abs(2 * (first - start) + 1 - judging.window)

        window = window_of(judging, max(starts, key=worth))
        yield Look(window, tuple(aspect for aspect, sentences in left.items() if sentences.intersection(window)))
        for sentences in left.values():
            sentences.difference_update(window)
