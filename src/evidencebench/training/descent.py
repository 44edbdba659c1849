"""Gradient descent that can be killed at any moment and goes on where it was, to the same weights."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evidencebench.errors import ModelError
from evidencebench.training.lessons import Floats, Lesson, drawn, listwise_loss
from evidencebench.training.workplace import Position, Workplace

if TYPE_CHECKING:
    import torch

Progress = Callable[[int, int], None]
Drawn = Sequence[tuple[Lesson, NDArray[np.intp]]]
Scorer = Callable[[Drawn], "Sequence[torch.Tensor]"]
"""Lessons with the texts drawn of each -> for each, anchors x texts scores, which gradients flow through."""

_WARM_UP = 0.1
_WEIGHT_DECAY = 0.01
_LONGEST_GRADIENT = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Descent:
    """How long, in what steps and from what draws a model learns.

    Everything random in a step follows from the seed and the step's number alone, so that a training which goes on
    where it was killed draws what it would have drawn.

    Attributes
    ----------
    epochs
        How often each lesson is read.
    batch_size
        Lessons in a step.
    learning_rate
        The highest: it rises over the first tenth of the steps, then falls to 0.
    positives, negatives
        The most sentences of either that are drawn of a paper, anew in each epoch.
    checkpoint_steps
        Steps between checkpoints.
    seed
        Of order, draws and dropout.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    positives: int
    negatives: int
    checkpoint_steps: int
    seed: int

    def n_steps(self, n_lessons: int) -> int:
        """Return how many steps it takes."""
        return self.epochs * math.ceil(n_lessons / self.batch_size)

    def rate(self, step: int, n_steps: int) -> float:
        """Return the learning rate of a step, 0-based.

        Examples
        --------
        >>> one = Descent(
        ...     epochs=1, batch_size=1, learning_rate=1.0, positives=1, negatives=1, checkpoint_steps=1, seed=0
        ... )
        >>> [round(one.rate(step, 20), 2) for step in (0, 1, 2, 19)]
        [0.5, 1.0, 1.0, 0.06]
        """
        n_warm = max(1, round(_WARM_UP * n_steps))
        return self.learning_rate * min((step + 1) / n_warm, (n_steps - step) / max(1, n_steps - n_warm))


def descend(
    module: "torch.nn.Module",
    score: Scorer,
    lessons: Sequence[Lesson],
    descent: Descent,
    workplace: Workplace,
    *,
    weights: Sequence[Floats] | None = None,
    on_progress: Progress | None = None,
) -> Position:
    """Train a module's parameters that want gradients, from the last checkpoint on if there is one.

    Parameters
    ----------
    module
        Changed in place; in evaluation mode afterwards.
    score
        Computes with it.
    lessons
        What to learn.
    descent
        How.
    workplace
        Keeps the checkpoints.
    weights
        How likely each text of each lesson is drawn as a negative; None: all are alike.
    on_progress
        Called with (steps taken, steps in all).

    Returns
    -------
    Position
        The steps taken and the sum of the losses of each epoch.

    Raises
    ------
    ModelError
        If loss or gradient is not finite: the checkpoint is forgotten; if a checkpoint cannot be read or written.
    """
    import torch  # noqa: PLC0415 - an extra, and slow to import

    trained = {name: one for name, one in module.named_parameters() if one.requires_grad}
    optimizer = torch.optim.AdamW(trained.values(), weight_decay=_WEIGHT_DECAY)
    n_steps = descent.n_steps(len(lessons))
    position = _restored(workplace, trained, optimizer)
    device = next(iter(trained.values())).device
    module.train()
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        for step in range(position.step, n_steps):
            epoch, batch = _batch(descent, lessons, step, weights)
            torch.manual_seed(int(np.random.default_rng([descent.seed, step]).integers(2**62)))
            for group in optimizer.param_groups:
                group["lr"] = descent.rate(step, n_steps)
            optimizer.zero_grad()
            scores = score(batch)
            losses = [listwise_loss(*one, of_one) for one, of_one in zip(batch, scores, strict=True)]
            loss = torch.stack(losses).mean()
            loss.backward()  # type: ignore[no-untyped-call]
            length = torch.nn.utils.clip_grad_norm_(trained.values(), _LONGEST_GRADIENT)
            if not (torch.isfinite(loss) and torch.isfinite(length)):
                workplace.discard()
                raise ModelError(
                    f"training: step {step + 1} of {n_steps}: expected a finite loss and gradient, got "
                    f"{loss.item()} and {length.item()}; nothing is kept: lower the learning rate"
                )
            optimizer.step()
            position = _after(position, epoch, loss.item() * len(batch))
            if position.step % descent.checkpoint_steps == 0 or position.step == n_steps:
                workplace.save(_tensors(trained, optimizer), position)
            if on_progress is not None:
                on_progress(position.step, n_steps)
    module.eval()
    return position


def _batch(
    descent: Descent, lessons: Sequence[Lesson], step: int, weights: Sequence[Floats] | None
) -> tuple[int, list[tuple[Lesson, NDArray[np.intp]]]]:
    """Return the epoch of a step, and its lessons with the texts that are drawn of them."""
    epoch, number = divmod(step, math.ceil(len(lessons) / descent.batch_size))
    order = np.random.default_rng([descent.seed, epoch]).permutation(len(lessons))
    batch = []
    for place in order[number * descent.batch_size : (number + 1) * descent.batch_size]:
        generator = np.random.default_rng([descent.seed, epoch, int(place)])
        likely = None if weights is None else weights[place]
        batch.append((lessons[place], drawn(lessons[place], descent.positives, descent.negatives, generator, likely)))
    return epoch, batch


def _after(position: Position, epoch: int, loss: float) -> Position:
    """Return the position after a step with this sum of losses."""
    known = (*position.losses, 0.0) if epoch == len(position.losses) else position.losses
    return Position(step=position.step + 1, losses=(*known[:-1], known[-1] + loss))


# What Adam knows of a parameter, but for the number of steps.
_MOMENTS = ("exp_avg", "exp_avg_sq")


def _tensors(trained: "dict[str, torch.nn.Parameter]", optimizer: "torch.optim.Optimizer") -> "dict[str, torch.Tensor]":
    """Return all that a step changes, by name."""
    found = {f"weights/{name}": one.detach() for name, one in trained.items()}
    for name, one in trained.items():
        state: dict[str, Any] = optimizer.state.get(one, {})  # a parameter that the loss does not reach has none
        found |= {f"{moment}/{name}": state[moment] for moment in _MOMENTS if moment in state}
    return found


def _restored(
    workplace: Workplace, trained: "dict[str, torch.nn.Parameter]", optimizer: "torch.optim.Optimizer"
) -> Position:
    """Put the last checkpoint back into parameters and optimizer, if there is one."""
    import torch  # noqa: PLC0415 - an extra, and slow to import

    kept = workplace.load()
    if kept is None:
        return Position()
    tensors, position = kept
    with torch.no_grad():
        for name, one in trained.items():
            one.copy_(tensors[f"weights/{name}"])
            moments = {moment: tensors.get(f"{moment}/{name}") for moment in _MOMENTS}
            if None not in moments.values():
                optimizer.state[one] = {
                    "step": torch.tensor(float(position.step)),
                    **{moment: value.to(one.device) for moment, value in moments.items() if value is not None},
                }
    return position
