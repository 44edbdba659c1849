"""What every client of a model's server keeps to: sound addresses and keys, when to try again, and what to show."""

import base64
import html
import ipaddress
import json
import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit

from evidencebench.errors import SystemSpecError
from evidencebench.tables import printable
from evidencebench.web.transient import TransientError

_PASSING_STATUSES = frozenset({408, 409, 425, 429})
_FIRST_SERVER_ERROR = 500
_FIRST_WAIT_SECONDS = 0.5
_KEY = re.compile("[!-~]*")
_SECONDS = re.compile(r"\s*(\d{1,12}(?:\.\d{0,9})?)\s*", re.ASCII)
_SHOWN_CHARACTERS = 200


class BusyError(TransientError):
    """The server refuses a request for now, since it got too many."""


def is_transient(status: int) -> bool:
    """Whether a status says that the next attempt may succeed."""
    return status in _PASSING_STATUSES or status >= _FIRST_SERVER_ERROR


def require_address(where: str, base_url: str, *, queries: frozenset[str] = frozenset()) -> None:
    """Raise unless an address can be asked, and can stand in a run."""
    try:
        parts = urlsplit(base_url)
        is_web = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:  # for example a port that is no number
        is_web = False
    if not is_web or not _KEY.fullmatch(base_url):
        found = "" if base_url else ", got none behind 'base_url='; set the shell variable there, or leave base_url out"
        raise SystemSpecError(f"{where}: base_url: expected an http or https address such as https://host/v1{found}")
    asked = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    has_query = bool(parts.query) and (not asked or not asked <= queries)
    if parts.username is not None or parts.password is not None or has_query or parts.fragment:
        raise SystemSpecError(
            f"{where}: base_url: expected an address without user, password, query or fragment, since it stands "
            "in the run; name the variable that holds a key with key_env"
        )


def require_key(where: str, base_url: str, *, key_env: str, key: str) -> None:
    """Raise unless a key can be sent to an address without harm."""
    if key_env and not _KEY.fullmatch(key):
        raise SystemSpecError(
            f"{where}: key_env: the key in {key_env} holds something else than visible ASCII characters, such as a "
            "line end; set it without"
        )
    if not key_env or is_loopback(base_url):
        return
    if not key:
        raise SystemSpecError(
            f"{where}: key_env: expected a key in the environment variable {key_env}, which is not set; set it, or "
            "give key_env= if the server needs none"
        )
    if urlsplit(base_url).scheme == "http":
        raise SystemSpecError(
            f"{where}: base_url: expected https, since http to another machine shows the key to all between; give "
            "key_env= if the server needs none"
        )


def is_loopback(address: str) -> bool:
    """Whether a server is on this machine."""
    return is_loopback_host(urlsplit(address).hostname or "")


def is_loopback_host(host: str) -> bool:
    """Whether only this machine reaches a host."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def requested_wait_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that a reply's headers ask to wait, 0 for at once; None where they do not say, or unreadably.

    Source
    ------
    RFC 9110, section 10.2.3: seconds, or a date. Some servers also send ``retry-after-ms``, which is finer.
    """
    if (finer := _SECONDS.fullmatch(headers.get("Retry-After-Ms", ""))) is not None:
        return float(finer[1]) / 1000
    value = headers.get("Retry-After", "")
    if (seconds := _SECONDS.fullmatch(value)) is not None:
        return float(seconds[1])
    try:
        return max(0.0, (parsedate_to_datetime(value) - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def wait_before(attempt: int, *, asked_seconds: float | None, jitter: float, longest_seconds: float) -> float:
    """Return the seconds to wait before an attempt: twice as long each time, but as long as the server asks.

    Examples
    --------
    >>> [wait_before(attempt, asked_seconds=0, jitter=0.5, longest_seconds=60) for attempt in (2, 3, 4)]
    [0.5, 1.0, 2.0]
    """
    grown = _FIRST_WAIT_SECONDS * 2.0 ** min(attempt - 2, 60) * (0.5 + jitter)
    return min(longest_seconds, max(grown, asked_seconds or 0.0))


def sendable(text: str) -> str:
    """Return text that can be sent: halves of surrogate pairs, which some readers of PDF give, become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def without_key(text: str, key: str) -> str:
    """Return a text with every form of the key in it replaced by stars.

    Examples
    --------
    >>> without_key("no such key: sk-1%2F2, or sk-1/2", "sk-1/2")
    'no such key: ***, or ***'
    """
    for form in _forms(key) if key else ():
        text = text.replace(form, "***")
    return text


def shown(text: str, key: str) -> str:
    """Return the start of what a server said, on one line and without the key."""
    return printable(without_key(text, key)[:_SHOWN_CHARACTERS])


def _forms(key: str) -> list[str]:
    """Return the spellings in which a server may repeat the key, longest first."""
    escaped = json.dumps(key)[1:-1]
    coded = {quote(key, safe=""), quote(key), quote_plus(key)}
    bases = {base64.b64encode(key.encode()).decode(), base64.urlsafe_b64encode(key.encode()).decode()}
    lower = {re.sub("%..", lambda found: found[0].lower(), form) for form in coded}
    forms = {key, repr(key)[1:-1], escaped, escaped.replace("/", "\\/"), html.escape(key), *coded, *lower, *bases}
    return sorted(forms, key=len, reverse=True)
