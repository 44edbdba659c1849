"""The app of tasks that people answer: its page, script and style, and the routes of the tasks."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from evidencebench.errors import EvidenceBenchError
from evidencebench.pages.annotating.task_pages import TaskPages
from evidencebench.pages.app.security import SecuredApp
from evidencebench.pages.app.serving import Address
from evidencebench.pages.app.static import answer_failure, answer_refusal, icon_route, page_without_data, static_route
from evidencebench.pages.viewer.page_parts import TASK_SCRIPTS, TASK_STYLES, script, style


def make_task_app(pages: TaskPages, *, address: Address) -> ASGIApp:
    """Return the app with its security checks; ``address`` is where it is served."""

    async def first(request: Request) -> Response:  # noqa: ARG001 - starlette's signature
        return Response(page_without_data(str(pages.about["title"]), source="tasks"), media_type="text/html")

    app = Starlette(
        routes=[
            Route("/", first),
            static_route("/static/app.js", script(TASK_SCRIPTS), "text/javascript"),
            static_route("/static/app.css", style(TASK_STYLES), "text/css"),
            icon_route(),
            *pages.routes(),
        ],
        exception_handlers={
            HTTPException: answer_refusal,
            EvidenceBenchError: pages.answer_error,
            Exception: answer_failure,
        },
    )
    app.router.redirect_slashes = False  # a wrong path gets 404, never a redirect
    return SecuredApp(app, address)
