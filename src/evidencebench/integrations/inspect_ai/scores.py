"""Aspect recall as inspect_ai's scores hold it, each failure counted as 0."""

from collections.abc import Mapping
from typing import Any

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, ci, mean, metric, scorer, stderr
from inspect_ai.solver import TaskState

from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task
from evidencebench.integrations.inspect_ai.replies import PaperReading, reply_of
from evidencebench.integrations.inspect_ai.samples import instance_at
from evidencebench.models.llm.chat import ChatReply
from evidencebench.runs.answer_line import Answer, Failure
from evidencebench.scoring.evaluate import case_of, grade
from evidencebench.scoring.measures import ASPECT_RECALL
from evidencebench.scoring.selection import Rules, check_answer
from evidencebench.system import Ranking

REPLIES = "evidencebench_replies"
"""The name, in a sample's store, of all replies to its question with their ends."""
_REASONS = {"refused": "refusal", "failed": "no_response"}


@metric  # type: ignore[untyped-decorator, unused-ignore]
def failed() -> Metric:
    """Count the samples without an answer: no reply, a refusal, or a reply that cannot be read. They score 0."""

    def count(scores: list[SampleScore]) -> float:
        return sum(bool((sample.score.metadata or {}).get("failed")) for sample in scores)

    return count


METRICS = [mean(), stderr(cluster="cluster"), ci(cluster="cluster"), failed()]
"""The mean with its standard error and interval, clustered by review, or by paper where the data names no review."""


@scorer(metrics=METRICS)  # type: ignore[untyped-decorator, unused-ignore]
def aspect_recall() -> Scorer:
    """Score the share of aspects that the named sentences cover, as `evidencebench score` does."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - the contract's signature
        instance, task = instance_at(state.metadata)
        last = reply_of(state.output)
        replies = [ChatReply(**reply) for reply in state.store.get(REPLIES) or []] or ([] if last is None else [last])
        answer, reading = PaperReading(instance.query, task.brief(instance)).answer(replies)
        case = case_of(instance, task)
        assert case is not None, "samples are of instances that the task applies to"
        values = grade(case, answer).scores()
        reply_class = "failed" if reading is None else str(reading.reply_class)
        return made_score(instance, task, answer, values, {"reply_class": reply_class})

    return score


def made_score(
    instance: Instance, task: Task, answer: Answer | None, values: Mapping[str, float], more: Mapping[str, Any]
) -> Score:
    """Return an answer's score: its aspect recall, with all measures and the sentences that count, for the viewer.

    ``values`` has measure key -> score, NaN where it is undefined; ``more`` is added to the metadata.
    """
    is_failed = answer is None or isinstance(answer, Failure)
    error = "there is no answer" if answer is None else answer.error if isinstance(answer, Failure) else ""
    # The values were computed under the rules of the user: where these stop at such sentences, nothing comes here.
    sentences = check_answer(answer, len(instance.query.sentences), Rules(out_of_range="drop")).ranking.sentences
    if isinstance(answer, Ranking) and answer.ordered:  # of a set over the budget, all may count
        sentences = sentences[: task.budget_for(instance)]
    lines = [f"[{index}] {instance.query.sentences[index]}" for index in sentences]
    return Score(
        value=values[ASPECT_RECALL.key],
        answer=str(list(sentences)) if not is_failed else None,
        explanation=error or "\n".join(lines) or "no sentence is selected",
        reason=_REASONS.get(str(more.get("reply_class", "failed")), "invalid_response_format") if is_failed else None,
        metadata={
            "failed": is_failed,
            "measures": {key: value for key, value in values.items() if value == value},  # noqa: PLR0124 - not NaN
            **more,
        },
    )
