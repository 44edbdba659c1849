"""Failures of the network that the next attempt may not meet."""


class TransientError(Exception):
    """A failure that the next attempt may not meet; ``wait_seconds``: the wait that the server asked for, or None."""

    def __init__(self, message: str, wait_seconds: float | None = None) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds
