"""Have a language model negate or paraphrase the hypotheses of a data set, many at a time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from evidencebench.errors import ReplyError, StopError, SystemSpecError
from evidencebench.execution.asking import InstanceOutcome, Rehearsal, Todo, Waiting, ask_all, attempted, rehearsal_of
from evidencebench.execution.making import make_system
from evidencebench.models.llm.client import ChatClient
from evidencebench.systems.llm.asking import Asker
from evidencebench.systems.llm.excerpts import asker_of
from evidencebench.systems.llm.rewriting import rewrite
from evidencebench.systems.llm.selecting import LlmBase


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """Hypotheses as a model rewrote them, and why there are none for the others; both by instance id."""

    hypotheses: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def rehearsal(self) -> Rehearsal:
        return rehearsal_of(len(self.hypotheses) + len(self.failures), self.failures.items())


def asker_from(model: str, *, seed: int = 0, client: ChatClient | None = None) -> Asker:
    """Return who is asked: ``openai/NAME``, and behind commas any options of ``llm_base``; raises as `make_system`."""
    system = make_system(f"llm_base:model={model}", seed=seed, client=client).system
    if not isinstance(system, LlmBase):
        raise SystemSpecError(f"expected a language model, such as openai/NAME, got '{model}'")
    return asker_of(system)


def rewrite_all(
    asker: Asker,
    own: Mapping[str, str],
    how: str,
    *,
    waiting: Waiting = Waiting(),  # noqa: B008 - frozen
    on_progress: Callable[[int, int], None] | None = None,
) -> Rewritten:
    """Return hypotheses as a model rewrites them: ``negated`` or ``paraphrased``; raises `StopError`."""
    texts: dict[str, str] = {}
    failures: dict[str, str] = {}

    def ask(todo: Todo) -> InstanceOutcome:
        def work() -> None:
            try:
                texts[todo.instance_id] = rewrite(asker, own[todo.instance_id], how)
            except ReplyError as error:
                failures[todo.instance_id] = str(error)

        return attempted(todo, work)

    def keep(_: InstanceOutcome) -> None:
        if on_progress is not None:
            on_progress(len(texts) + len(failures), len(own))

    ask_all(ask, [Todo(instance_id, None) for instance_id in own], keep, waiting)
    if n_left := len(own) - len(texts) - len(failures):
        raise StopError(
            f"{n_left} of {len(own)} hypotheses wait for a batch; run again: what is stored is not paid twice"
        )
    return Rewritten(
        hypotheses={instance_id: texts[instance_id] for instance_id in own if instance_id in texts},
        failures={instance_id: failures[instance_id] for instance_id in own if instance_id in failures},
    )
