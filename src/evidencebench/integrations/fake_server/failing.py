"""How each fault looks to the client."""

from evidencebench.integrations.fake_server import anthropic_wire
from evidencebench.integrations.fake_server.connection import JSON_TYPE, Connection, Reply
from evidencebench.integrations.fake_server.faults import Fault
from evidencebench.integrations.fake_server.routes import json_reply
from evidencebench.integrations.fake_server.settings import Settings
from evidencebench.integrations.fake_server.wires import Wire

_BROKEN = b'{"id":"chatcmpl-broken","choices":[{"index":0,"message":{"role":"assistant","content":"These sentences'
_MISSING = b' are it."}}]}'
_PAGE = b"<!doctype html>\n<html><head><title>Welcome</title></head><body>Please sign in.</body></html>\n"

_STATUSES = {
    Fault.RATE_LIMIT: (429, "Rate limit reached; please try again later."),
    Fault.SERVER_ERROR: (500, "The server had an error while processing your request."),
    Fault.UNAVAILABLE: (503, "The engine is currently overloaded; please try again later."),
    Fault.BAD_REQUEST: (400, "This model's maximum context length is shorter than your messages."),
    Fault.UNAUTHORIZED: (401, "Incorrect API key provided."),
}
_WITH_WAIT = frozenset({Fault.RATE_LIMIT, Fault.UNAVAILABLE})


async def fail(connection: Connection, fault: Fault, wire: Wire, settings: Settings, *, request_id: str) -> None:
    """Let a client meet a fault.

    Parameters
    ----------
    connection
        The client's.
    fault
        Which one.
    wire
        The protocol whose errors it knows.
    settings
        How long it hangs and asks to wait.
    request_id
        Sent with the error.
    """
    if fault in _STATUSES:
        await connection.send(_error(fault, wire, settings, request_id))
    elif fault is Fault.HANG:
        await connection.stays(settings.hang_seconds)
        connection.cut()
    elif fault in {Fault.CUT, Fault.LOST_REPLY}:
        connection.cut()
    elif fault is Fault.TRUNCATED_BODY:
        await connection.send_beginning(Reply(body=_BROKEN + _MISSING), len(_BROKEN))
    else:
        await connection.send(_WRONG_REPLIES[fault])


_WRONG_REPLIES = {
    Fault.MALFORMED_JSON: Reply(body=_BROKEN),
    Fault.WRONG_CONTENT_TYPE: Reply(body=_PAGE, content_type="text/html; charset=utf-8"),
    Fault.EMPTY_BODY: Reply(body=b"", content_type=JSON_TYPE),
}


def _error(fault: Fault, wire: Wire, settings: Settings, request_id: str) -> Reply:
    status, message = _STATUSES[fault]
    if fault is Fault.UNAVAILABLE and wire is anthropic_wire:
        status = anthropic_wire.OVERLOADED
    headers = {"x-request-id": request_id}
    if fault in _WITH_WAIT:
        seconds = settings.retry_after_seconds
        headers |= {"retry-after": f"{int(seconds)}", "retry-after-ms": f"{round(seconds * 1000)}"}
    body = json_reply(wire.error(message, status, param=None, request_id=request_id), status).body
    return Reply(status=status, body=body, headers=headers)
