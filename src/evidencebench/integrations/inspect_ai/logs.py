"""Any run as a log of inspect_ai: one sample an instance, one score a task, with the figures that `score` prints."""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

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
from inspect_ai.model import ChatMessageUser, ModelOutput
from inspect_ai.scorer import SampleScore, ci, mean, stderr

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import TaskOrName
from evidencebench.errors import RunError
from evidencebench.files.atomic import whole_file
from evidencebench.integrations.inspect_ai import described, failed, made_score, target_of
from evidencebench.provenance import library_versions
from evidencebench.runs.run import Answer, Failure, RunFile
from evidencebench.scoring.output import signature_of
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING
from evidencebench.scoring.score_runs import ScoredRuns, score_runs
from evidencebench.scoring.selection import DEFAULT_RULES, Rules
from evidencebench.system import Ranking
from evidencebench.version import __version__


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
    scored = score_runs(path, dataset, tasks, rules=rules, with_controls=False, on_progress=on_progress)
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
