"""How a fake server behaves, and what it bears from a client."""

from dataclasses import dataclass
from pathlib import Path

from evidencebench.integrations.fake_server.faults import PASSING_FAULTS, Fault
from evidencebench.integrations.fake_server.personalities import Personality


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a fake server behaves; rates are shares from 0 to 1."""

    personality: Personality = Personality.ORACLE  # unless a request's model is named like another one
    fault_rate: float = 0.0  # of attempts
    fault_kinds: tuple[Fault, ...] = PASSING_FAULTS
    seed: int = 0  # of everything that is drawn
    latency_seconds: float = 0.0  # of each reply, at least
    hang_seconds: float = 30.0  # of silence with the fault `hang`, before the connection is cut
    retry_after_seconds: float = 0.05  # asked for with the faults `rate_limit` and `unavailable`
    batch_delay_seconds: float = 0.0  # of each batch
    expire_rate: float = 0.0  # of the rows of batches
    refuse_rate: float = 0.0  # of prompts, whatever the personality
    repairable: bool = False  # whether `wrong_format` and `truncated` answer rightly in a follow-up turn
    log: Path | None = None  # gets a line of JSON a request


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """What a client may ask of a connection."""

    max_head_bytes: int = 1 << 14  # request line and headers
    max_body_bytes: int = 256 << 20  # a provider's longest batch
    idle_seconds: float = 120.0  # between two requests
    request_seconds: float = 60.0  # from a request's first byte to its last
    write_seconds: float = 60.0  # until the client takes a reply, or a piece of one
