"""Who is signed in: random tokens, kept by browsers as cookies. Their number is bounded."""

import secrets
from collections import OrderedDict

MOST_UNUSED = 1_000
MOST_USED = 20_000


class Sessions:
    """Maps a token to the name of a person.

    Anybody can sign in, as often as they like, so old tokens are dropped. Of the tokens that were never used, the
    newest ``most_unused`` are kept; of the used ones, the ``most_used`` that were used last.
    """

    def __init__(self, *, most_unused: int = MOST_UNUSED, most_used: int = MOST_USED) -> None:
        self._most_unused, self._most_used = most_unused, most_used
        self._unused: OrderedDict[str, str] = OrderedDict()
        self._used: OrderedDict[str, str] = OrderedDict()

    def begin(self, name: str) -> str:
        """Sign a person in; return a new token, which cannot be guessed."""
        token = secrets.token_urlsafe(32)
        self._unused[token] = name
        if len(self._unused) > self._most_unused:
            self._unused.popitem(last=False)
        return token

    def name_of(self, token: str) -> str | None:
        """Return the person's name of a token, and count the token as used; None where the token is unknown."""
        name = self._unused.pop(token, None) or self._used.pop(token, None)
        if name is None:
            return None
        self._used[token] = name
        if len(self._used) > self._most_used:
            self._used.popitem(last=False)  # the person who was away longest has to sign in again
        return name

    def end(self, token: str) -> None:
        """Sign the person of a token out; their picks are kept."""
        self._unused.pop(token, None)
        self._used.pop(token, None)
