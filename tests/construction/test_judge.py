"""The judge writes what windows and votes say of each sentence, at any size of paper, and asks nothing twice."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.construction.draft import (
    Draft,
    DraftHeader,
    Judging,
    JudgingRound,
    WindowVote,
    open_drafts,
    writing_drafts,
)
from evidencebench.construction.harvest.papers import PaperFolder
from evidencebench.construction.judge import (
    JudgeSettings,
    doubtful,
    judge_step,
    sources_of_votes,
    unjudged,
    window_votes,
    windows_of_paper,
)
from evidencebench.construction.step import StepReport, run_step
from evidencebench.errors import (
    DataError,
    PendingError,
    RunFormatError,
    RunMismatchError,
    StopError,
    SystemSpecError,
)
from evidencebench.models.llm.chat import ChatModel, ChatRequest
from evidencebench.models.llm.client import ChatClient
from evidencebench.models.llm.costs import PriceTable
from evidencebench.models.llm.replies import ReplyCache
from evidencebench.systems.llm.asking import Asker
from examples import examples
from scripted_models import CHAT, Answering, ScriptedSender, judged_aspects, shown_in, write_paper

Vote = frozenset[int] | str
"""The sentences that a window says, or ``.`` where it was not asked, or ``?`` where nothing could be read."""


# How many sentences a paper has, the window and the overlap.
PAPERS = st.integers(1, 13).flatmap(
    lambda window: st.tuples(st.integers(1, 45), st.just(window), st.integers(0, window - 1))
)


def votes_of(window: range) -> st.SearchStrategy[Vote]:
    """Draw what a window says."""
    return st.one_of(st.just("."), st.just("?"), *[st.frozensets(st.sampled_from(window))] * 3)


@st.composite
def votings(draw: st.DrawFn) -> tuple[list[range], list[tuple[bool, list[Vote]]]]:
    """Draw windows and rounds: whether each decides, and its votes of one aspect."""
    n, window, overlap = draw(PAPERS)
    windows = windows_of_paper(n, window, overlap)
    rounds = [
        (place > 0 and draw(st.booleans()), [draw(votes_of(one)) for one in windows])
        for place in range(draw(st.integers(1, 4)))
    ]
    return windows, rounds


def as_round(decides: bool, votes: list[Vote], windows: list[range]) -> JudgingRound:  # noqa: FBT001
    of_windows = (
        WindowVote(window.start, None if isinstance(vote, str) else tuple(sorted(vote)))
        for vote, window in zip(votes, windows, strict=True)
        if vote != "."
    )
    return JudgingRound(model="m", prompt="", votes=(tuple(of_windows),), decides=decides)


@given(PAPERS)
@examples(200)
def test_windows_hold_every_sentence_and_all_but_the_first_and_last_as_often_as_they_overlap(
    paper: tuple[int, int, int],
) -> None:
    n, window, overlap = paper
    windows = windows_of_paper(n, window, overlap)
    times = Counter(index for one in windows for index in one)
    assert sorted(times) == list(range(n))
    assert [(one.start, one.stop) for one in windows] == [
        (k, min(n, k + window)) for k in range(0, n, window - overlap)
    ]
    if window == 2 * overlap:  # as published: all but the first sentences are judged twice
        assert all(times[index] == (1 if index < overlap else 2) for index in range(n))


@given(votings())
@examples(300)
def test_sources_are_what_the_rule_says_of_each_sentence_by_itself(
    voting: tuple[list[range], list[tuple[bool, list[Vote]]]],
) -> None:
    windows, rounds = voting
    votes = window_votes([as_round(*one, windows) for one in rounds], 0, windows)
    n = windows[-1].stop
    sources, unread = set[int](), set[int]()
    for index in range(n):
        verdicts = [verdict(index, place, rounds) for place, window in enumerate(windows) if index in window]
        if True in verdicts:
            sources.add(index)
        if all(one is None for one in verdicts):
            unread.add(index)
    assert sources_of_votes(votes) == tuple(sorted(sources))
    assert unjudged(votes, windows) == unread


def verdict(index: int, place: int, rounds: list[tuple[bool, list[Vote]]]) -> bool | None:
    """Return whether a window says that a sentence is a source; None where it was asked and never read."""
    said = [(decides, votes[place]) for decides, votes in rounds]
    read = [(decides, vote) for decides, vote in said if isinstance(vote, frozenset)]
    if not read:
        return None if any(vote == "?" for _, vote in said) else False
    decided = [vote for decides, vote in read if decides]
    if decided:
        return index in decided[-1]
    yes = sum(index in vote for _, vote in read)
    return yes > len(read) - yes


@given(votings())
@examples(300)
def test_windows_are_doubtful_that_differ_on_a_sentence_of_both_or_were_not_read(
    voting: tuple[list[range], list[tuple[bool, list[Vote]]]],
) -> None:
    windows, rounds = voting
    votes = window_votes([as_round(*one, windows) for one in rounds], 0, windows)
    expected = {place for place, vote in enumerate(votes) if vote is None}
    for one, other in combinations(range(len(windows)), 2):
        mine, theirs = votes[one], votes[other]
        for index in set(windows[one]) & set(windows[other]):
            if mine is not None and theirs is not None and (index in mine) != (index in theirs):
                expected |= {one, other}
    assert doubtful(votes, windows) == sorted(expected)


Gold = Mapping[str, frozenset[int]]
"""Aspect -> the sentences that hold it."""


@dataclass(frozen=True)
class GoldJudge:
    gold: Gold

    def __call__(self, request: ChatRequest) -> str:
        shown = shown_in(request)
        found = [[index for index in shown if index in self.gold[aspect]] for aspect in judged_aspects(request)]
        if "judge all aspects" in request.messages[0].text:
            return json.dumps({"aspects": [{"aspect": n, "sentences": one} for n, one in enumerate(found, 1)]})
        return f"Let me compare.\n\nANSWER: {found[0]}"


class Bench:
    """A folder with one paper of so many sentences, and who is asked about it."""

    def __init__(self, folder: Path, answer: Answering, n_sentences: int = 23, cache: ReplyCache | None = None) -> None:
        self.folder, self.cache, self.sender = folder, cache, ScriptedSender(answer)
        write_paper(folder / "paper.txt", n_sentences)

    def asker(self) -> Asker:
        client = ChatClient(sender=self.sender, cache=self.cache, prices=PriceTable(as_of="2026-01-01", models={}))
        return Asker(client=client, chat=CHAT, repairs=0)

    def judge(self, draft: Draft, settings: JudgeSettings, *, second: str | None = None) -> Draft:
        """Return a draft as the step makes it."""
        asker = self.asker()
        other = None if second is None else Asker(client=asker.client, chat=ChatModel(model=second), repairs=0)
        step = judge_step(settings, PaperFolder(self.folder), second=other)
        return step.work(asker, draft)


def draft_of(gold: Gold, *, draft_id: str = "d", paper_file: str = "paper.txt") -> Draft:
    return Draft(
        id=draft_id,
        review_id="r",
        paper_id="p",
        paper_file=paper_file,
        summary=f"The trial of {draft_id} says this and that.",
        hypothesis="Tea lowers blood pressure.",
        aspects=tuple(gold),
    )


GOLD: Gold = {"Pressure fell by 3 mmHg": frozenset({0, 7}), "It lasted a year": frozenset(), "n": frozenset({22})}


def judging_of(draft: Draft) -> Judging:
    assert draft.judging is not None
    return draft.judging


def said_in(judged: JudgingRound, aspect: int = 0) -> list[tuple[int, list[int] | None]]:
    """Return the first sentence of each window that was asked for an aspect, and what it said."""
    return [(vote.start, None if vote.sentences is None else list(vote.sentences)) for vote in judged.votes[aspect]]


def requests_of(judged: JudgingRound) -> list[str]:
    return [vote.request for votes in judged.votes for vote in votes]


@pytest.mark.parametrize("at_once", [False, True])
@given(data=st.data())
@examples(40)
def test_a_model_that_knows_the_answer_is_repeated_exactly(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, *, at_once: bool
) -> None:
    n_sentences, window, overlap = data.draw(PAPERS)
    sources = data.draw(st.lists(st.frozensets(st.integers(0, n_sentences - 1)), min_size=1, max_size=4))
    gold = {f"Aspect of number {n}": one for n, one in enumerate(sources)}
    made = Bench(tmp_path_factory.mktemp("papers"), GoldJudge(gold), n_sentences)
    draft = made.judge(draft_of(gold), JudgeSettings(window=window, overlap=overlap, at_once=at_once))
    judging = judging_of(draft)
    assert [frozenset(one) for one in judging.sources] == sources
    n_windows = len(range(0, n_sentences, window - overlap))
    assert len(made.sender.asked) == n_windows * (1 if at_once else len(gold))
    for aspect, one in enumerate(sources):
        shown = [range(start, min(start + window, n_sentences)) for start in range(0, n_sentences, window - overlap)]
        assert said_in(judging.rounds[0], aspect) == [(each.start, sorted(one.intersection(each))) for each in shown]


def test_three_votes_are_asked_with_other_seeds_and_the_majority_of_each_window_decides(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> str:
        shown = shown_in(request)
        says = {0: [3, 4], 1: [4], 2: [9, 3, 4]}[request.seed]
        return f"ANSWER: {[index for index in says if index in shown]}"

    made = Bench(tmp_path, answer, 10)
    judging = judging_of(made.judge(draft_of({"Pressure fell": frozenset()}), JudgeSettings(votes=3, overlap=0)))
    assert ([request.seed for request in made.sender.asked], judging.sources) == ([0, 1, 2], ((3, 4),))
    assert [said_in(one) for one in judging.rounds] == [[(0, [3, 4])], [(0, [4])], [(0, [3, 4, 9])]]


def test_all_votes_wait_for_one_batch(tmp_path: Path) -> None:
    made = Bench(tmp_path, lambda _: PendingError("waits for its batch"))
    with pytest.raises(PendingError):
        made.judge(draft_of(GOLD), JudgeSettings(votes=3))
    assert len(made.sender.asked) == 3 * len(GOLD) * 5


def test_a_second_model_is_asked_where_windows_disagree_and_decides_there(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> str:
        shown = list(shown_in(request))
        if request.model == "local/dear":
            return f"ANSWER: {[6] if 6 in shown else []}"
        return f"ANSWER: {[5] if shown[0] == 0 else [21] if 21 in shown else []}"

    made = Bench(tmp_path, answer)
    draft = made.judge(draft_of({"Pressure fell": frozenset()}), JudgeSettings(), second="local/dear")
    asked = [(request.model, min(shown_in(request))) for request in made.sender.asked]
    # Windows 0 and 5 disagree on sentence 5; 15 and 20 agree on sentence 21.
    assert asked[5:] == [("local/dear", 0), ("local/dear", 5)]
    assert judging_of(draft).sources == ((6, 21),)
    assert said_in(judging_of(draft).rounds[1]) == [(0, [6]), (5, [6])]


def test_the_requests_that_are_kept_are_the_keys_of_replies_in_the_cache(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "cache")
    made = Bench(tmp_path, GoldJudge(GOLD), cache=cache)
    for settings in (JudgeSettings(), JudgeSettings(at_once=True), JudgeSettings(votes=2)):
        before = len(made.sender.asked)
        rounds = judging_of(made.judge(draft_of(GOLD), settings)).rounds
        kept = [request for one in rounds for request in requests_of(one)]
        with cache.reading() as connection:
            keys = {row[0].hex() for row in connection.execute("SELECT key FROM reply")}
        assert set(kept) <= keys
        assert len(set(kept)) >= len(made.sender.asked) - before
    # Aspect by aspect, window by window.
    one = judging_of(made.judge(draft_of(GOLD), JudgeSettings())).rounds[0]
    asked = {request.key: (judged_aspects(request)[0], min(shown_in(request))) for request in made.sender.asked}
    assert [asked[key] for key in requests_of(one)] == [(a, start) for a in GOLD for start in range(0, 23, 5)]


def test_a_window_that_no_reply_answers_is_marked_and_the_window_beside_it_judges_its_sentences(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> str:
        return "I would rather not say." if min(shown_in(request)) == 5 else GoldJudge(GOLD)(request)

    draft = Bench(tmp_path, answer).judge(draft_of(GOLD), JudgeSettings())
    judging = judging_of(draft)
    assert (draft.dropped, judging.sources) == ("", ((0, 7), (), (22,)))
    assert said_in(judging.rounds[0], 1) == [(0, []), (5, None), (10, []), (15, []), (20, [])]
    assert requests_of(judging.rounds[0])[1] == ""
    unread = Bench(tmp_path, lambda asked: "ANSWER: []" if min(shown_in(asked)) else "I would rather not say.")
    draft = unread.judge(draft_of(GOLD), JudgeSettings())
    assert (draft.dropped, draft.detail) == ("sentences without a readable judgment", "0, 1, 2, 3, 4")


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("strange", [-1, 4, 15, 22, 10**13])
def test_the_number_of_a_sentence_that_is_not_shown_is_no_judgment(
    tmp_path: Path, strange: int, *, at_once: bool
) -> None:
    def answer(request: ChatRequest) -> str:
        if min(shown_in(request)) != 5:
            return GoldJudge(GOLD)(request)
        every = [{"aspect": n, "sentences": [7, strange]} for n in range(1, 4)]
        return json.dumps({"aspects": every}) if at_once else f"ANSWER: [7, {strange}]"

    made = Bench(tmp_path, answer).judge(draft_of(GOLD), JudgeSettings(at_once=at_once))
    assert [said_in(judging_of(made).rounds[0], aspect)[1] for aspect in range(3)] == [(5, None)] * 3
    assert (made.dropped, judging_of(made).sources) == ("", ((0, 7), (), (22,)))  # as the windows beside it say


def test_drafts_with_no_aspects_or_far_too_many_are_dropped_and_nothing_is_asked(tmp_path: Path) -> None:
    made = Bench(tmp_path, GoldJudge(GOLD))
    for n_aspects, reason in ((0, "no aspects"), (10_000, "too many aspects")):
        aspects = tuple(f"Aspect {n} is one" for n in range(n_aspects))
        draft = made.judge(msgspec.structs.replace(draft_of(GOLD), aspects=aspects), JudgeSettings())
        assert (draft.dropped, made.sender.asked) == (reason, [])


@pytest.mark.parametrize(
    ("paper_file", "message"),
    [
        ("../outside.txt", "expected a file within"),
        ("/etc/hostname", "expected a file within"),
        ("gone.txt", r"gone\.txt: cannot be read: No such file"),
        ("", "expected the file of a paper, got none"),
    ],
)
def test_papers_outside_of_the_folder_or_missing_are_told(tmp_path: Path, paper_file: str, message: str) -> None:
    write_paper(tmp_path / "outside.txt", 3)
    (tmp_path / "papers").mkdir()
    made = Bench(tmp_path / "papers", GoldJudge(GOLD))
    with pytest.raises(DataError, match=message):
        made.judge(draft_of(GOLD, paper_file=paper_file), JudgeSettings())


@pytest.mark.parametrize("settings", [{"overlap": 10}, {"overlap": -1}, {"window": 0}, {"votes": 0}])
def test_windows_that_do_not_go_forward_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(SystemSpecError, match="judge"):
        JudgeSettings(**settings)  # type: ignore[arg-type]


def run(made: Bench, work: Path, settings: JudgeSettings = JudgeSettings(), **more: object) -> StepReport:  # noqa: B008
    """Judge the drafts of a work folder."""
    source, asker = open_drafts(work / "aspects.jsonl"), made.asker()
    step = judge_step(settings, PaperFolder(made.folder))
    try:
        return run_step(step, source, work / "judgments.jsonl", asker=asker, **more)  # type: ignore[arg-type]
    finally:
        asker.client.close()


def work_folder(folder: Path, n_drafts: int = 6) -> Path:
    folder.mkdir(exist_ok=True)
    with writing_drafts(folder / "aspects.jsonl", DraftHeader(step="aspects")) as writer:
        for n in range(n_drafts):
            writer.append(draft_of(GOLD, draft_id=f"d{n}"))
        writer.finish()
    return folder


def lines_of(path: Path) -> list[bytes]:
    header, *lines, last = path.read_bytes().splitlines()
    return [header, *sorted(lines), last]


@pytest.mark.parametrize("at_once", [False, True])
def test_a_judge_that_was_stopped_goes_on_and_asks_nothing_twice(tmp_path: Path, *, at_once: bool) -> None:
    settings = JudgeSettings(at_once=at_once)
    whole, stopped = work_folder(tmp_path / "whole"), work_folder(tmp_path / "stopped")
    papers = tmp_path / "papers"
    papers.mkdir()
    run(Bench(papers, GoldJudge(GOLD), cache=ReplyCache(tmp_path / "c1")), whole, settings)
    n_before_stop = 7
    made = Bench(papers, GoldJudge(GOLD), cache=ReplyCache(tmp_path / "c2"))
    answering = made.sender.answer

    def stopping(request: ChatRequest) -> str | StopError:
        if len(made.sender.asked) > n_before_stop:
            made.sender.asked.pop()
            return StopError("enough for today")
        return answering(request)  # type: ignore[return-value]

    made.sender.answer = stopping
    with pytest.raises(StopError, match="enough for today"):
        run(made, stopped, settings)
    made.sender.answer = answering
    run(made, stopped, settings)
    assert lines_of(stopped / "judgments.jsonl") == lines_of(whole / "judgments.jsonl")
    keys = [request.key for request in made.sender.asked]
    assert len(set(keys)) == len(keys) == 6 * 5 * (1 if at_once else len(GOLD))


def test_judgments_of_another_form_are_refused_with_what_makes_them_anew(tmp_path: Path) -> None:
    work = work_folder(tmp_path, 1)
    run(Bench(tmp_path, GoldJudge(GOLD)), work)
    path = work / "judgments.jsonl"
    path.write_text(path.read_text().replace('"votes":[[[0,[0,7],', '"votes":["081000",[[0,[0,7],'))
    with pytest.raises(RunFormatError, match=r"judgments\.jsonl: line 2: draft 'd0': expected it as its step"):
        list(open_drafts(path).drafts())


def test_judgments_made_otherwise_are_not_gone_on_with(tmp_path: Path) -> None:
    work = work_folder(tmp_path, 1)
    made = Bench(tmp_path, GoldJudge(GOLD))
    run(made, work)
    with pytest.raises(RunMismatchError, match="overlap was 5, now 4"):
        run(made, work, JudgeSettings(overlap=4))
    source, asker = open_drafts(work / "aspects.jsonl"), made.asker()

    def judge_with(temperature: float | None) -> None:
        second = Asker(client=asker.client, chat=replace(CHAT, temperature=temperature), repairs=0)
        step = judge_step(JudgeSettings(), PaperFolder(tmp_path), second=second)
        run_step(step, source, work / "second.jsonl", asker=asker)

    judge_with(None)
    with pytest.raises(RunMismatchError, match="second temperature"):
        judge_with(0.5)
