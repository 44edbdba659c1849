"""Who is signed in: tokens that browsers hold, a bounded number of them."""

import secrets
from collections import OrderedDict

MOST_UNUSED = 1_000
MOST_USED = 20_000


class Sessions:
    """Token -> name of a person.

    Anybody can sign in, as often as they like. So tokens that nothing was asked with push out each other; one that was
    used goes only where ``most_used`` others were used after it.
    """

    def __init__(self, *, most_unused: int = MOST_UNUSED, most_used: int = MOST_USED) -> None:
        self._most_unused, self._most_used = most_unused, most_used
        self._unused: OrderedDict[str, str] = OrderedDict()
        self._used: OrderedDict[str, str] = OrderedDict()

    def begin(self, name: str) -> str:
        """Sign somebody in; return the token, which cannot be guessed."""
        token = secrets.token_urlsafe(32)
        self._unused[token] = name
        if len(self._unused) > self._most_unused:
            self._unused.popitem(last=False)
        return token

    def name_of(self, token: str) -> str | None:
        """Return the name of the person who holds a token, and note that it was used; None if nobody does."""
        name = self._unused.pop(token, None) or self._used.pop(token, None)
        if name is None:
            return None
        self._used[token] = name
        if len(self._used) > self._most_used:
            self._used.popitem(last=False)  # the person who was away for longest has to sign in again
        return name

    def end(self, token: str) -> None:
        """Sign out; what was picked stays."""
        self._unused.pop(token, None)
        self._used.pop(token, None)
