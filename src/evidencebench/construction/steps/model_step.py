"""A step that asks a model: drafts go in, and come out with more, or dropped."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from evidencebench.construction.draft import Draft
from evidencebench.systems.strategies.conversation import Asker

NO_REPLY = "no usable reply"
"""Why a draft is dropped whose replies came, and say nothing that can be used, however often they were asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStep:
    """What a step does with one draft; ``settings`` are what decides its outcome besides the prompts.

    ``work`` raises `UnreadableReplyError` where the draft is to be dropped as `NO_REPLY`, and `ReplyError` where a
    request failed for good, so that it is asked again in the next run.
    """

    name: str
    prompts: tuple[str, ...]
    work: Callable[[Asker, Draft], Draft]
    settings: Mapping[str, Any] = field(default_factory=dict)


def dropped(draft: Draft, reason: str, detail: str = "") -> Draft:
    """Return a draft that becomes no instance."""
    return msgspec.structs.replace(draft, dropped=reason, detail=detail)


def settings_of_asker(asker: Asker) -> dict[str, Any]:
    """Return what decides the replies of a model, besides the prompts."""
    chat = {name: value for name, value in asdict(asker.chat).items() if name not in ("key_env", "context_tokens")}
    return {**chat, "repairs": asker.repairs}
