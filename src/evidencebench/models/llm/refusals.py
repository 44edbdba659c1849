"""Turn a server's refusal into an error: try again, this request has failed, or no request can succeed."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from evidencebench.errors import EndpointError, EvidenceBenchError, FailingServerError
from evidencebench.models.http import hide_key
from evidencebench.models.llm.chat import NOTHING_USED, ChatReply, Usage
from evidencebench.web.served_json import optional_part
from evidencebench.web.transient import BusyError, TransientError, is_transient, retry_after

# The server stopped waiting for the model behind it, which may have run and may be charged.
_MAY_HAVE_RUN = frozenset({408, 504, 524})
_MAY_WITHHOLD = frozenset({400, 403})
_TOO_MANY_REQUESTS = 429
_REDIRECTS = range(300, 400)
_NO_MONEY = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "credit balance is too low")
_TOO_LONG = (
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "exceed_context_size",
    "prompt is too long",
    "maximum input length",
    "input token count",
)
_WITHHELD = (
    "content_filter",
    "content_policy_violation",
    "responsibleaipolicyviolation",
    "moderation_blocked",
    "prompt was flagged",
    "input was flagged",
    "content was flagged",
    "flagged by moderation",
)
_DO = {  # status -> advice, if the server refuses the key, the account or the model
    401: "correct the key",
    402: "see to the account at the provider",
    403: "see what the key may do at the provider",
    404: "correct the model's name or base_url",
}


def refusal_text(content: bytes) -> str:
    """Return the message and code of a refusal, or its whole text if it has another form."""
    error = _error_in(content)
    if isinstance(error, dict):
        error = " ".join(str(error[name]) for name in ("message", "code", "type") if error.get(name))
    return error if error and isinstance(error, str) else content.decode(errors="replace")


def is_withheld(status: int, content: bytes) -> bool:
    """Return whether a provider refuses a prompt for its content: then the reply is a refusal, and no failure."""
    if status not in _MAY_WITHHOLD:
        return False
    error = _error_in(content)
    told = error.get("metadata") if isinstance(error, dict) else None
    return (isinstance(told, dict) and "flagged_input" in told) or _holds(refusal_text(content), _WITHHELD)


def may_have_run(status: int) -> bool:
    """Return whether the model may have run, and be charged, for a request that was answered by this status.

    Other statuses cost nothing: 400 to 404, 413, 422 and 429 come before a model runs, 500, 502 and 503 instead.

    Source
    ------
    OpenAI and Anthropic charge for the tokens that a reply reports, so for no error. Azure's "Plan to manage costs"
    says that it may charge where processing was done, naming a content filter's 400 and a 408, and not for 401 and 429.
    A gateway's 504 (524 at Cloudflare) is its own end of waiting, behind which the model may go on.
    """
    return status in _MAY_HAVE_RUN


def withheld_reply(*, is_charged: bool = False) -> ChatReply:
    """Return the reply to a prompt that the provider does not pass on to the model; it may charge for it."""
    return ChatReply(text="", finish="refused", usage=Usage() if is_charged else NOTHING_USED)


def failure_of(
    status: int, headers: Mapping[str, str], content: bytes, *, where: str, key: str, now: datetime
) -> TransientError | EvidenceBenchError:
    """Return the error for an answer of a status other than 200; its message leaves the key out."""
    said = refusal_text(content)
    message = f"status {status}: {hide_key(said, key)}"
    if status in _REDIRECTS:
        return FailingServerError(f"{where}: status {status}: a redirect, which is not followed; correct base_url")
    if _holds(said, _NO_MONEY):
        return FailingServerError(f"{where}: {message}; see to the account at the provider, then run again")
    if status in _DO:
        return FailingServerError(f"{where}: {message}; {_DO[status]}, then run again")
    if is_transient(status):
        kind = BusyError if status == _TOO_MANY_REQUESTS else TransientError
        return kind(message, retry_after(headers, now))
    if _holds(said, _TOO_LONG):
        return EndpointError(f"{where}: {message}; set context_tokens to what the model can read, reply included")
    return EndpointError(f"{where}: {message}")


def _error_in(content: bytes) -> Any:
    found = optional_part(content, dict[str, Any])
    return None if found is None else found.get("error")


def _holds(said: str, marks: tuple[str, ...]) -> bool:
    lowered = said[:100_000].lower()
    return any(mark in lowered for mark in marks)
