"""The response to a request that fails: a status and a message without any path of this machine."""

import logging
from collections.abc import Mapping

from evidencebench.errors import ChangedDataError, FinalError, PeopleError, RunError, StaleError, UnopenedError
from evidencebench.pages.responses import DATA_CHANGED, RefusedError
from evidencebench.runs.people.people_folder import PeopleFolder

_log = logging.getLogger(__name__)


def refusal(error: Exception, people: PeopleFolder) -> tuple[int, Mapping[str, object]]:
    """Return a status and what the browser is told; the whole message of a server's fault goes to the terminal."""
    details: Mapping[str, object] = {}  # what the page goes on from, where another tab of the same person was first
    match error:
        case RefusedError():
            status, words = error.status, str(error)
        case FinalError():
            status, words, details = 409, str(error), {"is_final": True}
        case StaleError():
            status, words, details = 409, str(error), {"sentences": error.sentences, "revision": error.revision}
        case UnopenedError():
            status, words = 409, str(error)
        case PeopleError():
            status, words = 400, str(error)
        case RunError():
            status, words = 503, people.without_folder(str(error))
        case ChangedDataError():
            status, words = 503, DATA_CHANGED
        case _:  # of the data, and such a message may name an aspect
            status, words = 500, "this paper cannot be offered: 'evidencebench data validate' says why"
    if status >= 500:  # noqa: PLR2004 - what is not the browser's fault
        _log.warning("%s", error)
    return status, {"error": words, **details}
