"""How a fake server behaves: plain numbers, all of them optional."""

from dataclasses import dataclass
from pathlib import Path

from evidencebench.integrations.fake_server.faults import PASSING_FAULTS, Fault
from evidencebench.integrations.fake_server.personalities import Personality


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a fake server behaves.

    Attributes
    ----------
    personality
        How the model answers, unless a request's model is named like a personality.
    faults
        Share of attempts, 0 to 1, that meet a fault.
    fault_kinds
        The faults that are drawn, each as likely.
    seed
        Of everything that is drawn.
    latency_seconds
        How long a reply takes at least.
    hang_seconds
        How long the fault ``hang`` says nothing before the connection is cut.
    retry_after_seconds
        What the faults ``rate_limit`` and ``unavailable`` ask the client to wait.
    batch_delay_seconds
        How long a batch takes.
    batch_expire
        Share of the rows of batches, 0 to 1, that expire.
    refuse_rate
        Share of prompts, 0 to 1, that are refused whatever the personality.
    repairable
        Whether `wrong_format` and `truncated` answer rightly in a follow-up turn.
    log
        File that gets a line of JSON a request; None: no file.
    """

    personality: Personality = Personality.ORACLE
    faults: float = 0.0
    fault_kinds: tuple[Fault, ...] = PASSING_FAULTS
    seed: int = 0
    latency_seconds: float = 0.0
    hang_seconds: float = 30.0
    retry_after_seconds: float = 0.05
    batch_delay_seconds: float = 0.0
    batch_expire: float = 0.0
    refuse_rate: float = 0.0
    repairable: bool = False
    log: Path | None = None
