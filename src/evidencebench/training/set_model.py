"""Fit the set model: networks that learn to cover aspects with a given number of sentences."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from evidencebench.data.instance import Instance
from evidencebench.data.tasks import TASKS
from evidencebench.errors import DataError, ModelError, SystemSpecError
from evidencebench.models.embedding.folder import library_versions, require_extra
from evidencebench.storage.reading import PathText
from evidencebench.storage.whole_file import write_folder
from evidencebench.systems.retrievers.dense import MiniLM
from evidencebench.systems.selectors.features import chosen_features
from evidencebench.systems.selectors.model import CARD
from evidencebench.systems.selectors.set_model import MOST_NETWORKS, SetCard, read_set_card
from evidencebench.training.examples import SCOPES, Example, examples_of
from evidencebench.training.selector import (
    LEAST_PAPERS,
    LEFT,
    STRENGTH,
    Progress,
    fit_ridge,
    require_replaceable,
)
from evidencebench.version import __version__

if TYPE_CHECKING:
    from torch import Tensor

    from evidencebench.systems.selectors.set_network import SetNetwork

_BATCH = 6
_N_HEADS = 4  # of `SetNetwork`
_LEARNING_RATE = 1e-3
_WEIGHT_DECAY = 0.5
_WARM_UP = 0.15
_LARGEST_BUDGET = 10
_LIST_LOSS = 0.06  # how much each sentence's own share of aspects counts beside the coverage of the set


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTraining:
    """How a set model is trained.

    Each network starts as a ridge regression on the features, and learns to correct it: the loss is minus the expected
    share of aspects that a set of a random size covers, under the probabilities that its scores give the sentences.

    Attributes
    ----------
    hypothesis
        Whether the model may read the hypothesis.
    n_networks
        Networks trained from different random numbers, at least 1; their scores are averaged.
    epochs
        How often each sees every paper, at least 1.
    width, n_layers, dropout
        As in `SetNetwork`.
    """

    hypothesis: bool = True
    n_networks: int = 2
    epochs: int = 8
    width: int = 32
    n_layers: int = 2
    dropout: float = 0.5

    def __post_init__(self) -> None:
        for name, fits, expected in (
            ("n_networks", 1 <= self.n_networks <= MOST_NETWORKS, f"1..{MOST_NETWORKS}"),
            ("epochs", self.epochs >= 1, "at least 1"),
            ("width", self.width >= _N_HEADS and self.width % _N_HEADS == 0, f"a multiple of {_N_HEADS}"),
            ("n_layers", self.n_layers >= 1, "at least 1"),
            ("dropout", 0 <= self.dropout < 1, "at least 0 and less than 1"),
        ):
            if not fits:
                raise SystemSpecError(f"train set_selector: {name}: expected {expected}, got {getattr(self, name)}")

    def fit(
        self,
        instances: Sequence[Instance],
        folder: PathText,
        *,
        seed: int = 0,
        data: Mapping[str, Any] | None = None,
        on_progress: Progress | None = None,
    ) -> SetCard:
        """Fit a model and write it into a folder, the card last.

        Parameters
        ----------
        instances
            What to learn from, labels included.
        folder
            Made where it does not exist.
        seed
            Of everything random.
        data
            What the card says about the data.
        on_progress
            Called with (epochs done, epochs in all).

        Raises
        ------
        DataError
            If there are too few papers.
        MissingExtraError
            If torch or the embedder is not installed.
        ModelError
            If the loss stops being a number.
        """
        folder = Path(folder)
        require_extra("train set_selector", "minilm", "torch", "safetensors")
        from safetensors.torch import save  # noqa: PLC0415 - an extra

        require_replaceable(folder, read_set_card)
        n_papers = len({instance.query.paper_id for instance in instances})
        if n_papers < LEAST_PAPERS:
            raise DataError(f"training: expected at least {LEAST_PAPERS} papers, got {n_papers}")
        features = chosen_features(hypothesis=self.hypothesis, embedding=True)
        examples = examples_of(instances, features, MiniLM())
        options = {
            "n_features": len(features),
            "n_dimensions": examples[0].page.vectors.shape[1],
            "width": self.width,
            "n_layers": self.n_layers,
            "dropout": self.dropout,
        }
        tensors: dict[str, Tensor] = {}
        for number in range(self.n_networks):

            def report(epoch: int, before: int = number * self.epochs) -> None:
                if on_progress is not None:
                    on_progress(before + epoch, self.n_networks * self.epochs)

            network = _trained(examples, options, epochs=self.epochs, seed=1000 * seed + number, report=report)
            tensors |= {f"{number}.{name}": tensor.contiguous() for name, tensor in network.state_dict().items()}
        content = save(tensors)
        sha256 = hashlib.sha256(content).hexdigest()
        card = SetCard(
            features=tuple(feature.name for feature in features),
            network=options,
            n_networks=self.n_networks,
            strength=STRENGTH,
            scopes=tuple(scope for scope in SCOPES if any(scope in example.shares for example in examples)),
            file=f"weights-{sha256[:16]}.safetensors",
            sha256=sha256,
            data={"n_instances": len(instances), "n_papers": n_papers, **(data or {})},
            training={"hypothesis": self.hypothesis, "epochs": self.epochs, "seed": seed},
            versions={"evidencebench": __version__, **library_versions("numpy", "torch", "safetensors")},
        )
        encoded = msgspec.json.format(msgspec.json.encode(card), indent=1)
        write_folder(
            folder, {card.file: content, CARD: encoded}, names_all=CARD, owned=("weights-*.safetensors", *LEFT)
        )
        return card


@dataclass(frozen=True, slots=True, kw_only=True)
class _Paper:
    """An example as tensors."""

    table: "Tensor"
    vectors: "Tensor"
    sources: "tuple[Tensor | None, ...]"
    optimal: int


def _trained(
    examples: Sequence[Example], options: Mapping[str, Any], *, epochs: int, seed: int, report: Any
) -> "SetNetwork":
    import torch  # noqa: PLC0415 - an extra

    from evidencebench.systems.selectors.set_network import SetNetwork  # noqa: PLC0415 - imports torch

    papers = [_tensors(example) for example in examples]
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)  # how many threads add up a sum decides its last bits
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            generator = np.random.default_rng(seed)
            network = SetNetwork(**options)
            _start_from_ridge(network, examples)
            optimizer = torch.optim.AdamW(network.parameters(), lr=_LEARNING_RATE, weight_decay=_WEIGHT_DECAY)
            n_steps = epochs * len(list(_batches(papers, np.random.default_rng(0))))
            schedule = torch.optim.lr_scheduler.OneCycleLR(
                optimizer, _LEARNING_RATE, total_steps=n_steps, pct_start=_WARM_UP
            )
            network.train()
            for epoch in range(epochs):
                report(epoch)
                for batch in _batches(papers, generator):
                    loss = _loss(network, batch, generator)
                    if not torch.isfinite(loss):
                        raise ModelError(f"training: the loss is {loss.item()} in epoch {epoch + 1}; nothing is saved")
                    optimizer.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                    optimizer.step()
                    schedule.step()
            report(epochs)
            return network.eval()
    finally:
        torch.set_num_threads(n_threads)


def _start_from_ridge(network: "SetNetwork", examples: Sequence[Example]) -> None:
    """Set the linear part to ridge regressions, and make the correction small."""
    import torch  # noqa: PLC0415 - an extra

    with torch.no_grad():
        for column, scope in enumerate(SCOPES):
            labelled = [example for example in examples if scope in example.shares]
            if not labelled:
                continue
            table = np.concatenate([example.table for example in labelled])
            target = np.concatenate([example.target(scope, "relative") for example in labelled])
            ridge = fit_ridge(scope, "relative", table, target)
            spread = ((table - ridge.center) / ridge.scale @ np.array(ridge.weights)).std()
            network.linear.weight[column] = torch.tensor(ridge.weights) * (1.5 / max(spread, 1e-9))
            network.linear.bias[column] = 0.0
        everything = np.concatenate([example.table for example in examples])
        scale = everything.std(axis=0)
        network.center.copy_(torch.from_numpy(everything.mean(axis=0)))
        network.scale.copy_(torch.from_numpy(np.where(scale < 1e-9, 1.0, scale)))  # noqa: PLR2004 - a constant column
        network.correct.weight.mul_(0.1)


def _tensors(example: Example) -> _Paper:
    import torch  # noqa: PLC0415 - an extra

    labels = example.instance.labels
    n = example.page.n
    sources: list[Tensor | None] = []
    for scope in SCOPES:
        aspects = [aspect for aspect in labels.that_count(scope) if labels.sources.get(aspect)]
        matrix = np.zeros((len(aspects), n), dtype=np.float32)
        for row, aspect in zip(matrix, aspects, strict=True):
            row[list(labels.sources[aspect])] = 1.0
        sources.append(torch.from_numpy(matrix) if aspects else None)
    return _Paper(
        table=torch.from_numpy(example.table).float(),
        vectors=torch.from_numpy(example.page.vectors).float(),
        sources=tuple(sources),
        optimal=TASKS["er_at_optimal"].budget_for(example.instance) or 1 if labels.aspects else 1,
    )


def _batches(papers: Sequence[_Paper], generator: np.random.Generator) -> Iterator[list[_Paper]]:
    """Yield papers of about the same length together, in random order, so that little is padded."""
    lengths = np.array([len(paper.table) for paper in papers]) * np.exp(generator.normal(0, 0.15, len(papers)))
    order = np.argsort(lengths)
    starts = generator.permutation(np.arange(0, len(papers), _BATCH))
    for start in starts:
        yield [papers[place] for place in order[start : start + _BATCH]]


def _loss(network: "SetNetwork", batch: Sequence[_Paper], generator: np.random.Generator) -> "Tensor":
    import torch  # noqa: PLC0415 - an extra

    from evidencebench.systems.selectors.set_network import expected_coverage, inclusion  # noqa: PLC0415 - imports torch

    pad = torch.nn.utils.rnn.pad_sequence
    table = pad([paper.table for paper in batch], batch_first=True)
    vectors = pad([paper.vectors for paper in batch], batch_first=True)
    absent = pad([torch.zeros(len(paper.table)) for paper in batch], batch_first=True, padding_value=1.0) > 0
    budgets = [
        min(len(paper.table), paper.optimal if generator.random() < 0.5 else generator.integers(1, _LARGEST_BUDGET + 1))  # noqa: PLR2004 - half of the time
        for paper in batch
    ]
    budget = torch.tensor([float(max(1, number)) for number in budgets])
    scores = network(table, vectors, absent, budget)
    losses = []
    for column in range(scores.shape[2]):
        chosen = inclusion(scores[:, :, column], absent, budget)
        for place, paper in enumerate(batch):
            sources = paper.sources[column]
            if sources is None:
                continue
            n = len(paper.table)
            shares = sources.mean(dim=0)
            listed = (shares / shares.sum() * torch.log_softmax(scores[place, :n, column], dim=0)).sum()
            losses.append(-expected_coverage(chosen[place, :n], sources) - _LIST_LOSS * listed)
    return torch.stack(losses).mean() if losses else scores.sum() * 0
