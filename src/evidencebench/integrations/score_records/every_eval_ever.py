"""Records of Every Eval Ever, version 0.3.0 of its schema: one file a run, where its datastore expects it.

`Source <https://github.com/evaleval/every_eval_ever>`_: ``eval.schema.json``, and the rules of its validator.
"""

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
from evidencebench.errors import RunError
from evidencebench.integrations.known_data import known_entry
from evidencebench.integrations.score_records.scored_task import ScoredTask, model_of, scored_tasks
from evidencebench.runs.header import option_text
from evidencebench.runs.run_file import RunFile
from evidencebench.scoring.measures import ASPECT_RECALL
from evidencebench.scoring.resampling import Resampling
from evidencebench.scoring.score_runs import ScoredRuns
from evidencebench.storage.whole_file import write_whole
from evidencebench.version import __version__

SCHEMA_VERSION = "0.3.0"
COLLECTION = "evidencebench"
"""The folder of the datastore in which the records lie."""

Relationship = Literal["first_party", "third_party", "collaborative", "other"]
"""How those who evaluate stand to those who made the system."""

# What its validator takes for a part of a path on every system.
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,119}(?<!\.)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluator:
    """Who evaluates, and what they call the system; ``model`` None: what the run says."""

    organization: str
    relationship: Relationship
    model: str | None = None


def write_records(
    folder: Path, scored: ScoredRuns, evaluator: Evaluator, resampling: Resampling, *, now: datetime
) -> list[Path]:
    """Write a record for each run, ``data/evidencebench/ORGANISATION/NAME/UUID.json`` in a folder; return the paths."""
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


def record_of(
    scored: ScoredRuns, label: str, evaluator: Evaluator, resampling: Resampling, *, now: datetime
) -> dict[str, Any]:
    """Return the record of a run; raises `RunError` where its system has no name."""
    run, dataset = scored.runs[label], scored.dataset
    model = model_of(run, evaluator.model)
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
        "evaluation_results": [
            _result(score, run, dataset, resampling) for score in scored_tasks(scored, label, resampling)
        ],
    }


def _about_system(run: RunFile) -> dict[str, str]:
    if run.header is None:
        return {"run": run.path.name}
    options = {f"option_{key}": option_text(value) for key, value in run.header.system.options.items()}
    return {
        "system": run.signature,
        **options,
        **{f"version_{name}": text for name, text in run.header.versions.items()},
    }


def _result(score: ScoredTask, run: RunFile, dataset: Dataset, resampling: Resampling) -> dict[str, Any]:
    recall, task = score.recall, score.task
    uncertainty: dict[str, Any] = {"num_samples": recall.n}
    if recall.low is not None:
        uncertainty["num_bootstrap_samples"] = resampling.n_draws
        uncertainty["confidence_interval"] = {
            "lower": recall.low,
            "upper": recall.high,
            "confidence_level": resampling.level,
            "method": "percentile bootstrap over papers, or reviews where the data names them",
        }
    details = {name: str(n) for name, n in asdict(score.counts).items()}
    details |= {"n_papers_or_reviews": str(recall.n_clusters), "signature": score.signature}
    if score.was_trained_on_it:
        details["trained_on_this_data"] = "true"
    return {
        "evaluation_result_id": f"{task.name}/{ASPECT_RECALL.key}",
        "evaluation_name": task.name,
        "source_data": _source(dataset),
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
    entry = known_entry(dataset)
    if entry is None:
        return {"dataset_name": dataset.name, "source_type": "other", "additional_details": about}
    return {
        "dataset_name": "EvidenceBench",
        "source_type": "url",
        "url": [entry.url],
        "additional_details": {"split": entry.name, **about},
    }
