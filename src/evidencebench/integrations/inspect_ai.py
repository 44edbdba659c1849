"""Tasks, scorer, models of inspect_ai; and any run as a log: one sample an instance, one score a task."""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import anyio.to_thread
import msgspec
from anyio.from_thread import BlockingPortal
from inspect_ai import Task as InspectTask
from inspect_ai import task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalMetric,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    EvalStats,
    write_eval_log,
)
from inspect_ai.model import (
    ChatMessage,
    ChatMessageUser,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    get_model,
    modelapi,
)
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, ci, mean, metric, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from evidencebench.data.dataset import Dataset, open_dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import TASKS, Task, TaskOrName, task_named
from evidencebench.decoding import prepared
from evidencebench.errors import DataError, ReplyError, RunError, SystemSpecError, TaskError
from evidencebench.execution.answers import answer_instance, require_answerable
from evidencebench.execution.changes import changed_instance, changes_of, query_control, with_hypothesis
from evidencebench.execution.making import find_code, make_system, options_of
from evidencebench.files.atomic import whole_file
from evidencebench.models.llm.chat import ChatModel
from evidencebench.models.llm.client import ChatClient
from evidencebench.models.llm.costs import PriceTable
from evidencebench.models.llm.inspect_models import ACTIVE_MODEL, InspectModels, reply_of
from evidencebench.provenance import library_versions
from evidencebench.runs.run import Answer, Failure, RunFile
from evidencebench.scoring.evaluate import case_of, grade
from evidencebench.scoring.measures import ASPECT_RECALL
from evidencebench.scoring.output import signature_of
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING
from evidencebench.scoring.score_runs import ScoredRuns, score_runs
from evidencebench.scoring.selection import DEFAULT_RULES, Rules, check_answer
from evidencebench.specification import parse_specification, write_specification
from evidencebench.system import NamedSystem, Ranking
from evidencebench.systems.llm.asking import Question, is_answer
from evidencebench.systems.llm.excerpts import Excerpt, prompt_line
from evidencebench.systems.llm.prompts import well_formed
from evidencebench.systems.llm.selecting import selected, selection_question
from evidencebench.version import __version__

_CHAT = ChatModel(model=ACTIVE_MODEL)  # inspect_ai knows which model; only the form of the reply counts here


def paper_question(instance: Instance, task: Task) -> Question:
    """Return the question of `llm_base` about a whole paper: its ``text``, and how the reply to it is read."""
    query, asked = instance.query, task.ranking_task(instance)
    shown = {index: prompt_line(text) for index, text in enumerate(query.sentences)}
    selection = selection_question("base", query, asked, _CHAT)
    return selection.question("answer", Excerpt(shown=shown), _CHAT, asked.budget)


KEY = "evidencebench"  # of a message's metadata, under which a system of ours finds its query


def sample_of(data: str, dataset: Dataset, instance: Instance, task: Task) -> Sample:
    """Return an instance as a sample; ``data`` is how its data set is named, on any machine that has it."""
    origin = {"data": data, "data_sha256": dataset.sha256, "instance_id": instance.id, "task": task.name}
    origin["hypothesis"] = instance.query.hypothesis  # a control's is not that of the data
    question = paper_question(instance, task)
    return Sample(
        id=instance.id,
        input=[ChatMessageUser(content=question.text, metadata={KEY: origin})],
        target=target_of(instance, task),
        metadata={**origin, **described(instance)},
    )


def described(instance: Instance) -> dict[str, Any]:
    """Return what a log says of an instance; standard errors are clustered by its ``cluster``."""
    query = instance.query
    return {
        "paper_id": query.paper_id,
        "cluster": instance.cluster,
        "hypothesis": query.hypothesis,
        "n_sentences": len(query.sentences),
    }


def target_of(instance: Instance, task: Task) -> list[str]:
    """Return, for people, the sources of each aspect that counts and its text, such as ``[4, 17] Deaths fell.``."""
    labels = instance.labels
    return [
        f"{list(labels.sources.get(aspect, ()))} {labels.texts.get(aspect, aspect)}"
        for aspect in labels.that_count(task.scope)
    ]


def instance_at(origin: Mapping[str, Any]) -> tuple[Instance, Task]:
    missing = {"data", "data_sha256", "instance_id", "task"} - origin.keys()
    if missing:
        raise DataError(
            f"expected a sample of an evidencebench task, whose metadata has {', '.join(sorted(missing))}; see "
            "'inspect eval evidencebench/er_at_10'"
        )
    dataset = _opened(str(origin["data"]))
    if dataset.sha256 != origin["data_sha256"]:
        raise DataError(
            f"{dataset.path}: expected the data of the sample, sha256 {origin['data_sha256']}, got {dataset.sha256}"
        )
    instance = dataset[str(origin["instance_id"])]
    asked = {instance.id: str(origin.get("hypothesis", instance.query.hypothesis))}
    return with_hypothesis(instance, asked), task_named(str(origin["task"]))


