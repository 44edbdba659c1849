"""What people change in drafts: ``edits.jsonl``, an edit a line, laid over what the steps make, run after run."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from evidencebench.construction.draft import STEP_FILES, Draft, dropped, judging_of
from evidencebench.errors import DataError, RunFormatError
from evidencebench.files.disk import read_blocks
from evidencebench.files.records import RecordFormat, lines_in, open_journal

EDITS = "edits.jsonl"
REJECTED = "rejected"  # why a draft is dropped that a person rejected

_STEP_OF: Mapping[str, str] = {  # field of an edit -> the step that makes what it replaces
    "summary": "summaries",
    "hypothesis": "hypotheses",
    "aspects": "aspects",
    "sources": "recheck" if "recheck" in STEP_FILES else "judge",
    "results": "label-results",
}
EDITED_STEPS = tuple(step for step in STEP_FILES if step not in ("harvest", "filter"))


class Edit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a person says of a draft in place of a step; one that says nothing takes back the edit before it.

    >>> edit = Edit(draft="review.xml:B7:1", step="hypotheses", hypothesis="Tea lowers blood pressure.")
    """

    draft: str  # its id
    step: str
    summary: str | None = None
    hypothesis: str | None = None
    # Of the step aspects. Beside sources or results: those that these were given for; the edit fits no others.
    aspects: tuple[str, ...] | None = None
    sources: tuple[tuple[int, ...], ...] | None = None  # aspect by aspect: the sentences, from 0, that hold it
    results: tuple[int, ...] | None = None  # the aspects, from 0, that are results
    rejected: str = ""  # why the draft shall become no instance
    by: str = ""  # who says so
    at: str = ""  # when, in ISO 8601

    @property
    def says_nothing(self) -> bool:
        return not self.rejected and all(getattr(self, field) is None for field in _STEP_OF)

    def lay_over(self, draft: Draft) -> Draft:
        """Return a draft as it is after this edit; raises `DataError` where the edit does not fit it."""
        made = replace(draft, dropped="", detail="", edited={**draft.edited, self.step: self.by})
        if self.rejected:
            return dropped(made, REJECTED, self.rejected)
        if self.summary is not None:
            made = replace(made, summary=self.summary)
        if self.hypothesis is not None:
            made = replace(made, hypothesis=self.hypothesis)
        if self.aspects is not None and self.step == _STEP_OF["aspects"]:
            made = replace(made, aspects=self.aspects)
        elif self.aspects not in (None, draft.aspects):
            raise DataError(self._misfit("the aspects that the draft has, got others"))
        if self.results is not None:
            if beyond := [number for number in self.results if number >= len(draft.aspects)]:
                raise DataError(self._misfit(f"results in 0..{len(draft.aspects) - 1}, got {beyond[0]}"))
            made = replace(made, results=tuple(sorted(set(self.results))))
        if self.sources is not None and draft.judging is not None:
            sources = tuple(tuple(sorted(set(of_aspect))) for of_aspect in self.sources)
            made = replace(made, judging=replace(draft.judging, sources=sources))
            try:
                judging_of(made)
            except RunFormatError as error:
                raise DataError(self._misfit(str(error))) from error
        return made

    def _misfit(self, expected: str) -> str:
        return (
            f"{EDITS}: the edit of '{self.draft}' at '{self.step}' does not fit it: expected {expected}; add a line "
            f'that fits, or {{"draft": ..., "step": "{self.step}"}} alone, which takes the edit back'
        )


def _require_sound(edit: Edit) -> None:
    if not edit.draft:
        raise DataError("expected the id of a draft, got none")
    if edit.step not in EDITED_STEPS:
        raise DataError(f"step: expected one of {', '.join(EDITED_STEPS)}, got '{edit.step}'")
    given = [field for field in _STEP_OF if getattr(edit, field) is not None]
    others = [field for field in given if _STEP_OF[field] != edit.step]
    if others == ["aspects"] and len(given) > 1:  # which those of sources or results are
        others = []
    if others:
        raise DataError(f"expected an edit of {others[0]} at the step '{_STEP_OF[others[0]]}', got '{edit.step}'")
    texts = [text for text in (edit.summary, edit.hypothesis, *(edit.aspects or ())) if text is not None]
    if edit.aspects == () or not all(text.strip() for text in texts):
        raise DataError(f"{given[0]}: expected a text, got an empty one; reject a draft with 'rejected': \"why\"")
    numbers = [*(edit.results or ()), *(index for of_aspect in edit.sources or () for index in of_aspect)]
    if negative := [number for number in numbers if number < 0]:
        raise DataError(f"{given[-1]}: expected numbers from 0, got {negative[0]}")


_LINES = RecordFormat(
    header=Edit,  # there is none, so that a line by hand is a whole file
    record=Edit,
    begins=b"{",
    what="a file of edits",
    a_record="an edit",
    made_by="evidencebench construct show --open",
    check=lambda edit, _: _require_sound(edit),
    grows=False,  # a torn line may be one that somebody typed
    remedy="correct the line, or delete it",
)


def read_edits(work: Path) -> dict[tuple[str, str], Edit]:
    """Return the edits of a work folder by draft and step: the last of each counts, unless it says nothing.

    Raises `RunFormatError` with the line that is none.
    """
    path, edits = work / EDITS, dict[tuple[str, str], Edit]()
    if path.exists():
        for line in _LINES.records(path, lines_in(read_blocks(path))):
            edits[line.record.draft, line.record.step] = line.record
    return {key: edit for key, edit in edits.items() if not edit.says_nothing}


def add_edit(work: Path, edit: Edit) -> None:
    """Write an edit behind those that are there; raises `DataError` where it is none, `RunError` where it cannot."""
    _require_sound(edit)
    read_edits(work)  # what nobody can read is not added to
    with open_journal(work / EDITS, _LINES.begins) as journal:
        journal.append(msgspec.json.encode(edit))
