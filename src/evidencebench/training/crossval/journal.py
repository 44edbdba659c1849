"""The journal of a cross-validation: each finished split is a line, so that an interrupted one goes on there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from evidencebench.errors import RunFormatError, RunMismatchError
from evidencebench.provenance import differences
from evidencebench.storage.journal import Journal, open_journal
from evidencebench.storage.json_lines import lines_of
from evidencebench.training.crossval.plan import Plan, Split
from evidencebench.training.crossval.splits import AnsweredSplit

_BEGINS = b'{"evidencebench_crossval":'


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    evidencebench_crossval: int = 1
    plan: Plan


class SplitJournal:
    """The finished splits. Make one with `open_split_journal`."""

    def __init__(self, file: Journal, finished: dict[Split, AnsweredSplit]) -> None:
        self._file = file
        self.finished = finished

    def keep(self, one: AnsweredSplit) -> None:
        """Add what a split answered."""
        self._file.append(msgspec.json.encode(one))
        self.finished[one.split] = one


@contextmanager
def open_split_journal(path: Path, plan: Plan, *, overwrite: bool) -> Iterator[SplitJournal]:
    """Open the journal of a plan, begun where there is none; raises `RunMismatchError` and `RunFormatError`."""
    with open_journal(path, _BEGINS, truncate=overwrite) as file:
        file.begin(msgspec.json.encode(_Header(plan=plan)))
        yield SplitJournal(file, {one.split: one for one in _read(path, plan)})


def _read(path: Path, plan: Plan) -> Iterator[AnsweredSplit]:
    """Yield the splits of a journal that was begun for this plan."""
    for number, _, line, _ in lines_of(path.read_bytes()):
        try:
            if number > 1:
                yield msgspec.json.decode(line, type=AnsweredSplit)
            else:
                _require_same(path, msgspec.json.decode(line, type=_Header).plan, plan)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RunFormatError(f"{path}: line {number}: {error}; start over with --overwrite") from error


def _require_same(path: Path, begun: Plan, plan: Plan) -> None:
    fields = [name for name in plan.__struct_fields__ if name != "versions"]
    before, after = ({name: getattr(one, name) for name in fields} for one in (begun, plan))
    differing = (differences(before, after), differences(begun.versions, plan.versions))
    if any(differing):
        raise RunMismatchError(
            f"{path}: begun as another cross-validation: {'; '.join(filter(None, differing))}; choose another file, or "
            "start over with --overwrite"
        )