@lru_cache(maxsize=4)  # each sample asks for it
def _opened(data: str) -> Dataset:
    return open_dataset(data)


class SystemModel(ModelAPI):  # type: ignore[misc, unused-ignore] # untyped where inspect_ai is not installed
    """A system as a model, as in ``--model evidencebench/bm25 -M k1=1.2``: it answers the query of our tasks."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - the contract's default
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        self.system: NamedSystem = make_system(write_specification(model_name, model_args))

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 - the contract's name
        tools: Any,  # noqa: ARG002 - the contract's signature
        tool_choice: Any,  # noqa: ARG002 - as above
        config: GenerateConfig,  # noqa: ARG002 - as above
    ) -> ModelOutput:
        origin = next((turn.metadata[KEY] for turn in input if turn.metadata and KEY in turn.metadata), None)
        if origin is None:
            raise SystemSpecError(
                f"model 'evidencebench/{self.model_name}': expected a question of an evidencebench task, which it can "
                "be asked; other questions need a language model"
            )
        text = await anyio.to_thread.run_sync(self._reply, origin)
        return ModelOutput.from_content(model=self.model_name, content=text)

    def _reply(self, origin: dict[str, str]) -> str:
        instance, task = instance_at(origin)
        budget = task.ranking_task(instance).budget
        if budget is None and not self.system.selects:
            raise TaskError(
                f"system '{self.system.name}' ranks all sentences, and task '{task.name}' has no budget to end it"
            )
        answer = answer_instance(self.system, instance, task)
        if isinstance(answer, Failure):
            raise ReplyError(answer.error)
        return well_formed("answer", answer.sentences[: budget if answer.ordered else None], structured=False)


ANSWER = "evidencebench_answer"  # in a sample's store: the answer of `ask`
_REASONS = {"refused": "refusal", "failed": "no_response"}


@metric  # type: ignore[untyped-decorator, unused-ignore]
def failed() -> Metric:
    """Count the samples without an answer: no reply, a refusal, or a reply that cannot be read. They score 0."""

    def count(scores: list[SampleScore]) -> float:
        return sum(bool((sample.score.metadata or {}).get("failed")) for sample in scores)

    return count


METRICS: list[Metric] = [mean(), stderr(cluster="cluster"), ci(cluster="cluster"), failed()]


@scorer(metrics=METRICS)  # type: ignore[untyped-decorator, unused-ignore]
def aspect_recall() -> Scorer:
    """Score the share of aspects that the named sentences cover, as `evidencebench score` does."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - the contract's signature
        instance, task = instance_at(state.metadata)
        stored: dict[str, Any] | None = state.store.get(ANSWER)
        answer: Answer
        if stored is None:
            answer = answer_in(state.output, paper_question(instance, task))
        elif "error" in stored:
            answer = msgspec.convert(stored, prepared(Failure))
        else:
            answer = msgspec.convert(stored, prepared(Ranking))
        case = case_of(instance, task)
        assert case is not None, "samples are of instances that the task applies to"
        values = grade(case, answer).scores()
        reply_class = "answered" if isinstance(answer, Ranking) else answer.error.partition(": ")[2].partition(":")[0]
        return made_score(instance, task, answer, values, {"reply_class": reply_class, "notes": dict(answer.notes)})

    return score


def answer_in(output: ModelOutput, question: Question) -> Answer:
    """Read the last reply of a solver that is not ours."""
    if (reply := reply_of(output)) is None:
        return Failure(error="ReplyError: failed: there is no reply")
    reading = question.read(reply)
    if is_answer(reading, question):
        return selected(reading.indices, {})
    return Failure(error=f"ReplyError: {reading.reply_class}: {reading.why}")


def made_score(
    instance: Instance, task: Task, answer: Answer | None, values: Mapping[str, float], more: Mapping[str, Any]
) -> Score:
    """``values`` has measure key -> score, NaN where it is undefined; ``more`` is added to the metadata."""
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


