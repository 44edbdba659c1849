"""How often the interval of `construct estimate` holds the cost used, after pilots of 6, 10 and 20 drafts.

Each world has 1,000 summaries with 3 to 25 aspects, of papers whose lengths are skewed, and a model that drops some and
is asked again for others. All of it is made once; then pilots are drawn from it, the work folder is left as a run with
``--limit`` leaves it, and the estimate is compared with what the other drafts cost in truth.

    nice python tools/measure_estimates.py --worlds 4 --pilots 50
"""

import argparse
import json
import math
import tempfile
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

from evidencebench.construction.config import Config, ConfigFile
from evidencebench.construction.draft import output_of
from evidencebench.construction.estimate import Assumptions, ModelUse, estimate_construction
from evidencebench.construction.judge import JudgeSettings
from evidencebench.construction.pipeline import construct, steps_of
from evidencebench.models.llm.chat import ChatReply, ChatRequest, Usage, prompt_tokens_of
from evidencebench.models.llm.client import ChatClient
from evidencebench.models.llm.costs import PriceTable
from evidencebench.models.llm.replies import ReplyCache

N_DRAFTS, PILOTS = 1_000, (6, 10, 20)
SPREAD = 0.8  # of the logarithm of a paper's length
# Shares of aspects that are dropped, of papers that drop their draft, and of windows that are asked again.
UNFAITHFUL, UNFIT, PROSE = 0.02, 0.15, 0.05
MODEL, PRICES = "openai/gpt-4o-mini", PriceTable.load()
WORDS = "adults women men children tea water coffee pressure weight sleep pulse mood".split()  # noqa: SIM905


class Sender:
    """Answers by a chance that the request alone decides, and says how many tokens it took."""

    def send(self, request: ChatRequest) -> ChatReply:
        """Return a reply of the right form; one window in twenty is answered in prose first."""
        text, chance = request.messages[0].text, Random(f"{request.seed} {request.messages}")  # noqa: S311
        step = text.partition("\n")[0].removeprefix("Building step: ")
        clauses = text.partition("\nSummary: ")[2].partition("\n")[0].removeprefix("It found that ").rstrip(".")
        numbers = range(1, text.count("\n1. ") + text.count("\n") + 1)
        verdicts = [
            {"aspect": n, "faithful": chance.random() > UNFAITHFUL, "single": True, "self_contained": True}
            for n in numbers
        ]
        answers: dict[str, dict[str, Any]] = {
            "purpose of the evidence": {"purpose": "To learn whether tea in adults changes pressure."},
            "hypothesis": {"hypothesis": "Drinking tea lowers the blood pressure in adults."},
            "can the paper answer": {"can_answer": chance.random() > UNFIT},
            "aspects": {"aspects": clauses.split(", ")},
            "verify the aspects": {"verdicts": verdicts[: _n_listed(text)]},
            "correct the aspects": {"corrections": []},
            "judge all aspects": {"aspects": [{"aspect": n, "sentences": []} for n in numbers[: _n_listed(text)]]},
            "label results": {"results": []},
        }
        is_prose = step == "judge all aspects" and len(request.messages) == 1 and chance.random() < PROSE
        usage = Usage(
            prompt_tokens=round(0.8 * prompt_tokens_of(request) * chance.uniform(0.95, 1.05)),
            completion_tokens=round(chance.lognormvariate(4, 0.5)),
        )
        return ChatReply(text="I cannot say." if is_prose else json.dumps(answers[step]), usage=usage)


def _n_listed(text: str) -> int:
    listed = text.rpartition("\nAspects:\n")[2].partition("\n\n")[0]
    return listed.count("\n") + 1


