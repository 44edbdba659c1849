"""The header of a run: everything that decides the result."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated, Any, Literal

import msgspec

from evidencebench.provenance import CODE_OF, differences, digest_of
from evidencebench.specification import MAX_DEPTH
from evidencebench.system import KNOWING_SYSTEMS
from evidencebench.wording import counted, one_line

SHOWN_DIGITS = 12  # of a checksum, in signatures
MOST_EPOCHS = 1000


class SystemHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The system: its table name or import path, and every option, defaults included."""

    name: str
    options: dict[str, Any] = {}

    @property
    def signature(self) -> str:
        """Such as ``bm25(k1=0.9,b=0.4)``, or ``diverse(system=bm25(k1=0.9,b=0.4),strength=0.5)``."""
        return _signature(self.name, self.options, depth=0)


def option_text(value: Any, depth: int = 0, *, with_inner_options: bool = True) -> str:
    """Return an option's JSON value as a signature holds it: ``[bm25(k1=1.2)+tfidf]``, or without inner options."""
    # A nested system takes three levels: a list, the system, an option's value. A header by hand may nest without end.
    if isinstance(value, list | dict) and depth > 3 * MAX_DEPTH:
        return "..."
    match value:
        case {"name": str(name), "options": dict() as options}:
            return _signature(name, options if with_inner_options else {}, depth + 1)
        case list():
            items = (option_text(item, depth + 1, with_inner_options=with_inner_options) for item in value)
            return f"[{'+'.join(items)}]"
        case dict():
            members = (f"{key}={option_text(member, depth + 1)}" for key, member in value.items())
            return f"{{{','.join(members)}}}"
        case _:
            return str(value)


def _signature(name: str, options: Mapping[str, Any], depth: int) -> str:
    given = {key: value for key, value in options.items() if value is not None}  # None: left open
    text = ",".join(f"{key}={option_text(value, depth)}" for key, value in given.items())
    return f"{name}({text})" if text else name


def code_text(versions: Mapping[str, str]) -> str:
    """Return the digests of users' own code, as ``[code 1f3c2a9b4d5e]``, which ends a signature; empty without any."""
    own = [value.removeprefix("sha256:") for name, value in versions.items() if name.startswith(CODE_OF)]
    shown = "+".join(dict.fromkeys(digest[:SHOWN_DIGITS] for digest in own))
    return f"[code {shown}]" if own else ""


SeededControl = Literal["wrong_hypothesis", "two_papers", "shuffled_words"]
ControlName = Literal["wrong_hypothesis", "two_papers", "negated", "paraphrased", "shuffled_words", "changed"]
"""How queries are changed on purpose; `evidencebench.execution.changes` says what each does.

A `SeededControl` needs nothing but a seed; the others need a file of hypotheses.
"""


class QueryControl(msgspec.Struct, frozen=True, kw_only=True):
    """How queries are changed; for hypotheses from a file, the file, and in a run's header its checksum."""

    name: ControlName
    path: str | None = None
    sha256: str | None = None

    def __str__(self) -> str:
        return self.name if self.path is None else f"{self.name}={self.path}"

    @property
    def words(self) -> str:
        """Such as ``wrong hypothesis``; a control of your own is called by its file: ``changed: upper_case``."""
        own = f": {PurePath(self.path).stem}" if self.name == "changed" and self.path is not None else ""
        return f"{self.name.replace('_', ' ')}{own}"


class CrossvalHeader(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a run was cross-validated: in ``folds`` parts of papers, cut by its seed; None where nothing is trained."""

    folds: Annotated[int, msgspec.Meta(ge=2)] | None = None
    splitter: str | None = None  # the function of a user that cut them


class DataHeader(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The data: its file, the file's checksum, how many instances it holds, and the ids of a subset."""

    name: str
    path: str
    sha256: str
    n: Annotated[int, msgspec.Meta(ge=0)]
    ids: tuple[str, ...] | None = None  # of the instances that were chosen, in the order of the file; None: all

    def __post_init__(self) -> None:
        """Replace bytes of a file's name that are no text, so that the header can be written."""
        for name in ("name", "path"):
            msgspec.structs.force_setattr(self, name, getattr(self, name).encode(errors="replace").decode())


class RunHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is of."""

    system: SystemHeader
    data: DataHeader
    tasks: tuple[str, ...]
    per_task: bool = False  # whether each task has answers of its own; else one answer an instance serves every task
    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None  # only the first so many instances were run; None: all
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    epochs: Annotated[int, msgspec.Meta(ge=1, le=MOST_EPOCHS)] = 1  # how often each instance is asked
    control: QueryControl | None = None  # how the queries were changed on purpose; None: they were not
    crossval: CrossvalHeader | None = None  # how it was cross-validated; None: it was not
    versions: dict[str, str] = {}
    # The sha256 of the data that the system's models were trained on, as far as they say; None: the run was begun by a
    # version that did not ask.
    trained_on: tuple[str, ...] | None = None
    reads_labels: bool = False  # whether the system was given the labels; of the oracles, earlier runs do not say it
    created: str = ""  # when the run was begun, ISO 8601, UTC

    @property
    def answers_two_papers(self) -> bool:
        return self.control is not None and self.control.name == "two_papers"

    @property
    def knows_labels(self) -> bool:
        return self.reads_labels or self.system.name in KNOWING_SYSTEMS

    def __repr__(self) -> str:
        tasks = ", ".join(self.tasks)
        return one_line(self, repr(self.signature), repr(self.data.name), counted(self.data.n, "instance"), tasks)

    @property
    def signature(self) -> str:
        """The system as it ran: ``bm25(k1=0.9)[wrong hypothesis, seed 0]``, ``finder()[5-fold by paper, seed 0]``."""
        if self.crossval is not None and self.crossval.folds is not None:
            folds = f"{self.crossval.folds}-fold by {self.crossval.splitter or 'paper'}"
            return f"{self.system.signature}[{folds}, seed {self.seed}]"
        repeats = f"[{self.epochs} epochs]" if self.epochs > 1 else ""
        if self.control is None:
            return f"{self.system.signature}{repeats}"
        file = self.control.sha256
        drawn_by = f"seed {self.seed}" if file is None else f"sha256:{file[:SHOWN_DIGITS]}"
        return f"{self.system.signature}[{self.control.words}, {drawn_by}]{repeats}"


def differing_runs(old: RunHeader, new: RunHeader) -> str:
    """Return how two runs differ; empty where the run of one header may be gone on with under the other."""
    if old.system.name != new.system.name:  # its options and prompts differ too, and listing them would not help
        return f"system was {old.system.name}, now {new.system.name}"
    # An option that is left open (None) is as one that a version does not know.
    options = [{key: value for key, value in run.system.options.items() if value is not None} for run in (old, new)]
    differing = (
        differences(*options),
        differences(_deciding_fields(old), _deciding_fields(new)),
        differences(old.versions, new.versions),
    )
    return "; ".join(filter(None, differing))


def _deciding_fields(header: RunHeader) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(header))
    del fields["system"], fields["created"], fields["versions"], fields["data"]["path"], fields["data"]["name"]
    ids = fields["data"].pop("ids", None)
    fields["ids"] = "all" if ids is None else f"{counted(len(ids), 'id')}, sha256:{digest_of(ids)[:SHOWN_DIGITS]}"
    control = header.control
    fields["control"] = None if control is None else " ".join(filter(None, (control.words, control.sha256)))
    # They follow from the model, whose digest is among the versions, and from the system.
    del fields["trained_on"], fields["reads_labels"]
    return fields
