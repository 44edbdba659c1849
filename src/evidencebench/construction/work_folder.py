"""The files of a work folder, in the order of the steps."""

from collections.abc import Mapping
from pathlib import Path

STEP_FILES: Mapping[str, str] = {
    "harvest": "passages.jsonl",
    "summaries": "summaries.jsonl",
    "hypotheses": "hypotheses.jsonl",
    "aspects": "aspects.jsonl",
    "judge": "judgments.jsonl",
    "label-results": "results.jsonl",
    "filter": "filtered.jsonl",
}
"""Step -> the name of the file that it writes; the step behind it reads that file."""

DATASET_FOLDER = "dataset"
"""What `assemble` writes."""

MANIFEST = "manifest.json"
"""The file that every folder of a data set has."""


def input_of(step: str, folder: Path) -> Path:
    """Return the file that a step reads.

    >>> input_of("judge", Path("work")).as_posix()
    'work/aspects.jsonl'
    """
    names = list(STEP_FILES)
    return folder / STEP_FILES[names[names.index(step) - 1]]


def output_of(step: str, folder: Path) -> Path:
    """Return the file that a step writes."""
    return folder / STEP_FILES[step]