def make_strategy(strategy: str | list[str], repairs: int, client: ChatClient | None = None) -> NamedSystem:
    """Make a strategy, whose model is the one that inspect_ai gives unless it names others."""
    text = strategy if isinstance(strategy, str) else ",".join(strategy)  # inspect_ai takes a comma for a list's
    specification = parse_specification(text)
    known = options_of(find_code(specification.name).factory)
    for name, value in (("model", ACTIVE_MODEL), ("repairs", repairs)):
        if name in known and name not in specification.options:
            text += f"{',' if ':' in text else ':'}{name}={value}"
    return make_system(text, client=client)


@solver  # type: ignore[untyped-decorator, unused-ignore]
def ask(strategy: str | list[str] = "llm_base", repairs: int = 1) -> Solver:
    """Answer by a strategy, which asks the model as `evidencebench run` has it asked; its requests are events."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001 - the contract's signature
        instance, task = instance_at(state.metadata)
        context = copy_context()  # of the sample, which the strategy's threads do not have
        async with BlockingPortal() as portal:
            models = InspectModels(
                model=get_model(),
                call=lambda work: context.copy().run(portal.call, work),
                metadata=state.messages[0].metadata,
            )
            client = ChatClient(sender=models, cache=None, prices=PriceTable(as_of="", models={}))
            system = make_strategy(strategy, repairs, client)
            answer = await anyio.to_thread.run_sync(answer_instance, system, instance, task)
        if isinstance(answer, Failure):
            if not isinstance(answer.cause, ReplyError):
                raise answer.cause or RunError(answer.error)
            answer = Failure(error=answer.error, notes=answer.notes)
        state.store.set(ANSWER, msgspec.to_builtins(answer))
        state.output = ModelOutput.from_content(model=str(state.model), content=_words(answer))
        state.messages.append(state.output.message)
        return state

    return solve


__all__ = ["ask", "aspect_recall", "evidencebench", "failed", "tasks"]


def _registered(benchmark_task: Task) -> Callable[..., InspectTask]:
    def make(
        data: str = "sample",
        limit: int | None = None,
        repairs: int = 1,
        strategy: str | list[str] = "llm_base",
        control: str | None = None,
    ) -> InspectTask:
        """Instances that the task does not apply to are counted in the metadata; a sample with an error scores 0."""
        dataset, system = open_dataset(data), make_strategy(strategy, repairs)
        require_answerable(system, dataset, [benchmark_task], limit=limit, own_queries=control is None)
        changes = changes_of(None if control is None else query_control(control), dataset, seed=0, limit=limit)
        if changes is not None and changes.distractors is not None:
            raise TaskError(f"control '{control}': expected one that changes the hypothesis; see 'evidencebench run'")
        instances = [changed_instance(dataset[one], changes, dataset).instance for one in dataset.ids[:limit]]
        applicable = [instance for instance in instances if benchmark_task.applies_to(instance.labels)]
        samples = [sample_of(data, dataset, instance, benchmark_task) for instance in applicable]
        if not samples:
            raise TaskError(f"{dataset.path}: task '{benchmark_task.name}' applies to none of the instances")
        return InspectTask(
            name=benchmark_task.name,
            dataset=MemoryDataset(samples, name=dataset.name, location=str(dataset.path)),
            solver=ask(strategy, repairs),
            scorer=aspect_recall(),
            score_on_error=True,
            metadata={
                "data_sha256": dataset.sha256,
                "evidencebench": __version__,
                "not_applicable": len(instances) - len(samples),
                "strategy": {"name": system.name, **system.options},
                "control": control,
                **system.versions(),  # the checksums of the prompts
            },
            version=__version__,
        )

    registered: Callable[..., InspectTask] = task(name=benchmark_task.name)(make)
    return registered


tasks: dict[str, Callable[..., InspectTask]] = {
    name: _registered(benchmark_task) for name, benchmark_task in TASKS.items()
}


@modelapi(name="evidencebench")  # type: ignore[untyped-decorator, unused-ignore]
def evidencebench() -> type[SystemModel]:
    return SystemModel


# Runs as logs, with the figures that `score` prints.


def write_log(log: EvalLog, path: Path) -> None:
    if path.suffix != ".eval":
        raise RunError(f"{path}: expected a name that ends in .eval, by which inspect_ai knows its logs")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "log.eval")
        write_eval_log(log, str(made), format="eval")
        with made.open("rb") as file, whole_file(path) as output:
            shutil.copyfileobj(file, output)


def log_of_run(
    path: Path,
    dataset: Dataset,
    tasks: Sequence[TaskOrName] = (),
    *,
    rules: Rules = DEFAULT_RULES,
    on_progress: Callable[[int, int], None] | None = None,
) -> EvalLog:
    scored = score_runs(
        path, dataset, tasks, rules=rules, with_controls=False, changed_apart=False, on_progress=on_progress
    )
    ((label, run),) = scored.runs.items()
    values = {
        task.name: {
            instance_id: {key: float(column[place]) for key, column in scored.scores[label][task.name].scores.items()}
            for place, instance_id in enumerate(scored.scores[label][task.name].ids)
        }
        for task in scored.tasks
    }
    ids = [instance_id for instance_id in dataset.ids if any(instance_id in by_id for by_id in values.values())]
    samples = [_sample(scored, run, dataset[instance_id], values) for instance_id in ids]
    header = run.header
    created = header.created if header is not None and header.created else datetime.now(UTC).isoformat("T", "seconds")
    name = label if header is None else header.system.name
    return EvalLog(
        status="success",
        eval=EvalSpec(
            created=created,
            task="evidencebench",
            task_version=__version__,
            dataset=EvalDataset(name=dataset.name, location=str(dataset.path), samples=len(ids), sample_ids=ids),
            model=f"evidencebench/{name}",
            model_args={} if header is None else dict(header.system.options),
            config=EvalConfig(epochs=1),
            packages={**library_versions("inspect_ai"), "evidencebench": __version__},
            metadata=_metadata(scored, label, run),
        ),
        results=EvalResults(
            total_samples=len(ids),
            completed_samples=len(ids),
            scores=[_results(task.name, samples) for task in scored.tasks],
        ),
        stats=EvalStats(started_at=created, completed_at=created),
        samples=samples,
    )


def _metadata(scored: ScoredRuns, label: str, run: RunFile) -> dict[str, Any]:
    header = run.header
    signatures = {task.name: signature_of(scored, label, task, DEFAULT_RESAMPLING) for task in scored.tasks}
    return {
        "run": run.path.name,
        "data_sha256": scored.dataset.sha256,
        "signatures": signatures,
        "rules": scored.rules.unusual,
        "seed": None if header is None else header.seed,
        "epochs": 1 if header is None else header.epochs,  # scores are their means, answers are of the first
        "control": None if header is None or header.control is None else header.control.words,
        "versions": {} if header is None else dict(header.versions),
        "trained_on_this_data": scored.trained_on_it(label),
    }


def _sample(
    scored: ScoredRuns, run: RunFile, instance: Instance, values: Mapping[str, Mapping[str, Mapping[str, float]]]
) -> EvalSample:
    tasks = [task for task in scored.tasks if instance.id in values[task.name]]
    answers = {task.name: run.answer(instance.id, task.name) for task in tasks}
    scores = {
        task.name: made_score(instance, task, answers[task.name], values[task.name][instance.id], {}) for task in tasks
    }
    words = {name: _words(answer) for name, answer in answers.items()}
    # One line where one answer serves all tasks.
    lines = (
        [f"{name}: {text}" for name, text in words.items()] if len(set(words.values())) > 1 else [*words.values()][:1]
    )
    output = ModelOutput.from_content(model=run.signature, content="\n".join(lines))
    return EvalSample(
        id=instance.id,
        epoch=1,
        input=instance.query.hypothesis,
        target=target_of(instance, tasks[0]),
        messages=[ChatMessageUser(content=instance.query.hypothesis), output.message],
        output=output,
        scores=scores,
        metadata=described(instance),
    )


def _words(answer: Answer | None) -> str:
    match answer:
        case Ranking():
            return f"{'ranking' if answer.ordered else 'set'} of sentences: {', '.join(map(str, answer.sentences))}"
        case Failure():
            return f"failed: {answer.error}"
        case _:
            return "no answer"


def _results(task: str, samples: Sequence[EvalSample]) -> EvalScore:
    scores = [
        SampleScore(score=sample.scores[task], sample_id=sample.id, sample_metadata=sample.metadata)
        for sample in samples
        if sample.scores and task in sample.scores
    ]
    params = {"cluster": "cluster"}
    ends = ci(cluster="cluster")(scores)
    metrics = [
        EvalMetric(name="mean", value=mean()(scores)),
        EvalMetric(name="stderr", value=stderr(cluster="cluster")(scores), params=params),
        *(EvalMetric(name=end, group="ci", value=ends[end], params=params) for end in ("lower", "upper")),
        EvalMetric(name="failed", value=failed()(scores)),
    ]
    return EvalScore(
        name=task,
        scorer="evidencebench/aspect_recall",
        scored_samples=len(scores),
        unscored_samples=len(samples) - len(scores),
        metrics={metric.name: metric for metric in metrics},
    )
