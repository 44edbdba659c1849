"""What comes of the instances of a run, written down as it comes and counted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evidencebench.errors import StopError
from evidencebench.runs.run_file import Answer, Failure, encode_answer
from evidencebench.storage.journal import Journal
from evidencebench.system import is_counted_once, merged_notes

Todo = tuple[str, tuple[str, ...] | None]
"""An instance that is to be answered, and for which tasks; None: one answer serves all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """What came of an instance.

    Attributes
    ----------
    answers
        (instance id, task or None, answer).
    unanswered
        What is still to be answered; None: nothing.
    stop
        Why no other instance may be begun; None: they may.
    """

    answers: tuple[tuple[str, str | None, Answer], ...]
    unanswered: Todo | None = None
    stop: StopError | None = None


class Recorder:
    """Appends answers to a run, and knows what it has so far.

    Parameters
    ----------
    journal
        Of the run.
    n_all
        Instances in its scope.
    n_failed
        Failed answers that it holds already.
    on_progress
        Called with (instances done, instances in all).

    Attributes
    ----------
    n_done, n_failed
        Instances answered in full, and failed answers, so far.
    first_error, first_trace
        The first failure that was kept here, and the trace of the first that has one.
    stop
        Why no other instance may be begun; None: they may.
    """

    def __init__(
        self, journal: Journal, *, n_all: int, n_failed: int, on_progress: Callable[[int, int], None] | None
    ) -> None:
        self._journal, self._n_all, self._on_progress = journal, n_all, on_progress
        self._totals: Mapping[str, int] = {}
        self._cut: dict[str, Mapping[str, int]] = {}  # instance id -> what is counted once for all its answers
        self.n_done = 0
        self.n_failed = n_failed
        self.first_error: str | None = None
        self.first_trace: str | None = None
        self.stop: StopError | None = None

    def is_over(self) -> bool:
        """Say whether no other instance may be begun."""
        return self.stop is not None

    def keep(self, worked: Worked) -> None:
        """Append the answers to an instance."""
        for instance_id, task_name, answer in worked.answers:
            self._journal.append(encode_answer(instance_id, task_name, answer))
            self.add_notes(instance_id, answer)
            if isinstance(answer, Failure):
                self.n_failed += 1
                self.first_error = self.first_error or f"{instance_id}: {answer.error}"
                self.first_trace = self.first_trace or answer.trace
        self.stop = self.stop or worked.stop
        self.n_done += not worked.unanswered
        if self._on_progress is not None:
            self._on_progress(self.n_done, self._n_all)

    def add_notes(self, instance_id: str, answer: Answer | None) -> None:
        """Count what an answer notes."""
        if answer is None or not answer.notes:
            return
        once = {name: count for name, count in answer.notes.items() if is_counted_once(name)}
        if once:
            self._cut[instance_id] = merged_notes(self._cut.get(instance_id, {}), once)
        self._totals = merged_notes(
            self._totals, {name: count for name, count in answer.notes.items() if name not in once}
        )

    @property
    def notes(self) -> dict[str, int]:
        """What all answers note."""
        totals = dict(self._totals)
        for notes in self._cut.values():
            for name, count in notes.items():
                totals[name] = totals.get(name, 0) + count
        return dict(sorted(totals.items()))
