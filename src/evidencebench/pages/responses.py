"""The responses of the app: JSON, or the reason of a refusal."""

from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.responses import Response

from evidencebench.pages.markup import encoded

DATA_CHANGED = "the data file has changed since the app was started; start it again"
"""The reason where the data file is not the one that was opened."""


class RefusedError(HTTPException):
    """A request that is answered with an HTTP status and a reason in our own words."""


def json_response(found: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a record as a response."""
    return Response(encoded(found), status, headers, "application/json")
