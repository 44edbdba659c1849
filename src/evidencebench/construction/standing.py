"""Where a construction stands: what each step has done of what it is given."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evidencebench.construction.draft_file import DraftFile, open_drafts
from evidencebench.construction.work_folder import DATASET_FOLDER, MANIFEST, STEP_FILES, output_of


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStanding:
    """How far a step is: ``n_drafts`` were given to it (None: not known), of which ``n_done`` have a line.

    Of these ``n_edited`` were edited by hand. ``stale`` says why it is to be made again; empty where it is not.
    """

    step: str
    n_drafts: int | None
    n_done: int
    n_kept: int
    dropped: Mapping[str, int]
    is_finished: bool
    n_edited: int
    stale: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstructionStanding:
    """The steps that have begun, in their order, and whether the data set is there."""

    steps: tuple[StepStanding, ...]
    has_dataset: bool

    @property
    def next_step(self) -> str | None:
        """The step that is to be run, or gone on with; None: all is done."""
        unfinished = next((one.step for one in self.steps if one.stale or not one.is_finished), None)
        if unfinished is not None:
            return unfinished
        names = list(STEP_FILES)
        behind = names[names.index(self.steps[-1].step) + 1 :] if self.steps else names
        return behind[0] if behind else None if self.has_dataset else "assemble"


def standing_of(work: Path) -> ConstructionStanding:
    """Return where the construction in a work folder stands; raises as `open_drafts`."""
    steps: list[StepStanding] = []
    n_given: int | None = None
    before: DraftFile | None = None
    for name in STEP_FILES:
        path = output_of(name, work)
        if not path.is_file():
            continue
        found = open_drafts(path, must_be_finished=False)
        steps.append(
            StepStanding(
                step=name,
                n_drafts=len(found.offsets) if found.is_finished else n_given,
                n_done=len(found.offsets),
                n_kept=len(found.going_on),
                dropped=found.dropped,
                is_finished=found.is_finished,
                n_edited=found.n_edited,
                stale=_stale(found, before) or (f"behind {steps[-1].step}" if steps and steps[-1].stale else ""),
            )
        )
        before = found
        n_given = len(found.going_on) if found.is_finished else None
    return ConstructionStanding(steps=tuple(steps), has_dataset=(work / DATASET_FOLDER / MANIFEST).is_file())


def _stale(found: DraftFile, before: DraftFile | None) -> str:
    if before is None:
        return ""
    if found.header.source_sha256 != before.sha256:
        return f"made from another {before.path.name}"
    n_behind = found.n_behind(before)
    return f"{n_behind:,} of {before.path.name} changed since" if n_behind else ""
