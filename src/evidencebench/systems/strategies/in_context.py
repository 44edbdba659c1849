"""The whole paper at once, behind examples of other papers' hypotheses and their best sentences."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evidencebench.errors import RunMismatchError, SystemSpecError
from evidencebench.models.llm.chat import ChatModel
from evidencebench.models.llm.client import ChatClient
from evidencebench.query import AspectScope, Query
from evidencebench.storage.reading import file_sha256
from evidencebench.system import Brief, Ranking
from evidencebench.systems.strategies.conversation import asker_of
from evidencebench.systems.strategies.example_file import PromptExample, read_examples, reason_against
from evidencebench.systems.strategies.excerpt import prompt_line
from evidencebench.systems.strategies.options import require_chat, require_within
from evidencebench.systems.strategies.selecting import NOTHING, select_from, selection_versions
from evidencebench.traits import Traits

_POINTS: Mapping[AspectScope, str] = {
    "all": "every point of the reviewer's summary of that paper",
    "results": "every outcome and every analysis in the reviewer's summary of that paper",
}
"""The prompt's words for what the sentences of the examples state, by scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmInContext:
    """As `llm_base`, with examples in the prompt: hypotheses about other papers and the texts of their best sentences.

    Examples come from a file, since no system reads labels: ``evidencebench llm examples`` draws them. A query is
    refused if its paper, or a paper with the same text, is among them.

    Attributes
    ----------
    chat
        Which model, and how it samples.
    examples
        A file of examples. The run's header holds its checksum.
    n
        How many of them are shown, the first ones, at least 1. For the Results tasks those without Results are left
        out, and counted in ``examples_left_out``.
    repairs
        How often a reply without an answer is asked for again, 0..3.
    client
        What sends the requests; None: the one that all share.

    References
    ----------
    .. [1] Wang, Cao et al., "EvidenceBench: A Benchmark for Extracting Evidence from Biomedical Papers", COLM 2025,
       whose in-context setting has 8 examples.
    """

    chat: ChatModel
    examples: Path
    n: int = 8
    repairs: int = 1
    client: ChatClient | None = field(default=None, repr=False, compare=False)
    _shown: tuple[PromptExample, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "examples", Path(self.examples))
        require_chat("llm_icl", self.chat, self.repairs, prompt="in_context")
        require_within("llm_icl", "n", self.n, 1)
        examples = read_examples(self.examples).examples
        if len(examples) < self.n:
            raise SystemSpecError(
                f"llm_icl: n: expected at most as many examples as {self.examples} holds, {len(examples)}, got {self.n}"
            )
        object.__setattr__(self, "_shown", examples[: self.n])

    @property
    def traits(self) -> Traits:
        """The traits; the versions are the checksums of the prompts and of the examples."""
        return Traits(
            reads_brief=True,
            selects=True,
            waits=True,
            versions=self._versions,
            check=lambda asked: self._require_unseen(asked.queries()),
        )

    def _require_unseen(self, queries: Iterable[Query]) -> None:
        """Raise `RunMismatchError` where the paper of a query is among the examples."""
        for query in queries:
            if reason := reason_against(self._shown, query):
                raise RunMismatchError(
                    f"{query.instance_id}: may not be asked with the examples in {self.examples}: {reason}; draw them "
                    "from other data with 'evidencebench llm examples'"
                )

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return the set of sentences that the model names; raises as `converse`, and for a paper of an example."""
        self._require_unseen([query])
        if brief.budget == 0 or not query.sentences:
            return NOTHING
        examples = [example for example in self._shown if example.in_scope(brief.scope)]
        if not examples:
            raise SystemSpecError(
                f"llm_icl: examples: none of {self.examples} has Results sentences; draw them from data with Results "
                "labels"
            )
        asker = asker_of(self.client, self.chat, self.repairs)
        texts = "\n\n".join(_example_text(number, one, brief.scope) for number, one in enumerate(examples, 1))
        n_left_out = self.n - len(examples)
        notes = {"examples_left_out": n_left_out} if n_left_out else {}
        fields = {"points": _POINTS[brief.scope], "examples": texts}
        indices = range(len(query.sentences))
        return select_from(asker, "in_context", query, brief, indices, notes=notes, fields=fields)

    def _versions(self) -> Mapping[str, str]:
        sha256 = file_sha256(self.examples)
        return {**selection_versions(self.chat, "in_context"), f"examples {self.examples}": f"sha256:{sha256}"}


def _example_text(number: int, example: PromptExample, scope: AspectScope) -> str:
    """Return an example as a prompt shows it, each sentence on a line."""
    sentences = (f"- {prompt_line(sentence)}" for sentence in example.in_scope(scope))
    return "\n".join((f"Example {number}, hypothesis: {prompt_line(example.hypothesis)}", *sentences))
