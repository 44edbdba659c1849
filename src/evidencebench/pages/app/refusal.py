"""What people's pages are told where something is refused: a status and words, and no place on this machine."""

import logging
from collections.abc import Mapping

from evidencebench.errors import ChangedDataError, FinalError, PeopleError, RunError, StaleError, UnopenedError
from evidencebench.pages.app.visibility import CHANGED
from evidencebench.runs.people.folder import PeopleFolder

_log = logging.getLogger(__name__)


class RefusedError(Exception):
    """A request that is answered with a status and a reason, in words."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def refusal(error: Exception, people: PeopleFolder) -> tuple[int, Mapping[str, object]]:
    """Return a status and what a browser is told; where things lie on this machine is told on the terminal only."""
    status, words = 500, "this paper cannot be offered: 'evidencebench data validate' says why"
    match error:
        case RefusedError():
            status, words = error.status, str(error)
        case FinalError() | StaleError() | UnopenedError():
            status, words = 409, str(error)
        case PeopleError():
            status, words = 400, str(error)
        case RunError():
            status, words = 503, people.without_folder(str(error))
        case ChangedDataError():
            status, words = 503, CHANGED
        case _:  # of the data, and such a message may name an aspect
            pass
    if status >= 500:  # noqa: PLR2004 - what is not the browser's fault
        _log.warning("%s", error)
    return status, {"error": words, **_details(error)}


def _details(error: Exception) -> Mapping[str, object]:
    """Return what the page goes on from, where another tab of the same person was first."""
    match error:
        case FinalError():
            return {"is_final": True}
        case StaleError():
            return {"sentences": error.sentences, "revision": error.revision}
        case _:
            return {}
