"""Failures of the network that the next attempt may not meet."""


class TransientError(Exception):
    """A failure that may be gone next time; ``wait_seconds`` is what the server asked for, None if nothing."""

    def __init__(self, message: str, wait_seconds: float | None = None) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds
