"""Settings of a fake server: how its model answers, which requests fail, and how long replies take."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self


class Personality(StrEnum):
    """A way to answer prompts; ``meaning`` describes it on one line."""

    meaning: str

    def __new__(cls, name: str, meaning: str = "") -> Self:
        """Make a member from its name and its meaning."""
        member = str.__new__(cls, name)
        member._value_, member.meaning = name, meaning
        return member

    ORACLE = "oracle", "the best selection, by the labels"
    LEAD = "lead", "the first that are shown; equal scores; paper order"
    RANDOM = "random", "sentences drawn by seed and prompt"
    VERBOSE = "verbose", "the oracle's, behind reasoning with numbers and false lists"
    RANGES = "ranges", "the oracle's, written as ranges such as 3-5"
    QUOTES = "quotes", "the oracle's, quoting sentences instead of numbers"
    WRONG_FORMAT = "wrong_format", "prose without a list"
    REFUSES = "refuses", "a refusal"
    EMPTY = "empty", "an answer that names nothing"
    SILENT = "silent", "no text at all"
    OVER_LENGTH = "over_length", "more than the budget; in a follow-up turn the oracle's"
    OUT_OF_RANGE = "out_of_range", "the oracle's and a sentence that the paper does not have"
    DUPLICATES = "duplicates", "the oracle's, each sentence twice"
    TRUNCATED = "truncated", "the beginning of the reasoning, cut by length"
    MIXED = "mixed", "one of the others for each prompt, drawn by seed"


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

A client must not retry the first two. With the third, the request is paid and its reply lost: a retry pays twice.
"""

PASSING_FAULTS = tuple(fault for fault in Fault if fault not in NAMED_FAULTS)
"""Faults after which a client should retry, since nothing was paid; these are drawn by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a fake server; rates are shares from 0 to 1, and the seed decides everything that is drawn.

    A request whose model is the name of a personality is answered by that one. The fault ``hang`` lasts
    ``hang_seconds``; ``rate_limit`` and ``unavailable`` ask for a wait of ``retry_after_seconds``. ``repairable`` says
    whether ``wrong_format`` and ``truncated`` are right in a follow-up turn. The log gets a line a request.
    """

    personality: Personality = Personality.ORACLE
    fault_rate: float = 0.0  # the share of attempts that meet a fault
    fault_kinds: tuple[Fault, ...] = PASSING_FAULTS  # each is equally likely
    seed: int = 0
    latency_seconds: float = 0.0  # the least time of each reply
    hang_seconds: float = 30.0
    retry_after_seconds: float = 0.05
    batch_delay_seconds: float = 0.0  # the least time of each batch
    expire_rate: float = 0.0  # the share of the rows of batches that expire
    refuse_rate: float = 0.0  # the share of prompts that are refused, whatever the personality
    repairable: bool = False
    log: Path | None = None

    def fault_met(self, key: str, attempt: int) -> Fault | None:
        """Return the fault of an attempt at a request, or None; ``attempt`` counts from 1."""
        if not self.fault_kinds or self.draw("meets", key, attempt) >= self.fault_rate:
            return None
        return self.fault_kinds[int(self.draw("kind", key, attempt) * len(self.fault_kinds))]

    def draw(self, *parts: object) -> float:
        """Return a number in [0, 1), the same for the same parts and seed."""
        digest = hashlib.sha256("\x1f".join(map(str, (self.seed, *parts))).encode()).digest()
        return int.from_bytes(digest[:6], "big") / 2**48
