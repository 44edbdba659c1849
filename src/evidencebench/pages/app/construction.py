"""The routes of `construct show --open`: the drafts of a construction, and edits, each kept at once."""

import threading
from collections.abc import Callable
from datetime import datetime

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from evidencebench.construction.draft import STEP_FILES
from evidencebench.construction.edits import Edit, add_edit
from evidencebench.errors import DataError, EvidenceBenchError, StaleError
from evidencebench.pages.app.server import Address, RefusedError, decode, json_response, page_app, saved_response
from evidencebench.pages.construction import DraftRecord, ShownConstruction, laid_over
from evidencebench.pages.html import CONSTRUCTION_STYLES
from evidencebench.tables import printable
from evidencebench.wording import counted, without_folders

_MARKED_AT = next(step for step in ("recheck", "judge") if step in STEP_FILES)  # the step that decides the sources


class _Sent(Edit, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that a person wants changed of what a step made."""

    seen: str  # `DraftRecord.revision`


def make_construction_app(
    opened: Callable[[], ShownConstruction], *, run: str, now: Callable[[], datetime], address: Address
) -> ASGIApp:
    """Return the app; ``opened`` reads the files anew, ``run`` is the command that takes edits up."""
    lock = threading.Lock()

    def show_all(request: Request) -> Response:  # noqa: ARG001 - starlette's signature
        shown = opened()
        n = shown.n_stale
        told = ""
        if n:
            told = f"{counted(n, 'draft')} to be made again: “{run}” makes only what depends on edits."
        return json_response({**shown.overview(), "is_editable": True, "next": told, "marked_at": _MARKED_AT})

    def show_draft(request: Request) -> Response:
        return json_response(_record(opened(), request.query_params.get("id", "")))

    def keep(request: Request) -> Response:
        sent = decode(request.state.body, _Sent)
        return saved_response(lambda: edited(sent), lambda: {"record": _record(opened(), sent.id)})

    def edited(sent: _Sent) -> DraftRecord:
        with lock:
            shown = opened()
            if sent.seen != _record(shown, sent.id).revision:
                raise StaleError(
                    "This draft was changed meanwhile: it is shown as it is now, and your last change was not saved."
                )
            fields = {name: getattr(sent, name) for name in Edit.__struct_fields__}
            edit = Edit(**{**fields, "by": printable(sent.by), "at": f"{now():%Y-%m-%d %H:%M}", "crc": None})
            _, draft = shown.draft(edit.id)
            try:
                laid_over(draft, edit)
                add_edit(shown.work, edit)
            except DataError as error:
                raise RefusedError(400, without_folders(str(error))) from error
            if edit.step == "aspects":  # what was said of other aspects is void
                for other in (other for other in shown.edits_of(edit.id) if other.step != edit.step):
                    add_edit(shown.work, replace(other, aspects=None, sources=None, results=None))
        return _record(opened(), sent.id)

    return page_app(
        f"Construction in {opened().work.resolve().name}",
        [
            Route("/api/construction", show_all),
            Route("/api/construction/draft", show_draft),
            Route("/api/construction/edit", keep, methods=["POST"]),
        ],
        source="construction",
        address=address,
        module="construction",
        styles=CONSTRUCTION_STYLES,
        errors={EvidenceBenchError: lambda _, error: json_response({"error": without_folders(str(error))}, 503)},
    )


def _record(shown: ShownConstruction, draft_id: str) -> DraftRecord:
    if draft_id not in shown.numbers:
        raise RefusedError(404, "there is no such draft")
    return shown.record(draft_id)
