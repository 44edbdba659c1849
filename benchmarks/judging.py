"""Judging papers at scale: seconds, memory, bytes on the disk, and going on after a kill.

    python benchmarks/judging.py --quick

A model in the same process answers each prompt from the gold, at once and without a network, so that all that is
measured is our own: reading papers, making prompts, storing each reply durably, reading it, and writing the votes.
Papers have 170 sentences and summaries 8 aspects, the means of the published data. A judgment is what one window says
of one sentence and one aspect; each sentence but the first five stands in two windows.
"""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from evidencebench.construction.config import Config, ConfigFile
from evidencebench.construction.draft import Draft, DraftHeader, open_drafts, writing_drafts
from evidencebench.construction.estimate import estimate_construction
from evidencebench.construction.harvest.papers import PaperFolder
from evidencebench.construction.judge import JudgeSettings, judge_step
from evidencebench.construction.step import run_step
from evidencebench.execution.asking import Waiting
from evidencebench.models.llm.chat import ChatModel, ChatReply, ChatRequest, Usage, estimated_tokens, prompt_tokens_of
from evidencebench.models.llm.client import ChatClient
from evidencebench.models.llm.costs import PriceTable
from evidencebench.models.llm.replies import FILE_NAME, ReplyCache
from evidencebench.systems.llm.asking import Asker
from timing import Figure, anonymous_mb, main_of, measured

N_SENTENCES, N_ASPECTS, N_WORDS = 170, 8, 22
N_JUDGMENTS = N_ASPECTS * (2 * N_SENTENCES - 5)  # of a paper
_STEPS = (0.1, 0.3, 1.0)
_MOST_EXPONENT = 0.1
_MOST_BYTES_A_JUDGMENT = 4.0
_MOST_OFF = 0.05
_MODEL = "openai/gpt-4o-mini"
_WORDS = (  # noqa: SIM905
    "tea adults blood pressure trial year group control mean fell rose risk weight dose week cohort women men "
    "outcome measured between after before significantly lower higher daily intake placebo baseline smoking age"
).split()
_ASPECT = re.compile(r"Aspect (\d+) of study (\d+)")
_SHOWN = re.compile(r"^\[(\d+)\]", re.MULTILINE)


