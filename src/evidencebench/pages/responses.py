"""The responses of the app: JSON records, and the error that refuses a request."""

from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.responses import Response

from evidencebench.pages.markup import encode_json

DATA_CHANGED = "the data file has changed since the app was started; start it again"
"""The reason that is sent where the data file is not the file that was opened."""


class RefusedError(HTTPException):
    """Refuses a request: the response has this HTTP status, and the text of the error as its reason."""


def json_response(found: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response whose body is the record as JSON."""
    return Response(encode_json(found), status, headers, "application/json")
