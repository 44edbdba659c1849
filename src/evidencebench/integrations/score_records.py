"""Every Eval Ever, Hub results."""

import hashlib
import re
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from evidencebench.data.dataset import Dataset
from evidencebench.data.tasks import Task
from evidencebench.errors import RunError
from evidencebench.execution.system_table import SYSTEMS
from evidencebench.files.atomic import write_whole
from evidencebench.integrations.hugging_face import known_entry
from evidencebench.runs.header import option_text
from evidencebench.runs.run import RunFile
from evidencebench.scoring.measures import ASPECT_RECALL
from evidencebench.scoring.output import signature_of
from evidencebench.scoring.resampling import Resampling
from evidencebench.scoring.score_runs import ScoredRuns
from evidencebench.version import __version__

SCHEMA_VERSION = "0.3.0"
COLLECTION = "evidencebench"  # the folder of the datastore in which the records lie

Relationship = Literal["first_party", "third_party", "collaborative", "other"]
"""How those who evaluate stand to those who made the system."""

# What its validator takes for a part of a path on every system.
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,119}(?<!\.)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluator:
    organization: str
    relationship: Relationship
    model: str | None = None  # what they call the system; None: what the run says


def write_records(
    folder: Path, scored: ScoredRuns, evaluator: Evaluator, resampling: Resampling, *, now: datetime
) -> list[Path]:
    records = [record_of(scored, label, evaluator, resampling, now=now) for label in scored.runs]
    paths = []
    for record in records:
        content = msgspec.json.format(msgspec.json.encode(record), indent=2)
        organization, *names = record["model_info"]["id"].split("/")
        # In the form of a random UUID, but the same for the same content.
        name = uuid.UUID(bytes=hashlib.sha256(content).digest()[:16], version=4)
        path = folder / "data" / COLLECTION / organization / "_".join(names) / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
        paths.append(path)
    return paths


def _model(run: RunFile) -> str:
    """Return ``organisation/name`` of a run's system: its language model, or a system of ours."""
    if run.header is not None:
        model = run.header.system.options.get("model")
        if isinstance(model, str) and run.header.system.name.startswith("llm_") and "/" in model:
            return model
        if run.header.system.name in SYSTEMS:
            return f"evidencebench/{run.header.system.name}"
    raise RunError(f"{run.path}: does not say what collections call its system; name it with --model ORGANISATION/NAME")


def record_of(
    scored: ScoredRuns, label: str, evaluator: Evaluator, resampling: Resampling, *, now: datetime
) -> dict[str, Any]:
    run = scored.runs[label]
    model = evaluator.model or _model(run)
    parts = model.split("/")
    if len(parts) < 2 or not all(map(_PART.fullmatch, parts)):  # noqa: PLR2004 - organisation and name
        raise RunError(f"model '{model}': expected ORGANISATION/NAME, of letters, digits and . _ + -")
    at = str(int(now.timestamp()))
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{COLLECTION}/{model}/{at}",
        **({"evaluation_timestamp": run.header.created} if run.header is not None and run.header.created else {}),
        "retrieved_timestamp": at,
        "source_metadata": {
            "source_name": f"evidencebench {__version__}",
            "source_type": "evaluation_run",
            "source_organization_name": evaluator.organization,
            "evaluator_relationship": evaluator.relationship,
            "additional_details": {"run_sha256": run.sha256},
        },
        "eval_library": {"name": "evidencebench", "version": __version__},
        "model_info": {
            "name": run.name,
            "id": model,
            "developer": parts[0],
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"} | _about_system(run),
        },
        "evaluation_results": [_result(scored, label, task, resampling) for task in scored.tasks],
    }


def _about_system(run: RunFile) -> dict[str, str]:
    if run.header is None:
        return {"run": run.path.name}
    options = {f"option_{key}": option_text(value) for key, value in run.header.system.options.items()}
    return {"system": run.signature, **options} | {f"version_{key}": text for key, text in run.header.versions.items()}


def _result(scored: ScoredRuns, label: str, task: Task, resampling: Resampling) -> dict[str, Any]:
    run, scores = scored.runs[label], scored.scores[label][task.name]
    recall = scores.estimate(resampling=resampling)
    uncertainty: dict[str, Any] = {"num_samples": recall.n}
    if recall.low is not None:
        uncertainty["num_bootstrap_samples"] = resampling.n_draws
        uncertainty["confidence_interval"] = {
            "lower": recall.low,
            "upper": recall.high,
            "confidence_level": resampling.level,
            "method": "percentile bootstrap over papers, or reviews where the data names them",
        }
    details = {name: str(n) for name, n in asdict(scores.counts).items()}
    details |= {
        "n_papers_or_reviews": str(recall.n_clusters),
        "signature": signature_of(scored, label, task, resampling),
    }
    if scored.trained_on_it(label):
        details["trained_on_this_data"] = "true"
    return {
        "evaluation_result_id": f"{task.name}/{ASPECT_RECALL.key}",
        "evaluation_name": task.name,
        "source_data": _source(scored.dataset),
        "metric_config": {
            "evaluation_description": "Share of the study aspects that count which the selected sentences cover, "
            "averaged over instances.",
            "metric_id": f"{COLLECTION}.{ASPECT_RECALL.key}",
            "metric_name": "Aspect recall",
            "metric_kind": "recall",
            "metric_unit": "proportion",
            "metric_parameters": {"budget": task.budget, "aspects": task.scope},
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0,
            "max_score": 1,
        },
        "score_details": {"score": recall.mean, "details": details, "uncertainty": uncertainty},
        "generation_config": {"additional_details": {"run": run.path.name, **_about_system(run)}},
    }


def _source(dataset: Dataset) -> dict[str, Any]:
    about: Mapping[str, str] = {"file": dataset.name, "sha256": dataset.sha256, "instances": str(len(dataset))}
    if (entry := known_entry(dataset)) is None:
        return {"dataset_name": dataset.name, "source_type": "other", "additional_details": about}
    details = {"split": entry.name, **about}
    return {"dataset_name": "EvidenceBench", "source_type": "url", "url": [entry.url], "additional_details": details}


def hub_entries(scored: ScoredRuns, label: str, resampling: Resampling, *, dataset_id: str) -> list[dict[str, Any]]:
    """Return the entries of a run's scores, aspect recall in %."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml  # noqa: PLC0415 - an extra

    header, dataset = scored.runs[label].header, scored.dataset
    data = f"{dataset.name}, sha256 {dataset.sha256}, {len(dataset):,} instances"
    evaluated = None if header is None else header.created or None
    entries = []
    for task in scored.tasks:
        recall = scored.scores[label][task.name].estimate(resampling=resampling)
        ends = [f"{100 * end:.1f}" for end in recall.interval or ()]
        interval = f", interval [{', '.join(ends)}]" if ends else ""
        signature = signature_of(scored, label, task, resampling)
        notes = f"aspect recall in %{interval}; n={recall.n}; data: {data}; {signature}"
        about: dict[str, Any] = {"dataset_id": dataset_id, "task_id": task.name, "date": evaluated}
        entries.append(EvalResultEntry(**about, value=round(100 * recall.mean, 4), notes=notes))
    return eval_result_entries_to_yaml(entries)


def as_yaml(entries: list[dict[str, Any]]) -> str:
    import yaml  # noqa: PLC0415 - an extra

    text: str = yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=10**6)  # no line is broken
    return text