def table_of_summaries(
    folder: Path,
    drafts: Iterable[tuple[int, Callable[[], str]]],
    chance: Random,
    *,
    n_words: int,
    judge: JudgeSettings,
) -> Config:
    """Write papers of so many sentences and words, a table with the summary of each, and return the configuration."""
    (folder / "papers").mkdir()
    rows = []
    for number, (n_sentences, summary) in enumerate(drafts):
        lines = (f"Sentence {one} says {' '.join(chance.choices(WORDS, k=n_words))}.\n" for one in range(n_sentences))
        (folder / "papers" / f"{number}.txt").write_text("".join(lines), encoding="utf-8")
        rows.append({"summary": summary(), "paper": f"{number}.txt", "review_id": f"review {number % 9}"})
    (folder / "table.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    file = ConfigFile(name="tea", papers="papers", table="table.jsonl", model=MODEL, licences=["unknown"], judge=judge)
    return Config(file=file, folder=folder)


def world(folder: Path, seed: int) -> Config:
    """Write the papers of a world, whose lengths are skewed, and their summaries."""
    chance = Random(seed)  # noqa: S311

    def summary() -> str:
        n_aspects = min(25, max(3, round(chance.lognormvariate(math.log(7), 0.5))))
        clauses = {f"in {' '.join(chance.choices(WORDS, k=chance.randint(3, 12)))} it fell" for _ in range(n_aspects)}
        return f"It found that {', '.join(sorted(clauses))}."

    drafts = ((max(5, round(chance.lognormvariate(math.log(40), SPREAD))), summary) for _ in range(N_DRAFTS))
    return table_of_summaries(folder, drafts, chance, n_words=9, judge=JudgeSettings(at_once=True))


def cost(uses: Sequence[ModelUse]) -> float:
    """Return what is paid for uses of the one model."""
    return sum(use.cost_usd(MODEL, PRICES) or 0.0 for use in uses)


def main() -> None:
    """Print how often the interval holds, and how wide it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=4)
    parser.add_argument("--first", type=int, default=0, help="seed of the first world")
    parser.add_argument("--pilots", type=int, default=50)
    given = parser.parse_args()
    found: dict[int, list[tuple[bool, float, float]]] = {n: [] for n in PILOTS}
    for seed in range(given.first, given.first + given.worlds):
        with tempfile.TemporaryDirectory() as temporary:
            config = world(Path(temporary), seed)
            cache = ReplyCache(Path(temporary, "cache"))
            client = ChatClient(sender=Sender(), cache=cache, prices=PRICES, max_in_flight=8)
            last = steps_of(config)[-1]
            construct(config, client=client, today=date(2026, 11, 27), until=last)
            client.close()
            lines = {step: output_of(step, config.work).read_bytes().splitlines() for step in steps_of(config)}
            ids = sorted({json.loads(line)["id"] for line in lines[steps_of(config)[0]][1:] if b'"id"' in line})
            exact = Assumptions(n_sample=N_DRAFTS)
            whole, _ = estimate_construction(config, prices=PRICES, cache=cache, assumptions=exact)
            everything = cost([use for step in whole for use in step.used.values()])
            for number in range(given.pilots):
                order = Random(number).sample(ids, max(PILOTS))  # noqa: S311
                for n in PILOTS:
                    chosen = {draft_id.encode() for draft_id in order[:n]}
                    for step, own in lines.items():
                        kept = [line for line in own[1:] if line.partition(b'"id":"')[2].partition(b'"')[0] in chosen]
                        output_of(step, config.work).write_bytes(b"\n".join([own[0], *kept, b""]))
                    steps, _ = estimate_construction(config, prices=PRICES, cache=cache)
                    truth = everything - cost([use for step in steps for use in step.used.values()])
                    costs = [(cost([*step.uses.values()]), step.factor or math.inf) for step in steps if step.uses]
                    low, high = sum(one / factor for one, factor in costs), sum(one * factor for one, factor in costs)
                    found[n].append((low <= truth <= high, high / sum(one for one, _ in costs), truth))
        for n, rows in found.items():
            widths = sorted(width for _, width, _ in rows)
            held = sum(is_held for is_held, _, _ in rows)
            print(f"pilots of {n}: {held} of {len(rows)} held, up to x {widths[len(widths) // 2]:.2f}", flush=True)


if __name__ == "__main__":
    main()