def figures(folder: Path, n_instances: int) -> Iterator[Figure]:
    """Yield the figures of both modes; 1,000 papers at full size."""
    n_papers = max(20, n_instances // 20)
    for mode in ("one", "all"):
        peaks = []
        for share in _STEPS:
            n, work = round(share * n_papers), folder / f"judging-{mode}-{share}"
            write_work(work, n)
            ran = measured([__file__, "--run", work, mode])
            found = json.loads(ran.output)
            peaks.append((n, found["peak_mb"]))
            if share < 1:
                shutil.rmtree(work)
        (few, few_mb), (many, many_mb) = peaks[0], peaks[-1]
        requests = found["requests"]
        n_bytes = (work / "judgments.jsonl").stat().st_size - (work / "aspects.jsonl").stat().st_size
        exponent = math.log(many_mb / few_mb) / math.log(many / few)
        name = {"one": "one aspect", "all": "all at once"}[mode]
        yield Figure(
            name=f"{name}, {many:,} papers",
            ours=f"{found['seconds']:.0f} s",
            peer=f"{requests:,}",
            ratio=f"{requests / found['seconds']:.0f} /s",
        )
        yield Figure(
            name=f"{name}, peak {few}/{peaks[1][0]}/{many}",
            ours="/".join(f"{mb:.0f}" for _, mb in peaks),
            peer="MB",
            ratio=f"n^{exponent:.2f}",
            goal=f"<= n^{_MOST_EXPONENT}",
            reached=exponent <= _MOST_EXPONENT,
        )
        yield Figure(
            name=f"{name}, bytes a judgment",
            ours=f"{n_bytes / (many * N_JUDGMENTS):.2f}",
            goal=f"<= {_MOST_BYTES_A_JUDGMENT:.0f}",
            reached=n_bytes / (many * N_JUDGMENTS) <= _MOST_BYTES_A_JUDGMENT,
        )
        cached = (work / "cache" / FILE_NAME).stat().st_size
        yield Figure(name=f"{name}, cache a request", ours=f"{cached / requests:.0f} B")
        shutil.rmtree(work)
        yield killed(folder, max(20, n_papers // 10), mode, name)
    yield from estimated(folder / "judging-estimated", n_papers)


def killed(folder: Path, n_papers: int, mode: str, name: str) -> Figure:
    """Return what becomes of a run that is killed half-way and run again, beside one that is left alone."""
    whole, stopped = folder / "judging-whole", folder / "judging-stopped"
    for work in (whole, stopped):
        write_work(work, n_papers)
    measured([__file__, "--run", whole, mode])
    target = stopped / "judgments.jsonl"
    with subprocess.Popen([sys.executable, __file__, "--run", str(stopped), mode], stdout=subprocess.DEVNULL) as begun:
        while not target.exists() or target.read_bytes().count(b"\n") < n_papers // 2:
            assert begun.poll() is None
            time.sleep(0.01)
        begun.send_signal(signal.SIGKILL)
    measured([__file__, "--run", stopped, mode])
    same = [sorted((work / "judgments.jsonl").read_bytes().splitlines()) for work in (whole, stopped)]
    twice = (stopped / "sent").stat().st_size - (whole / "sent").stat().st_size
    for work in (whole, stopped):
        shutil.rmtree(work)
    is_same = same[0] == same[1]
    return Figure(
        name=f"{name}, killed half-way",
        ours="same" if is_same else "other",
        peer=f"{twice} twice",
        goal="same",
        reached=is_same,
    )


def estimated(work: Path, n_papers: int) -> Iterator[Figure]:
    """Yield how far the estimate is from what is then used, where papers and summaries differ: from half to twice."""
    write_work(work, n_papers, differ=True)
    found = json.loads(measured([__file__, "--estimate", work]).output.splitlines()[-1])
    shutil.rmtree(work)
    for what in ("requests", "prompt_tokens", "reply_tokens", "cost_usd"):
        guess, used = found["estimate"][what], found["used"][what]
        yield Figure(
            name=f"estimate, {what.replace('_', ' ')}",
            ours=f"{guess:,.4g}" if what == "cost_usd" else f"{guess:,.0f}",
            peer=f"{used:,.4g}" if what == "cost_usd" else f"{used:,.0f}",
            ratio=f"{100 * (guess / used - 1):+.1f} %",
            goal="<= 5 %",
            reached=abs(guess / used - 1) <= _MOST_OFF,
        )


def estimate(work: Path) -> None:
    """Judge 20 papers, estimate the others from a sample, judge them, and print both."""
    file = ConfigFile(name="x", papers="papers", work=".", table="x", model=_MODEL, judge=JudgeSettings(at_once=True))
    config, prices = Config(file=file, folder=work), PriceTable.load()
    for step in ("summaries", "hypotheses"):
        shutil.copy(work / "aspects.jsonl", work / f"{step}.jsonl")
    cache, total = ReplyCache(work / "cache"), None
    for limit in (20, None):
        client = ChatClient(sender=GoldSender(work / "sent"), cache=cache, prices=prices, max_in_flight=64)
        run_step(
            judge_step(file.judge, PaperFolder(config.papers)),
            open_drafts(work / "aspects.jsonl"),
            work / "judgments.jsonl",
            asker=Asker(client=client, chat=ChatModel(model=_MODEL), repairs=1),
            waiting=Waiting(client=client),
            limit=limit,
        )
        client.close()
        if limit is not None:
            steps, _ = estimate_construction(config, prices=prices, cache=cache)
            total = next(one.uses[_MODEL] for one in steps if one.step == "judge")
    assert total is not None
    now = client.totals.now
    guess = {
        "requests": total.requests,
        "prompt_tokens": total.prompt_tokens,
        "reply_tokens": total.reply_tokens,
        "cost_usd": total.cost_usd(_MODEL, prices),
    }
    used = {
        "requests": now.requests,
        "prompt_tokens": now.prompt_tokens,
        "reply_tokens": now.completion_tokens,
        "cost_usd": now.cost_usd,
    }
    print(json.dumps({"estimate": guess, "used": used}))


def write_work(work: Path, n_papers: int, *, differ: bool = False) -> None:
    """Write a work folder: papers of random words, and drafts that have their aspects."""
    shutil.rmtree(work, ignore_errors=True)
    (work / "papers").mkdir(parents=True)
    chance = Random(0)
    with writing_drafts(work / "aspects.jsonl", DraftHeader(step="aspects")) as writer:
        for n in range(n_papers):
            n_sentences = chance.randint(N_SENTENCES // 2, 3 * N_SENTENCES // 2) if differ else N_SENTENCES
            n_aspects = chance.randint(N_ASPECTS // 2, 3 * N_ASPECTS // 2) if differ else N_ASPECTS
            lines = (" ".join(chance.choices(_WORDS, k=N_WORDS)).capitalize() for _ in range(n_sentences))
            (work / "papers" / f"{n}.txt").write_text("".join(f"{line}.\n" for line in lines), encoding="utf-8")
            aspects = tuple(
                f"Aspect {m} of study {n}: {' '.join(chance.choices(_WORDS, k=12))}" for m in range(n_aspects)
            )
            writer.append(
                Draft(
                    id=f"d{n:07}",
                    review_id="r",
                    paper_id=f"p{n}",
                    paper_file=f"{n}.txt",
                    summary=". ".join(aspects),
                    hypothesis="Tea lowers blood pressure.",
                    aspects=aspects,
                )
            )
        writer.finish()


class GoldSender:
    """Answers from the gold, which is drawn from the numbers of study and aspect; notes each request as a byte."""

    def __init__(self, log: Path) -> None:
        self._log = os.open(log, os.O_APPEND | os.O_CREAT | os.O_WRONLY)

    def send(self, request: ChatRequest) -> ChatReply:
        """Return the sources of the aspects that a prompt asks about."""
        os.write(self._log, b".")
        text = request.messages[0].text
        shown = [int(one) for one in _SHOWN.findall(text)]
        if "judge all aspects" in text:
            listed = _ASPECT.findall(text.partition("\nAspects:\n")[2])
            found = [
                {"aspect": n, "sentences": _sources(aspect, study, shown)}
                for n, (aspect, study) in enumerate(listed, 1)
            ]
            reply = json.dumps({"reasoning": "I compared each.", "aspects": found})
        else:
            asked = _ASPECT.search(text.partition("\nAspect: ")[2])
            assert asked is not None
            reply = f"I compared each.\n\nANSWER: {_sources(asked[1], asked[2], shown)}"
        n_prompt = round(0.83 * prompt_tokens_of(request))  # a real tokenizer differs from the estimate too
        n_reply = estimated_tokens(reply) + Random(text).randint(20, 200)
        usage = Usage(prompt_tokens=n_prompt, completion_tokens=n_reply)
        return ChatReply(text=reply, usage=usage)


def _sources(aspect: str, study: str, shown: list[int]) -> list[int]:
    gold = Random(f"{aspect} {study}").sample(range(N_SENTENCES), 3)
    return [index for index in shown if index in gold]


def run(work: Path, mode: str) -> None:
    """Judge a work folder in this process, and print what it took."""
    cache = ReplyCache(work / "cache")
    client = ChatClient(
        sender=GoldSender(work / "sent"), cache=cache, prices=PriceTable(as_of="", models={}), max_in_flight=64
    )
    asker = Asker(client=client, chat=ChatModel(model="local/gold"), repairs=0)
    peak_mb, start = 0.0, time.perf_counter()

    def look(*_: int) -> None:
        nonlocal peak_mb
        peak_mb = max(peak_mb, anonymous_mb())

    report = run_step(
        judge_step(JudgeSettings(at_once=mode == "all"), PaperFolder(work / "papers")),
        open_drafts(work / "aspects.jsonl"),
        work / "judgments.jsonl",
        asker=asker,
        waiting=Waiting(client=client),
        on_progress=look,
    )
    client.close()
    assert not report.failures, report
    seconds, requests = time.perf_counter() - start, client.totals.now.requests
    print(json.dumps({"seconds": seconds, "peak_mb": peak_mb, "requests": requests}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(Path(sys.argv[2]), sys.argv[3])
    elif sys.argv[1:2] == ["--estimate"]:
        estimate(Path(sys.argv[2]))
    else:
        main_of("judging.py", __doc__, figures)
