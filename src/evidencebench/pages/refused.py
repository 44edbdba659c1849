"""What the app answers where it does not do what it is asked: a status and a reason."""

DATA_CHANGED = "the data file has changed since the app was started; start it again"
"""The reason where the data file is not the one that was opened."""


class RefusedError(Exception):
    """A request that is answered with an HTTP status and a reason in words."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
