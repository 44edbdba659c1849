"""The ten things with inspect_ai 0.3, which asks models and scores replies: on its task, and with logs of systems."""

import asyncio
import json
import re
from typing import Any

import pandas as pd
from inspect_ai import eval as evaluate
from inspect_ai import score
from inspect_ai.analysis import EvalModel, SampleSummary, evals_df, samples_df
from inspect_ai.log import bundle_log_dir, read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.solver import solver
from scipy.stats import ttest_rel, wilcoxon

from things.given import PAPERS, QUERIES, first_words, relevance, word_overlap

task = "evidencebench/er_at_10"
reply = ModelOutput.from_content("mockllm/model", "[3, 14, 15]")
reply.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
model = get_model("mockllm/model", custom_outputs=[reply])  # in place of a model that costs money


@solver
def mine(change: Any = str) -> Any:
    async def solve(state: Any, _: Any) -> Any:
        scores = word_overlap(change(QUERIES[state.sample_id]), PAPERS[state.sample_id])
        best = sorted(range(len(scores)), key=lambda index: -scores[index])[:10]
        state.output = ModelOutput.from_content("mine", f"ANSWER: {best}")
        return state

    return solve


def own_system() -> Any:
    return evaluate(task, model=model, solver=mine())[0].results


def own_measure() -> Any:
    @scorer(metrics=[mean()])
    def f1() -> Any:
        async def score_one(state: Any, _: Any) -> Any:
            found = [int(digits) for digits in re.findall(r"\d+", state.output.completion)[:10]]
            relevant = relevance(state.sample_id)
            return Score(value=2 * sum(relevant[index] for index in found) / (sum(relevant) + len(found)))

        return score_one

    return score(read_eval_log("logs/bm25.eval"), f1()).results.scores[-1].metrics


def own_control() -> Any:
    return [evaluate(task, model=model, solver=mine(change))[0].results for change in (str, first_words)]


def own_test() -> Any:
    scores = samples_df("logs", columns=SampleSummary + EvalModel).pivot_table("score_er_at_10", "id", "model")
    return wilcoxon(scores["evidencebench/bm25"], scores["evidencebench/cues"]).pvalue


# A dagger marks what differs from the first system.
def latex_table() -> Any:
    def cell(scores: Any, name: str) -> str:
        mark = r"$^\dagger$" if ttest_rel(scores["evidencebench/bm25"], scores[name]).pvalue < 0.05 else ""
        return f"{scores[name].mean():.3f}{mark}"

    table = {}
    for task in ("score_er_at_10", "score_result_er_at_5"):
        scores = samples_df("logs", columns=SampleSummary + EvalModel).pivot_table(task, "id", "model")
        table[task] = {name: cell(scores, name) for name in scores}
    return pd.DataFrame(table).to_latex()


# Not possible: it trains nothing.
cross_validation = None
training = None


def report() -> Any:
    return bundle_log_dir("logs", "site")


def leaderboard() -> Any:
    columns = ["model", "score_er_at_10_mean", "score_er_at_10_lower", "score_er_at_10_upper"]
    return evals_df("logs")[columns].sort_values("score_er_at_10_mean", ascending=False)


# By a language model, of sentences that are there: it reads no papers.
def find() -> Any:
    qid = next(iter(QUERIES))
    paper = "\n".join(f"[{index}] {sentence}" for index, sentence in enumerate(PAPERS[qid]))
    question = f"Name the 5 sentences that are evidence for or against: {QUERIES[qid]} Reply as a JSON list of numbers."
    return json.loads(asyncio.run(model.generate(f"{question}\n\n{paper}")).completion)
