"""Append the answers to instances to a run, and count them."""

from collections.abc import Callable, Mapping

from evidencebench.errors import StopError
from evidencebench.execution.answering import InstanceOutcome
from evidencebench.runs.answer_line import Answer, Failure, encode_answer
from evidencebench.storage.journal import Journal
from evidencebench.system import is_counted_once, merged_notes


class RunWriter:
    """Appends answers to a run's journal, and knows what the run holds so far.

    Attributes
    ----------
    n_done, n_failed
        Instances answered in full, of ``n_all``, and failed answers, those that it held before included.
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

    def keep(self, worked: InstanceOutcome) -> None:
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
        """What all answers note, by name in alphabetical order."""
        totals = dict(self._totals)
        for notes in self._cut.values():
            for name, count in notes.items():
                totals[name] = totals.get(name, 0) + count
        return dict(sorted(totals.items()))
