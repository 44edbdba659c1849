"""The routes of the viewer: its list of papers, a paper, and the list as a CSV file."""

import csv
import io
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from evidencebench.decoding import prepared
from evidencebench.errors import ChangedDataError, EvidenceBenchError
from evidencebench.pages.app.list import ListQuery, Number, Positions, matches_of
from evidencebench.pages.app.search import BackgroundScan, hits_in
from evidencebench.pages.app.server import DATA_CHANGED, Address, RefusedError, json_response, page_app, static_route
from evidencebench.pages.html import encode_json, report_parts
from evidencebench.pages.paper import ListRow
from evidencebench.pages.viewer import ViewerData
from evidencebench.tables import safe_cell

# The list as it is found, as comma-separated values: every paper with the recall of every system on one task.
_FIELDS = ("position", "id", "paper_id", "hypothesis", "n_sentences", "n_aspects", "n_results")


def _csv_line(cells: Iterable[object]) -> bytes:
    line = io.StringIO()
    csv.writer(line).writerow([safe_cell(cell) if isinstance(cell, str) else cell for cell in cells])
    return line.getvalue().encode(errors="replace")


# The routes of the app: one HTML page, its script and style, and the JSON that its script asks for.

_log = logging.getLogger(__name__)


def make_app(viewed: ViewerData, scan: BackgroundScan, *, address: Address) -> ASGIApp:
    pages = _Pages(viewed=viewed, scan=scan)
    shared = encode_json(report_parts()).decode()  # of a paper that is shared as a report
    routes = [
        static_route("/api/page_parts", shared, "application/json"),
        Route("/api/overview", pages.overview),
        Route("/api/rows", pages.rows),
        Route("/api/papers.csv", pages.list_file),
        Route("/api/instances", pages.instance),
        Route("/api/exchanges", pages.exchanges),
    ]
    return page_app(viewed.title, routes, source="server", address=address)


class _Instance(msgspec.Struct, frozen=True, kw_only=True):
    """What an address asks of one instance: its id, or where that is too long, its position."""

    id: str | None = None
    position: Number | None = None
    system: Number = 0
    task: Number = 0


_Shape = TypeVar("_Shape", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pages:
    viewed: ViewerData
    scan: BackgroundScan

    def overview(self, request: Request) -> Response:  # noqa: ARG002 - starlette's signature
        return json_response(self.viewed.overview())

    def rows(self, request: Request) -> Response:
        listing = self._read_listing(request)
        with self.scan.paused():
            columns = self.scan.columns
            # Read first: the scan may go on during the search.
            n_scored, n_searched = columns.n_known, self.scan.search.n_searched
            positions, told = self._matches(listing)
            has_hits = listing.where != "hypothesis" and listing.q not in self.viewed.dataset
            part = positions[listing.offset : listing.offset + listing.n].tolist()
            return json_response(
                {
                    "n_found": len(positions),
                    "n_without_results": int((columns.n_results[positions] == 0).sum()),
                    **told,
                    "rows": [self._row(position, listing.q if has_hits else "") for position in part],
                    "n_searched": n_searched,
                    "n_scored": n_scored,
                    "n_instances": len(columns),
                }
            )

    def list_file(self, request: Request) -> Response:
        listing = self._read_listing(request)
        columns = self.scan.columns
        if columns.n_known < len(columns) or (listing.q and self.scan.search.n_searched < len(columns)):
            raise RefusedError(409, "not all papers are read yet; ask again when the list says no more 'so far'")
        task = listing.task or 0
        positions, _ = self._matches(listing)

        def lines() -> Iterator[bytes]:
            task_name, systems = self.viewed.tasks[task].name, self.viewed.overview().systems
            yield _csv_line([*_FIELDS, *(f"{system.label}, {task_name}" for system in systems)])
            for position in positions.tolist():
                row = self._row(position, "")
                yield _csv_line(
                    [*(getattr(row, name) for name in _FIELDS), *(recalls[task] for recalls in row.recalls)]
                )

        name = {"Content-Disposition": 'attachment; filename="papers.csv"'}
        return StreamingResponse(lines(), media_type="text/csv", headers=name)

    def instance(self, request: Request) -> Response:
        dataset = self.viewed.dataset
        asked = _read_asked(request, _Instance)
        instance_id = asked.id
        if instance_id is None:
            if asked.position is None or asked.position >= len(dataset):
                raise RefusedError(400, f"expected the id of a paper, or a position below {len(dataset)}")
            instance_id = dataset.ids[asked.position]
        if instance_id not in dataset:
            raise RefusedError(404, f"there is no paper '{instance_id[:200]}' in {dataset.name}")
        with self.scan.paused():
            try:
                return json_response(self.viewed.record(self.scan.positions[instance_id], dataset[instance_id]))
            except ChangedDataError:
                raise RefusedError(503, DATA_CHANGED) from None
            except EvidenceBenchError as error:
                _log.warning("%s: %s", instance_id, error)
                # The browser need not know the file's path, so the message gets the data set's name in its place.
                return json_response({"error": str(error).replace(str(dataset.path), dataset.name)}, 500)

    def exchanges(self, request: Request) -> Response:
        asked, viewed = _read_asked(request, _Instance), self.viewed
        instance_id = asked.id or ""
        if instance_id not in viewed.dataset or asked.system >= len(viewed.systems) or asked.task >= len(viewed.tasks):
            raise RefusedError(404, "there is no such paper, system or task")
        with self.scan.paused():
            return json_response(viewed.asked(instance_id, asked.system, asked.task))

    def _read_listing(self, request: Request) -> ListQuery:
        listing = _read_asked(request, ListQuery)
        if (listing.task or 0) >= len(self.viewed.tasks):
            raise RefusedError(400, f"task: expected a number below {len(self.viewed.tasks)}")
        if max(listing.a or 0, listing.b or 0) >= len(self.viewed.systems):
            raise RefusedError(400, f"a, b: expected numbers below {len(self.viewed.systems)}")
        return listing

    def _matches(self, listing: ListQuery) -> tuple[Positions, Mapping[str, object]]:
        # The whole id of an instance finds that instance only, not all that share its words.
        is_id = listing.q in self.viewed.dataset
        searched = [self.scan.positions[listing.q]] if is_id else self.scan.search.find(listing.q, listing.where)
        return matches_of(self.scan.columns, listing, searched)

    def _row(self, position: int, text: str) -> ListRow:
        dataset, columns = self.viewed.dataset, self.scan.columns
        known = columns.grades_at(position)
        try:
            instance = dataset[position]
            row = self.viewed.row(position, instance, known)
        except ChangedDataError:
            raise RefusedError(503, DATA_CHANGED) from None
        except EvidenceBenchError:  # the instance's own page shows the error
            return ListRow(
                position=position,
                id=dataset.ids[position],
                paper_id="",
                hypothesis="(this paper cannot be shown)",
                n_sentences=0,
                n_aspects=None,
                n_results=None,
                recalls=tuple((None,) * len(self.viewed.tasks) for _ in self.viewed.systems),
                unanswered=({},) * len(self.viewed.tasks),
                found=((),) * len(self.viewed.tasks),
            )
        if known is None:
            columns.set(row)
        return msgspec.structs.replace(row, hits=hits_in(instance.query.sentences, text)) if text else row


def _read_asked(request: Request, shape: type[_Shape]) -> _Shape:
    try:
        return msgspec.convert(dict(request.query_params), prepared(shape), strict=False)
    except msgspec.ValidationError as error:
        raise RefusedError(400, f"the address asks what cannot be: {error}") from error
