"""Doubtful sentences are asked again, in other windows, and nothing that is stored is asked twice."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import (
    MOST_LEAD,
    MOST_VOTES,
    Asker,
    ChatClient,
    ChatModel,
    ChatRequest,
    DataError,
    DraftHeader,
    JudgeSettings,
    Judging,
    JudgingRound,
    PaperFolder,
    PriceTable,
    ReplyCache,
    RunFormatError,
    RunMismatchError,
    StepReport,
    StopError,
    WindowVote,
    judge_step,
    judging_of,
    looks_again,
    recheck_step,
    run_step,
    sentence_votes,
    step_asker,
    window_of,
    windows_of_paper,
    writing_drafts,
)
from evidencebench import Draft, open_drafts
from kit.examples import IS_THOROUGH, examples
from kit.scripted_models import CHAT, Answering, Reply, ScriptedSender, judged_aspects, shown_in, write_paper

N_SENTENCES = 40
GOLD = {"Pressure fell by 3 mmHg": {3, 17}, "It lasted a year": {17, 30}, "Tea was green": set[int]()}
DEAR = "local/dear"

Says = Callable[[ChatRequest, str, int], bool]
"""Whether a model says that a sentence is a source of an aspect."""


def answering(says: Says) -> Answering:
    """Return a model that answers sentence by sentence."""

    def answer(request: ChatRequest) -> str:
        found = [[n for n in shown_in(request) if says(request, one, n)] for one in judged_aspects(request)]
        if "judge all aspects" in request.messages[0].text:
            return json.dumps({"aspects": [{"aspect": n, "sentences": one} for n, one in enumerate(found, 1)]})
        return f"ANSWER: {found[0]}"

    return answer


def noisy(misses: float, invents: float) -> Says:
    """Return a model whose errors differ from request to request."""

    def says(request: ChatRequest, aspect: str, index: int) -> bool:
        drawn = Random(f"{request.key} {aspect} {index}").random()
        return drawn >= misses if index in GOLD[aspect] else drawn < invents

    return says


class Bench:
    """A folder with one paper, and who is asked about it."""

    def __init__(self, folder: Path, answer: Answering, cache: ReplyCache | None = None) -> None:
        self.folder, self.sender = folder, ScriptedSender(answer)
        write_paper(folder / "paper.txt", N_SENTENCES)
        prices = PriceTable(as_of="2026-01-01", models={})
        self.client = ChatClient(sender=self.sender, cache=cache, prices=prices)
        self.asker = Asker(client=self.client, chat=CHAT, repairs=0)
        self.second = replace(self.asker, chat=ChatModel(model=DEAR))
        self.papers = PaperFolder(folder)

    def recheck(
        self,
        draft: Draft,
        lead: int,
        settings: JudgeSettings = JudgeSettings(),  # noqa: B008
        *,
        has_second: bool = False,
    ) -> Draft:
        """Return a judged draft as the step makes it, and forget what was asked before."""
        self.sender.asked.clear()
        step = recheck_step(settings, self.papers, lead=lead, second=self.second if has_second else None)
        return step.work(self.asker, draft)

    def judge(self, settings: JudgeSettings = JudgeSettings()) -> Draft:  # noqa: B008
        return judge_step(settings, self.papers).work(self.asker, draft_of("d"))

    def asked(self) -> list[tuple[int, list[str]]]:
        """Return the first sentence of each window that was asked, and the aspects."""
        return [(min(shown_in(request)), judged_aspects(request)) for request in self.sender.asked]


def draft_of(draft_id: str) -> Draft:
    return Draft(
        id=draft_id,
        review_id="r",
        paper_id="p",
        paper_file="paper.txt",
        summary=f"The trial of {draft_id} says this and that.",
        hypothesis="Tea lowers blood pressure.",
        aspects=tuple(GOLD),
    )


def flips(index: int, then: Sequence[bool]) -> Says:
    """Return a model that is right, but of one sentence of the first aspect says what comes next each time."""
    left = iter(then)

    def says(_: ChatRequest, aspect: str, shown: int) -> bool:
        return next(left) if shown == index and aspect == next(iter(GOLD)) else shown in GOLD[aspect]

    return says


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize(
    ("lead", "then", "n_again", "is_source"),
    [
        (0, [True, False], 0, True),  # any window of the first round
        (1, [True, True], 0, True),
        (1, [False, False], 0, False),
        (1, [True, False, False], 1, False),
        (1, [False, True, True], 1, True),
        (2, [True, False, False, False], 2, False),
        (2, [True, False, False, True, True, True], 4, True),
        (2, [True, False] * 3 + [False], 5, False),  # no lead within seven votes: the majority
    ],
)
def test_doubtful_sentences_are_asked_until_their_votes_lead_and_the_majority_decides(
    tmp_path: Path, lead: int, then: list[bool], n_again: int, *, is_source: bool, at_once: bool
) -> None:
    made, settings = Bench(tmp_path, answering(flips(12, then))), JudgeSettings(at_once=at_once)
    judging = judging_of(made.recheck(made.judge(settings), lead, settings))
    of_it = [one for one in made.asked() if next(iter(GOLD)) in one[1] and one[0] <= 12 < one[0] + 10]
    assert len(of_it) == n_again
    # Each time it stands at another place, among others.
    assert len({start for start, _ in of_it} | {5, 10}) == n_again + 2
    assert (12 in judging.sources[0]) == is_source
    assert [set(one) - {12} for one in judging.sources] == list(GOLD.values())
    assert len({request.seed for request in made.sender.asked}) == len(judging.rounds) - 1


def test_at_temperature_0_another_look_has_the_models_own_unless_another_model_takes_it(tmp_path: Path) -> None:
    made = Bench(tmp_path, answering(flips(12, [True, False, True, True])))
    made.asker, made.second = (
        replace(asker, chat=replace(asker.chat, temperature=0.0)) for asker in (made.asker, made.second)
    )
    judged = made.judge()
    assert {request.temperature for request in made.sender.asked} == {0.0}
    for has_second, temperature in ((False, None), (True, 0.0)):
        made.recheck(judged, 1, JudgeSettings(check=0), has_second=has_second)
        assert {request.temperature for request in made.sender.asked} == {temperature}


@pytest.mark.parametrize("at_once", [False, True])
def test_a_window_covers_doubtful_sentences_that_are_near_and_asks_only_doubtful_aspects(
    tmp_path: Path, *, at_once: bool
) -> None:
    doubts = {("Pressure fell by 3 mmHg", 12), ("Pressure fell by 3 mmHg", 19), ("It lasted a year", 14)}

    def says(request: ChatRequest, aspect: str, index: int) -> bool:
        is_odd = min(shown_in(request)) % 10 == 5 and request.seed == 0
        return ((aspect, index) in doubts and is_odd) or index in GOLD[aspect]

    made, settings = Bench(tmp_path, answering(says)), JudgeSettings(at_once=at_once)
    made.recheck(made.judge(settings), 1, settings)
    first, second = list(GOLD)[:2]
    if at_once:
        ((start, aspects),) = made.asked()
        assert aspects == [first, second]
        assert 10 <= start <= 12
    else:
        assert [aspects for _, aspects in made.asked()] == [[first], [second]]


@pytest.mark.parametrize("at_once", [False, True])
def test_a_higher_lead_asks_what_a_lower_one_asked_and_more(tmp_path: Path, *, at_once: bool) -> None:
    made, settings = Bench(tmp_path, answering(noisy(0.2, 0.05))), JudgeSettings(at_once=at_once)
    judged, keys = made.judge(settings), list[str]()
    for lead in range(MOST_LEAD + 1):
        judging = judging_of(made.recheck(judged, lead, settings))
        now = [request.key for request in made.sender.asked]
        assert len(set(now)) == len(now)
        assert set(keys) <= set(now)
        assert (len(now) > len(keys)) == (lead > 0) or lead == MOST_LEAD
        keys = now
        for aspect in range(len(GOLD)):
            for votes in sentence_votes(judging, aspect):
                # A neighbour may be shown more often than it is asked for.
                assert len(votes.yes) + len(votes.no) >= MOST_VOTES or abs(votes.lead) >= lead or not votes.yes
    wrong, first = (
        [len(set(one) ^ gold) for one, gold in zip(found.sources, GOLD.values(), strict=True)]
        for found in (judging, judging_of(judged))
    )
    assert sum(wrong) < sum(first) / 2


@given(st.data())
@examples(200)
def test_windows_hold_each_doubtful_sentence_once_and_are_new_where_they_can_be(data: st.DataObject) -> None:
    n, window = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 12))
    overlap = data.draw(st.integers(0, window - 1))
    votes = [
        WindowVote(one.start, tuple(sorted(data.draw(st.frozensets(st.sampled_from(one))))))
        for one in windows_of_paper(n, window, overlap)
    ]
    first = JudgingRound(model="m", prompt="", votes=(tuple(votes),))
    judging = Judging(paper_sha256="", n_sentences=n, window=window, overlap=overlap, rounds=(first,), sources=((),))
    of_sentences = sentence_votes(judging, 0)
    looks = looks_again(judging, [0], 1, at_once=data.draw(st.booleans()))
    doubtful = {
        index for index, one in enumerate(of_sentences) if not one.lead and len(one.yes) + len(one.no) < MOST_VOTES
    }
    assert doubtful <= {index for look in looks for index in look.window}
    for look in looks:
        assert look.window == window_of(judging, look.window.start)
        assert doubtful.intersection(look.window)
        lowest = min(doubtful.intersection(look.window))
        if look.window.start in {vote.start for vote in votes}:  # only where every window on it was asked
            half = max(0, n - (window + 1) // 2)
            known = {vote.start for vote in votes}
            assert set(range(max(0, lowest - window + 1), max(0, min(lowest, half)) + 1)) <= known or window == 1


def test_a_second_model_is_asked_of_doubts_and_of_a_sample_whatever_the_first_one_said(tmp_path: Path) -> None:
    def says(request: ChatRequest, aspect: str, index: int) -> bool:
        if request.model == DEAR:
            return index in GOLD[aspect]
        return index in GOLD[aspect] or (index == 12 and min(shown_in(request)) == 5)

    made = Bench(tmp_path, answering(says))
    judged = made.judge()
    settings = JudgeSettings(check=1.0)
    judging = judging_of(made.recheck(judged, 0, settings, has_second=True))
    assert {request.model for request in made.sender.asked} == {DEAR}
    assert len(made.sender.asked) == len(GOLD) * 8  # every window
    assert [one.model for one in judging.rounds] == [CHAT.model, DEAR]
    assert [set(one) for one in judging.sources] == list(GOLD.values())
    few = [made.recheck(msgspec.structs.replace(judged, id=f"d{n}"), 0, has_second=True) for n in range(100)]
    n_checked = sum(len(votes) for one in few for judged in judging_of(one).rounds[1:] for votes in judged.votes)
    assert 0.05 < n_checked / (100 * len(GOLD) * 8) < 0.15
    made.recheck(judged, 1, JudgeSettings(check=0), has_second=True)
    assert sorted(one[1] for one in made.asked()) == sorted(
        [one] for one in GOLD
    )  # each of the three aspects doubts sentence 12


def test_windows_that_were_not_read_are_asked_of_the_second_model_and_few_of_them_drop_no_draft(tmp_path: Path) -> None:
    def silent(*starts: int) -> Answering:
        def answer(request: ChatRequest) -> Reply:
            said = answering(lambda _, aspect, index: index in GOLD[aspect])(request)
            return "I would rather not." if min(shown_in(request)) in starts and request.model != DEAR else said

        return answer

    made = Bench(tmp_path, silent(5, 10))
    judged = made.judge()
    assert judged.dropped == ""
    with_second = made.recheck(judged, 0, JudgeSettings(check=0), has_second=True)
    assert (sorted(start for start, _ in made.asked()), with_second.dropped) == ([5] * 3 + [10] * 3, "")
    assert [set(one) for one in judging_of(with_second).sources] == list(GOLD.values())
    alone = made.recheck(judged, 0)  # five of forty sentences were judged by nobody
    assert (alone.dropped, alone.detail) == ("too many sentences without a readable judgment", "5 for an aspect")
    again = made.recheck(judged, 1)  # a window elsewhere holds them
    assert (again.dropped, [set(one) for one in judging_of(again).sources]) == ("", list(GOLD.values()))


def test_what_people_labelled_stays(tmp_path: Path) -> None:
    made = Bench(tmp_path, answering(flips(12, [True, False])))
    judged = made.judge()
    sources = ((1, 2), *judging_of(judged).sources[1:])
    edited = msgspec.structs.replace(judged, judging=msgspec.structs.replace(judging_of(judged), sources=sources))
    assert judging_of(made.recheck(edited, MOST_LEAD)).sources == sources
    assert {aspect for _, aspects in made.asked() for aspect in aspects} == {
        "It lasted a year"
    }  # another that has sources


@pytest.mark.parametrize(
    ("options", "temperature"), [("", 0.0), (",temperature=0.5", 0.5), (",reasoning_effort=low", None)]
)
def test_a_step_asks_at_temperature_0_unless_told_otherwise(options: str, temperature: float | None) -> None:
    assert step_asker(f"openai/gpt-4o-mini{options}").chat.temperature == temperature


def test_votes_that_do_not_fit_and_papers_that_changed_are_told(tmp_path: Path) -> None:
    made = Bench(tmp_path, answering(noisy(0, 0)))
    judged = made.judge()
    (first,) = judging_of(judged).rounds
    cut = msgspec.structs.replace(judging_of(judged), rounds=(msgspec.structs.replace(first, votes=first.votes[:1]),))
    with pytest.raises(RunFormatError, match="votes"):
        made.recheck(msgspec.structs.replace(judged, judging=cut), 1)
    write_paper(tmp_path / "paper.txt", 3)
    made.papers = PaperFolder(tmp_path)
    with pytest.raises(DataError, match="judge anew"):
        made.recheck(judged, 1)


def run(made: Bench, work: Path, lead: int, settings: JudgeSettings, *, overwrite: bool = False) -> StepReport:
    step = recheck_step(settings, made.papers, lead=lead)
    source = open_drafts(work / "judgments.jsonl")
    return run_step(step, source, work / "rechecked.jsonl", asker=made.asker, overwrite=overwrite)


def judged_folder(made: Bench, folder: Path, settings: JudgeSettings) -> Path:
    folder.mkdir()
    with writing_drafts(folder / "aspects.jsonl", DraftHeader(step="aspects")) as writer:
        for n in range(6):
            writer.append(draft_of(f"d{n}"))
        writer.finish()
    step, source = judge_step(settings, made.papers), open_drafts(folder / "aspects.jsonl")
    run_step(step, source, folder / "judgments.jsonl", asker=made.asker)
    return folder


def lines_of(path: Path) -> list[bytes]:
    header, *lines, last = path.read_bytes().splitlines()
    return [header, *sorted(lines), last]


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("n_before_stop", [0, 1, 7] if IS_THOROUGH else [7])
def test_a_recheck_that_was_stopped_goes_on_and_asks_nothing_twice(
    tmp_path: Path, n_before_stop: int, *, at_once: bool
) -> None:
    settings = JudgeSettings(at_once=at_once)
    answer = answering(noisy(0.3, 0.1))
    made = Bench(tmp_path, answer, ReplyCache(tmp_path / "c1"))
    whole = judged_folder(made, tmp_path / "whole", settings)
    run(made, whole, 2, settings)
    made = Bench(tmp_path, answer, ReplyCache(tmp_path / "c2"))
    stopped = judged_folder(made, tmp_path / "stopped", settings)
    n_judged = len(made.sender.asked)

    def stopping(request: ChatRequest) -> Reply:
        if len(made.sender.asked) > n_judged + n_before_stop:
            made.sender.asked.pop()
            return StopError("enough for today")
        return answer(request)

    made.sender.answer = stopping
    with pytest.raises(StopError, match="enough for today"):
        run(made, stopped, 2, settings)
    made.sender.answer = answer
    run(made, stopped, 2, settings)
    assert lines_of(stopped / "rechecked.jsonl") == lines_of(whole / "rechecked.jsonl")
    n_asked = len(made.sender.asked)
    with pytest.raises(RunMismatchError):
        run(made, stopped, 1, settings)
    run(made, stopped, 1, settings, overwrite=True)
    assert len(made.sender.asked) == n_asked
    keys = [request.key for request in made.sender.asked]
    assert len(set(keys)) == len(keys)
