"""What people change in drafts: ``edits.jsonl``, a file of answers, laid over what the steps make, run after run."""

from collections.abc import Collection, Mapping
from pathlib import Path
from zlib import crc32

import msgspec
from msgspec.structs import replace

from evidencebench.construction.draft import MODEL_STEPS, Draft, DraftFile, dropped, judging_of
from evidencebench.errors import DataError, RunFormatError
from evidencebench.files.disk import PathText, read_bytes
from evidencebench.files.records import RecordFormat, lines_in, open_journal
from evidencebench.runs.answers import ANSWERS, VERSION, Answer, AnswersHeader, check_line, encoded
from evidencebench.tables import shortened

EDITS = "edits.jsonl"
REJECTED = "rejected"  # why a draft is dropped that a person rejected

_STEP_OF: Mapping[str, str] = {  # field of an edit -> the step that makes what it replaces
    "summary": "summaries",
    "hypothesis": "hypotheses",
    "aspects": "aspects",
    "sources": "recheck",
    "results": "label-results",
}


class Edit(Answer, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="edit"):
    """What a person says of a draft in place of a step; one that says nothing takes back the edit before it.

    ``id`` is that of the draft, ``by`` who says so, ``at`` when.
    """

    step: str
    summary: str | None = None
    hypothesis: str | None = None
    # Of the step aspects. Beside sources or results: those that these were given for; the edit fits no others.
    aspects: tuple[str, ...] | None = None
    sources: tuple[tuple[int, ...], ...] | None = None  # aspect by aspect: the sentences, from 0, that hold it
    results: tuple[int, ...] | None = None  # the aspects, from 0, that are results
    rejected: str = ""  # why the draft shall become no instance

    def lay_over(self, draft: Draft) -> Draft:
        """Return a draft as it is after this edit; raises `DataError` where the edit does not fit it."""
        made = replace(draft, dropped="", detail="", edited={**draft.edited, self.step: self.by})
        if self.rejected:
            return dropped(made, REJECTED, f"{self.rejected} (by {self.by})" if self.by else self.rejected)
        fields = {field: getattr(self, field) for field in _given(self) if field != "sources"}
        made, misfit = replace(made, **fields), ""
        if made.aspects != draft.aspects and self.step != _STEP_OF["aspects"]:
            misfit = "expected the aspects that the draft has, got others"
        try:
            if self.sources is not None:
                made = replace(made, judging=replace(judging_of(draft), sources=self.sources))
            if made.judging is not None:
                judging_of(made)
        except RunFormatError as error:
            misfit = misfit or str(error)
        if misfit:
            taken_back = msgspec.json.encode({"answer": "edit", "id": self.id, "step": self.step}).decode()
            raise DataError(
                f"{EDITS}: the edit of '{self.id}' at '{self.step}' does not fit it: {misfit}; take it back in "
                f"'construct show --open', or add the line {taken_back}"
            )
        return made


def _given(edit: Edit) -> list[str]:
    return [field for field in _STEP_OF if getattr(edit, field) is not None]


def _check(edit: Edit, line: memoryview) -> None:
    check_line(edit, line)
    _require_sound(edit)


def _require_sound(edit: Edit) -> None:
    if not edit.id:
        raise DataError("expected the id of a draft, got none")
    if edit.step not in MODEL_STEPS:
        raise DataError(f"step: expected one of {', '.join(MODEL_STEPS)}, got '{shortened(edit.step, 60)}'")
    given = _given(edit)
    # Aspects beside sources or results say which ones these are of.
    others = [one for one in given if _STEP_OF[one] != edit.step and (one != "aspects" or len(given) == 1)]
    if others:
        raise DataError(f"expected an edit of {others[0]} at the step '{_STEP_OF[others[0]]}', got '{edit.step}'")
    texts = [text for text in (edit.summary, edit.hypothesis, *(edit.aspects or ())) if text is not None]
    if edit.aspects == () or not all(text.strip() for text in texts):
        raise DataError(f"{given[0]}: expected a text, got an empty one; reject a draft with 'rejected': \"why\"")
    numbers = [*(edit.results or ()), *(index for of_aspect in edit.sources or () for index in of_aspect)]
    if negative := [number for number in numbers if number < 0]:
        raise DataError(f"{given[-1]}: expected numbers from 0, got {negative[0]}")


_HEADER = AnswersHeader(evidencebench_answers=VERSION, role="agreed", merge="last revision", items="drafts")
_LINES = RecordFormat(
    header=AnswersHeader,  # it may be missing, so that a line by hand is a whole file
    record=Edit,
    begins=b"{",
    what="a file of edits",
    a_record="an edit",
    made_by="evidencebench construct show --open",
    version_field="evidencebench_answers",
    check=_check,
    grows=False,  # a torn line may be one that somebody typed
    remedy="correct the line, or delete it",
)


def read_edits(work: PathText) -> dict[tuple[str, str], Edit]:
    """Return the edits of a work folder by draft and step: the last counts; raises `RunFormatError` for a bad line."""
    path = Path(work) / EDITS
    content = read_bytes(path) if path.exists() else b""
    if content.lstrip().startswith(ANSWERS.begins):
        _, lines = _LINES.scan(path, [content])
    else:
        lines = _LINES.records(path, lines_in([content]))
    edits = {(line.record.id, line.record.step): replace(line.record, crc=None) for line in lines}
    return {key: edit for key, edit in edits.items() if edit.rejected or _given(edit)}


def add_edit(work: PathText, edit: Edit) -> None:
    """Write an edit into ``edits.jsonl`` of a work folder; the next run makes the draft again from there on.

    Raises `DataError` where the edit is none, such as one of hypotheses at the step aspects, and `RunError` where the
    file cannot be written.

    >>> import tempfile
    >>> work = tempfile.mkdtemp()
    >>> add_edit(work, Edit(id="review.xml:B7:1", step="aspects", rejected="of two studies", by="ann"))
    >>> read_edits(work)["review.xml:B7:1", "aspects"].rejected
    'of two studies'
    """
    _require_sound(edit)
    read_edits(work)  # what nobody can read is not added to
    with open_journal(Path(work) / EDITS, _LINES.begins) as journal:
        if journal.is_empty:
            journal.append(msgspec.json.encode(_HEADER))
        journal.append(encoded(edit))


def sums_after(edits: Mapping[tuple[str, str], Edit], step: str, sums: Mapping[str, str]) -> dict[str, str]:
    """Return the checksums of what a step makes drafts of: of the lines that it reads, and of its edits."""
    after = dict(sums)
    for (draft_id, edited_step), edit in edits.items():
        if edited_step == step and draft_id in after:
            after[draft_id] = f"{crc32(msgspec.json.encode(replace(edit, at='')), crc32(after[draft_id].encode())):08x}"
    return after


def require_known(edits: Mapping[tuple[str, str], Edit], source: DraftFile, steps: Collection[str]) -> None:
    """Raise `DataError` where an edit is of a draft that is not there, or of a step that is not run."""
    for draft_id, step in edits:
        if draft_id not in source.marks or step not in steps:
            raise DataError(
                f"{source.path.with_name(EDITS)}: expected edits of the drafts in {source.path.name} at the steps "
                f"{', '.join(steps)}, got one of '{shortened(draft_id, 60)}' at '{step}'; {_LINES.remedy}"
            )
