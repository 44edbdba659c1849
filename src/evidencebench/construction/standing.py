"""Where a construction stands: what each step has done of what it is given."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evidencebench.construction.draft_file import DraftFile, open_drafts
from evidencebench.construction.work_folder import DATASET_FOLDER, MANIFEST, STEP_FILES, output_of


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStatus:
    """How far a step is."""

    step: str
    n_drafts: int | None  # that were given to it; None: not known
    n_done: int  # that have a line
    n_kept: int
    dropped: Mapping[str, int]
    is_finished: bool
    n_edited: int  # by hand
    stale: str  # why it is to be made again; empty where it is not


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstructionStatus:
    """The steps that have begun, in their order, and whether the data set is there."""

    steps: tuple[StepStatus, ...]
    has_dataset: bool

    @property
    def next_step(self) -> str | None:
        """The step that is to be run, or gone on with; None: all is done."""
        unfinished = next((step.step for step in self.steps if step.stale or not step.is_finished), None)
        if unfinished is not None:
            return unfinished
        names = list(STEP_FILES)
        behind = names[names.index(self.steps[-1].step) + 1 :] if self.steps else names
        return behind[0] if behind else None if self.has_dataset else "assemble"


def construction_status(work: Path) -> ConstructionStatus:
    """Return where the construction in a work folder stands; raises as `open_drafts`."""
    steps: list[StepStatus] = []
    n_given: int | None = None
    before: DraftFile | None = None
    for name in STEP_FILES:
        path = output_of(name, work)
        if not path.is_file():
            continue
        file = open_drafts(path, must_be_finished=False)
        stale = ""
        if before is not None and file.header.source_sha256 != before.sha256:
            stale = f"made from another {before.path.name}"
        elif before is not None and (n_behind := file.n_behind(before)):
            stale = f"{n_behind:,} of {before.path.name} changed since"
        steps.append(
            StepStatus(
                step=name,
                n_drafts=len(file.offsets) if file.is_finished else n_given,
                n_done=len(file.offsets),
                n_kept=len(file.going_on),
                dropped=file.dropped,
                is_finished=file.is_finished,
                n_edited=file.n_edited,
                stale=stale or (f"behind {steps[-1].step}" if steps and steps[-1].stale else ""),
            )
        )
        before = file
        n_given = len(file.going_on) if file.is_finished else None
    return ConstructionStatus(steps=tuple(steps), has_dataset=(work / DATASET_FOLDER / MANIFEST).is_file())
