"""What went wrong with answers, and what they cost: counted over lines of a run, whatever tasks a line serves."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evidencebench.runs.answer_line import Failure
from evidencebench.runs.run_file import RunFile
from evidencebench.system import is_counted_once, merged_notes
from evidencebench.wording import counted

REPLY = "reply_"
"""How the notes begin that say what a language model's replies were."""

READ_BY = "read_by "
"""How the notes begin that say which branch of the grammar read them."""

_OF_A_REPLY = re.compile(r"ReplyError: [a-z_ ]{1,30}(?=:)")
_MOST_CHARACTERS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorKind:
    """Errors that begin alike.

    Attributes
    ----------
    name
        What stands before the first colon, such as ``TimeoutError``.
    count
        How many.
    instance_id, example
        The first of them, whole.
    """

    name: str
    count: int
    instance_id: str
    example: str


def notes_of(run: RunFile, keys: Iterable[tuple[str, str | None]] | None = None) -> dict[str, int]:
    """Return what answers of a run note together, as the run's own summary does.

    Parameters
    ----------
    run
        Whose.
    keys
        (instance id, task or None) of the lines that are counted; None: of all.
    """
    totals: Counter[str] = Counter()
    once: dict[str, Mapping[str, int]] = {}
    for instance_id, task in sorted(run.done if keys is None else keys, key=str):
        answer = run.answer(instance_id, task)
        if answer is None:
            continue
        about_paper = {name: count for name, count in answer.notes.items() if is_counted_once(name)}
        if about_paper:
            once[instance_id] = merged_notes(once.get(instance_id, {}), about_paper)
        totals.update({name: count for name, count in answer.notes.items() if name not in about_paper})
    for notes in once.values():
        totals.update(notes)
    return dict(sorted(totals.items()))


def errors_of(run: RunFile, keys: Iterable[tuple[str, str | None]] | None = None) -> tuple[ErrorKind, ...]:
    """Return the errors of a run by kind, the most frequent first; ``keys`` as in `notes_of`."""
    found: dict[str, list[tuple[str, str]]] = {}
    for instance_id, task in sorted(run.failed if keys is None else run.failed & frozenset(keys), key=str):
        answer = run.answer(instance_id, task)
        if isinstance(answer, Failure):
            found.setdefault(kind_of(answer.error), []).append((instance_id, answer.error))
    kinds = [
        ErrorKind(name=name, count=len(members), instance_id=members[0][0], example=members[0][1])
        for name, members in found.items()
    ]
    return tuple(sorted(kinds, key=lambda kind: (-kind.count, kind.name)))


def kind_of(error: str) -> str:
    """Return what stands before the first colon of an error; of a language model's reply, what the reply was too.

    Examples
    --------
    >>> kind_of("TimeoutError: no reply within 60 s"), kind_of("null in the answers file")
    ('TimeoutError', 'null in the answers file')
    >>> kind_of("ReplyError: refused: the reply says that the model will not answer")
    'ReplyError: refused'
    """
    found = _OF_A_REPLY.match(error)
    return found[0] if found else error.partition(":")[0].strip()[:_MOST_CHARACTERS] or "unnamed"


def cost_text(notes: Mapping[str, int]) -> str | None:
    """Return what a run's replies cost in dollars, so far as it is known; None where it had none.

    Examples
    --------
    >>> cost_text({"requests": 2, "cost_microusd": 1500})
    '$0.0015'
    >>> cost_text({"requests": 3, "cost_microusd": 1500, "unpriced_replies": 1})
    'at least $0.0015; 1 reply of unknown price'
    >>> cost_text({"requests": 3, "unpriced_replies": 3})
    'unknown: 3 replies of unknown price'
    """
    n_unpriced = notes.get("unpriced_replies", 0)
    known = None if "cost_microusd" not in notes else f"${notes['cost_microusd'] / 1e6:,.4f}"
    unknown = f"{counted(n_unpriced, 'reply', 'replies')} of unknown price" if n_unpriced else ""
    if known is None:
        return f"unknown: {unknown}" if unknown else None
    return f"at least {known}; {unknown}" if unknown else known
