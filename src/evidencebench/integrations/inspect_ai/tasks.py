"""The benchmark's tasks as tasks of inspect_ai, and the solver that asks as our strategy `llm_base` does."""

import msgspec
from inspect_ai import Task as InspectTask
from inspect_ai.dataset import MemoryDataset
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState, solver

from evidencebench.data.dataset import open_dataset
from evidencebench.data.tasks import Task
from evidencebench.errors import TaskError
from evidencebench.integrations.inspect_ai.replies import PaperReading, prompt_versions, reply_of
from evidencebench.integrations.inspect_ai.samples import instance_at, sample_of
from evidencebench.integrations.inspect_ai.scores import REPLIES, aspect_recall
from evidencebench.models.llm.reading import ReplyClass
from evidencebench.systems.strategies.conversation import fewer_text, is_answer, repair_text
from evidencebench.version import __version__


@solver  # type: ignore[untyped-decorator, unused-ignore]
def ask(repairs: int = 1) -> Solver:
    """Ask as `llm_base` does: again after a reply without an answer, and once for fewer sentences if they are too many.

    The whole paper is shown, however long it is.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        instance, task = instance_at(state.metadata)
        question = PaperReading(instance.query, task.brief(instance)).question
        replies: list[object] = []
        is_asked_for_fewer, n_repairs = False, 0
        while True:
            state = await generate(
                state, tool_calls="none"
            )  # else a call is answered, and the model asked, without end
            reply = reply_of(state.output)
            if reply is None:
                return state
            if state.output.message.tool_calls:  # servers refuse a conversation with a call that nobody answered
                state.messages[-1] = ChatMessageAssistant(content=reply.text)
            replies.append(msgspec.to_builtins(reply))
            state.store.set(REPLIES, replies)
            reading = question.read(reply)
            if is_answer(reading, question):
                if is_asked_for_fewer or question.budget is None or len(reading.indices) <= question.budget:
                    return state
                is_asked_for_fewer = True
                message = fewer_text(reading, question)
            elif n_repairs == repairs or reading.reply_class is ReplyClass.REFUSED:
                return state
            else:
                n_repairs += 1
                message = repair_text(reply, question)
            state.messages.append(ChatMessageUser(content=message))

    return solve


def task_of(task: Task, data: str, limit: int | None, repairs: int) -> InspectTask:
    """Return a task of the benchmark over a data set, or its first ``limit`` instances.

    Instances that the task does not apply to are left out and counted in the metadata. A sample that ends in an error
    is scored 0, and does not end the evaluation.
    """
    dataset = open_dataset(data)
    instances = [dataset[one] for one in dataset.ids[:limit]]
    samples = [sample_of(data, dataset, one, task) for one in instances if task.applies_to(one.labels)]
    if not samples:
        raise TaskError(f"{dataset.path}: task '{task.name}' applies to none of the instances")
    return InspectTask(
        name=task.name,
        dataset=MemoryDataset(samples, name=dataset.name, location=str(dataset.path)),
        solver=ask(repairs),
        scorer=aspect_recall(),
        score_on_error=True,
        message_limit=2 * (repairs + 2),  # a question and a reply, each repair, and the turn for fewer sentences
        metadata={
            "data_sha256": dataset.sha256,
            "evidencebench": __version__,
            "not_applicable": len(instances) - len(samples),
            **prompt_versions(),
        },
        version=__version__,
    )
