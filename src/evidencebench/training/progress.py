"""How a training says how far it is."""

from typing import Protocol


class TrainingProgress(Protocol):
    """Is called with what is done of all; ``doing`` says of what, such as ``"fitting trees"``, in work of parts."""

    def __call__(self, n_done: int, n_all: int, doing: str = "", /) -> None:
        """Take how far it is."""
        ...
