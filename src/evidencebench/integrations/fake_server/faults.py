"""What goes wrong on purpose: which fault a request meets, drawn so that the order of requests decides nothing."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """One way in which a server fails."""

    RATE_LIMIT = "rate_limit"
    SERVER_ERROR = "server_error"
    HANG = "hang"
    CUT = "cut"
    TRUNCATED_BODY = "truncated_body"
    MALFORMED_JSON = "malformed_json"
    WRONG_CONTENT_TYPE = "wrong_content_type"
    UNAVAILABLE = "unavailable"
    EMPTY_BODY = "empty_body"
    BAD_REQUEST = "bad_request"
    UNAUTHORIZED = "unauthorized"
    LOST_REPLY = "lost_reply"


NAMED_FAULTS = (Fault.BAD_REQUEST, Fault.UNAUTHORIZED, Fault.LOST_REPLY)
"""Faults that are drawn only where they are asked for by name.

Two no retry may try to mend. With the third the request is done and its reply lost, so that a retry does it twice.
"""

PASSING_FAULTS = tuple(fault for fault in Fault if fault not in NAMED_FAULTS)
"""Faults with which nothing is done, so that a retry is right: those drawn where no others are asked for."""


def draw(*parts: object) -> float:
    """Return a number in [0, 1) that the parts decide.

    >>> draw(0, "fault", "request", 1) == draw(0, "fault", "request", 1)
    True
    """
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan:
    """Which requests meet a fault: a share of all attempts, each kind as likely."""

    rate: float = 0.0
    kinds: tuple[Fault, ...] = PASSING_FAULTS
    seed: int = 0

    def meets(self, key: str, attempt: int) -> Fault | None:
        """Return the fault that the n-th attempt at a request meets, from 1 on, or None. Each attempt draws anew."""
        if not self.kinds or draw(self.seed, "meets", key, attempt) >= self.rate:
            return None
        return self.kinds[int(draw(self.seed, "kind", key, attempt) * len(self.kinds))]
