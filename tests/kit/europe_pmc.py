"""A loopback server that answers as Europe PMC does, and breaks in a test's own way where a path has a script."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kit.hostile_server import Behaviour, Exchange, HostileServer, answer, hostile_server

OPEN: dict[str, Any] = {
    "id": "16162290",
    "source": "MED",
    "pmid": "16162290",
    "pmcid": "PMC1280405",
    "doi": "10.1186/1471-2458-5-99",
    "title": "Tea and blood pressure: a trial.",
    "isOpenAccess": "Y",
    "inEPMC": "Y",
    "license": "cc by",
}
OTHER = OPEN | {"id": "2", "pmid": "2", "pmcid": "PMC22", "doi": "10.1000/Two", "title": "Coffee.", "license": None}
CLOSED = OPEN | {"id": "3", "pmid": "3", "pmcid": "PMC33", "doi": "10.1000/three", "isOpenAccess": "N"}
ABSTRACT_ONLY = {"id": "4", "source": "MED", "pmid": "4", "doi": "10.1000/four", "title": "Four", "isOpenAccess": "N"}
KNOWN = (OPEN, OTHER, CLOSED, ABSTRACT_ONLY)

PREFIX = "/europepmc/webservices/rest"


def article(title: str, *, pmcid: str = "") -> bytes:
    own_id = f'<article-id pub-id-type="pmcid">{pmcid}</article-id>' if pmcid else ""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<article><front><article-meta>{own_id}'
        f"<title-group><article-title>{title}</article-title></title-group>"
        "<abstract><p>We asked whether tea lowers pressure.</p></abstract></article-meta>"
        "</front><body><sec><title>Results</title><p>Pressure fell by 3 mmHg.</p></sec></body></article>"
    ).encode()


def search(found: Sequence[Mapping[str, Any]]) -> Behaviour:
    """Answer as a search that found these."""
    reply = {"version": "6.9", "hitCount": len(found), "request": {}, "resultList": {"result": list(found)}}
    return answer(200, json.dumps(reply).encode(), Content_Type="application/json;charset=UTF-8")


def _matching(query: str) -> list[Mapping[str, Any]]:
    return [
        one
        for one in KNOWN
        if query
        in {f"PMCID:{one.get('pmcid')}", f'DOI:"{str(one.get("doi")).lower()}"', f"EXT_ID:{one['id']} AND SRC:MED"}
    ]


def _usual(path: str) -> Behaviour:
    """Return what the service answers to a path."""
    parts = urlsplit(path)
    if parts.path == f"{PREFIX}/search":
        asked = parse_qs(parts.query)
        if (asked["format"], asked["resultType"]) != (["json"], ["core"]):
            return answer(400, b"expected JSON of core results")
        return search(_matching(asked["query"][0]))
    for one in (OPEN, OTHER):
        if parts.path == f"{PREFIX}/{one['pmcid']}/fullTextXML":
            return answer(200, article(one["title"], pmcid=one["pmcid"]), Content_Type="application/xml")
    return answer(404, b'{"errCode":404}')


@contextmanager
def europe_pmc(*script: tuple[str, Behaviour]) -> Iterator[HostileServer]:
    """Run the service until the block ends.

    The script's entries, each used once and in turn, say how a request is answered whose path holds a text.
    """
    left = list(script)

    def behave(exchange: Exchange) -> None:
        path = exchange.asked.path
        for number, (part, behaviour) in enumerate(left):
            if part in path:
                del left[number]
                return behaviour(exchange)
        return _usual(path)(exchange)

    with hostile_server(b"", behave, etag=None) as server:
        yield server


def base_url(server: HostileServer) -> str:
    return server.address(PREFIX.lstrip("/"))
