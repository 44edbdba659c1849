"""The judge writes what windows and votes say of each sentence, at any size of paper, and asks nothing twice."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import (
    Asker,
    ChatClient,
    ChatRequest,
    DataError,
    DraftHeader,
    JudgeSettings,
    Judging,
    JudgingRound,
    PaperFolder,
    PendingError,
    PriceTable,
    ReplyCache,
    RunFormatError,
    RunMismatchError,
    StepReport,
    StopError,
    SystemSpecError,
    WindowVote,
    judge_step,
    run_step,
    sentence_votes,
    voted_sources,
    windows_of_paper,
    writing_drafts,
)
from evidencebench import Draft, open_drafts
from kit.examples import examples
from kit.scripted_models import CHAT, Answering, ScriptedSender, judged_aspects, shown_in, write_paper

Vote = frozenset[int] | None
"""The sentences that a window says; None where nothing could be read."""


# How many sentences a paper has, the window and the overlap.
PAPERS = st.integers(1, 13).flatmap(
    lambda window: st.tuples(st.integers(1, 45), st.just(window), st.integers(0, window - 1))
)


def votes_of(window: range) -> st.SearchStrategy[Vote]:
    """Draw what a window says."""
    return st.one_of(st.none(), *[st.frozensets(st.sampled_from(window))] * 3)


@st.composite
def judgings(draw: st.DrawFn) -> tuple[Judging, list[list[tuple[range, Vote]]]]:
    """Draw votes on one aspect: a first round over all windows, and later ones anywhere; also round by round."""
    n, window, overlap = draw(PAPERS)
    rounds = [[(one, draw(votes_of(one))) for one in windows_of_paper(n, window, overlap)]]
    for _ in range(draw(st.integers(0, 3))):
        starts = draw(st.lists(st.integers(0, n - 1), max_size=6))
        windows = [range(start, min(n, start + window)) for start in starts]
        rounds.append([(one, draw(votes_of(one))) for one in windows])
    judging = Judging(
        paper_sha256="",
        n_sentences=n,
        window=window,
        overlap=overlap,
        rounds=tuple(map(as_round, rounds)),
        sources=((),),
    )
    return judging, rounds


def as_round(votes: list[tuple[range, Vote]]) -> JudgingRound:
    of_windows = (WindowVote(window.start, None if vote is None else tuple(sorted(vote))) for window, vote in votes)
    return JudgingRound(model="m", prompt="", votes=(tuple(of_windows),))


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


@given(judgings())
@examples(300)
def test_sources_are_what_the_rule_says_of_each_sentence_by_itself(
    drawn: tuple[Judging, list[list[tuple[range, Vote]]]],
) -> None:
    judging, (first, *later) = drawn

    def read(votes: list[tuple[range, Vote]], index: int) -> list[bool]:
        return [index in vote for window, vote in votes if vote is not None and index in window]

    sources = set()
    for index in range(judging.n_sentences):
        at_first, again = read(first, index), [said for votes in later for said in read(votes, index)]
        said = [*at_first, *again]
        is_tied = 2 * sum(said) == len(said)
        if any(at_first) if is_tied or not again else 2 * sum(said) > len(said):
            sources.add(index)
        votes = sentence_votes(judging, 0)[index]
        assert (len(votes.yes), len(votes.no)) == (sum(said), len(said) - sum(said))
    assert voted_sources(judging, 0) == tuple(sorted(sources))


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

    def judge(self, draft: Draft, settings: JudgeSettings) -> Draft:
        """Return a draft as the step makes it."""
        return judge_step(settings, PaperFolder(self.folder)).work(self.asker(), draft)


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


def test_all_votes_wait_for_one_batch(tmp_path: Path) -> None:
    made = Bench(tmp_path, lambda _: PendingError("waits for its batch"))
    with pytest.raises(PendingError):
        made.judge(draft_of(GOLD), JudgeSettings())
    assert len(made.sender.asked) == len(GOLD) * 5


def test_the_requests_that_are_kept_are_the_keys_of_replies_in_the_cache(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "cache")
    made = Bench(tmp_path, GoldJudge(GOLD), cache=cache)
    for settings in (JudgeSettings(), JudgeSettings(at_once=True)):
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


@pytest.mark.parametrize("at_once", [False, True])
def test_a_window_that_no_reply_answers_is_asked_with_another_seed_and_then_stays_unjudged(
    tmp_path: Path, *, at_once: bool
) -> None:
    def answer(request: ChatRequest) -> str:
        start = min(shown_in(request))
        if start == 5 or (start == 15 and request.seed == 0):
            return "I would rather not say."
        return GoldJudge(GOLD)(request)

    made = Bench(tmp_path, answer)
    draft = made.judge(draft_of(GOLD), JudgeSettings(at_once=at_once))
    judging = judging_of(draft)
    assert (draft.dropped, judging.sources) == ("", ((0, 7), (), (22,)))
    assert said_in(judging.rounds[0], 1) == [(0, []), (5, None), (10, []), (15, []), (20, [])]
    assert requests_of(judging.rounds[0])[1] == ""
    seeds = Counter((min(shown_in(request)), request.seed) for request in made.sender.asked)
    assert {start for start, seed in seeds if seed} == {5, 15}


@pytest.mark.parametrize(("temperature", "anew"), [(0.0, None), (0.7, 0.7), (None, None)])
def test_where_the_same_is_asked_again_a_temperature_of_0_is_left_out(
    tmp_path: Path, temperature: float | None, anew: float | None
) -> None:
    made = Bench(tmp_path, lambda _: "I would rather not say.", 5)
    asker = replace(made.asker(), chat=replace(CHAT, temperature=temperature))
    judge_step(JudgeSettings(), PaperFolder(tmp_path)).work(asker, draft_of({"a": frozenset()}))
    assert [request.temperature for request in made.sender.asked] == [temperature, anew]


def test_a_mark_of_a_reference_that_a_reply_quotes_is_no_sentence(tmp_path: Path) -> None:
    made = Bench(tmp_path, lambda _: 'It says "as others found [16]".\n\nANSWER: [2]', 23)
    lines = [f"Sentence number {n} says a little{', as others found [16]' * (n == 2)}.\n" for n in range(23)]
    (tmp_path / "paper.txt").write_text("".join(lines), encoding="utf-8")
    judging = judging_of(made.judge(draft_of({"a": frozenset()}), JudgeSettings(window=23)))
    assert said_in(judging.rounds[0])[0] == (0, [2])
    assert "[16] Sentence number 16" in made.sender.asked[0].messages[0].text
    assert "as others found {16}." in made.sender.asked[0].messages[0].text


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize(
    ("reply", "is_none"),
    [
        ("None of the sentences is a source of any of the aspects.", True),
        ("I compared each. Sentence 7 comes near [7].\n\nSo none of these sentences is a source.", True),
        ("No aspect has a source here.\n\n**None of the sentences.**", True),
        ("none", True),
        ("None of these but 7", False),
        ("None of these but the seventh", False),
        ("No sentence, except sentence 7.", False),
        ("I compared each.\n\nNone of the other sentences is a source.", False),
        ("Sentence 7 states it.\n\nOthers:\n\nNone.", False),
        ("There is no sentence 7.", False),
        ("No.", False),
        ("I have none to give, sorry.", False),
    ],
)
def test_none_in_words_is_none_and_nothing_else_is(tmp_path: Path, reply: str, *, is_none: bool, at_once: bool) -> None:
    gold = dict.fromkeys(GOLD, frozenset[int]())
    made = Bench(tmp_path, lambda _: reply, 10).judge(draft_of(gold), JudgeSettings(at_once=at_once, overlap=0))
    assert said_in(judging_of(made).rounds[0]) == [(0, [] if is_none else None)]


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("reply", ["No sentence states this.", "None of these sentences holds the aspect."])
def test_what_may_be_none_of_one_aspect_is_not_none_of_all(tmp_path: Path, reply: str, *, at_once: bool) -> None:
    settings = JudgeSettings(at_once=at_once, overlap=0)
    made = Bench(tmp_path, lambda _: reply, 10).judge(draft_of(dict.fromkeys(GOLD, frozenset())), settings)
    assert said_in(judging_of(made).rounds[0]) == [(0, None if at_once else [])]


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
        ("../outside.txt", r"outside\.txt: .*within .*papers"),
        ("/etc/hostname", "within"),
        ("gone.txt", r"gone\.txt: .*no such file"),
        ("", "got none"),
    ],
)
def test_papers_outside_of_the_folder_or_missing_are_told(tmp_path: Path, paper_file: str, message: str) -> None:
    write_paper(tmp_path / "outside.txt", 3)
    (tmp_path / "papers").mkdir()
    made = Bench(tmp_path / "papers", GoldJudge(GOLD))
    with pytest.raises(DataError, match=message):
        made.judge(draft_of(GOLD, paper_file=paper_file), JudgeSettings())


@pytest.mark.parametrize("settings", [{"overlap": 10}, {"overlap": -1}, {"window": 0}])
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
    with pytest.raises(RunFormatError, match=r"line 2: .*'d0'"):
        list(open_drafts(path).drafts())


def test_judgments_made_otherwise_are_not_gone_on_with(tmp_path: Path) -> None:
    work = work_folder(tmp_path, 1)
    made = Bench(tmp_path, GoldJudge(GOLD))
    run(made, work)
    with pytest.raises(RunMismatchError):
        run(made, work, JudgeSettings(overlap=4))
