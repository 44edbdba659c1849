"""Ask Europe PMC's service about papers, and for the full text of those that are open access.

Source: the service's documentation, https://europepmc.org/RestfulWebService: the queries ``search`` and
``fullTextXML``.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from urllib.parse import urlencode

import msgspec

from evidencebench.errors import DownloadError, UnreadableError
from evidencebench.papers.html import is_html
from evidencebench.papers.jats import FORMAT as JATS
from evidencebench.papers.paper_ids import IdScheme, PublicId
from evidencebench.papers.read import read_content
from evidencebench.storage.reading import MOST_BYTES
from evidencebench.version import __version__
from evidencebench.web.fetch import FETCHES, ask, blocks_of, require_lasting, said_status, wrong_file
from evidencebench.web.served_json import decode_served
from evidencebench.web.transient import TransientError

BASE_URL = "https://www.ebi.ac.uk/europepmc/webservices/rest"

_MOST_SEARCH_BYTES = 4 << 20
# Before every request: one at a time and at most five a second burden nobody.
_PAUSE_SECONDS = 0.2
_PMCID = re.compile(r"PMC[1-9][0-9]{0,9}")


class FoundPaper(msgspec.Struct, frozen=True, kw_only=True):
    """What the service knows of a paper, by the service's own names of the fields."""

    pmcid: str | None = None
    doi: str | None = None
    pmid: str | None = None
    title: str = ""
    license: str | None = None
    is_open_access: str = msgspec.field(default="N", name="isOpenAccess")

    def has(self, wanted: PublicId) -> bool:
        """Say whether the paper has an id; the service may find others too."""
        own = {IdScheme.PMCID: self.pmcid, IdScheme.DOI: self.doi, IdScheme.PMID: self.pmid}[wanted.scheme]
        return own is not None and own.lower() == wanted.value.lower()


class _Results(msgspec.Struct):
    result: list[FoundPaper]


class _Search(msgspec.Struct):
    results: _Results = msgspec.field(name="resultList")


@dataclass(frozen=True, slots=True, kw_only=True)
class EuropePmc:
    """The service at an address: ``attempts`` at each request, waits between them, ``most_bytes`` of a full text."""

    base_url: str = BASE_URL
    timeout_seconds: float = 30.0
    attempts: int = 4
    most_bytes: int = MOST_BYTES
    sleep: Callable[[float], object] = time.sleep

    def search_address(self, wanted: PublicId) -> str:
        """Return the address that is asked about a paper."""
        query = {
            IdScheme.PMCID: f"PMCID:{wanted.value}",
            IdScheme.DOI: f'DOI:"{wanted.value}"',
            IdScheme.PMID: f"EXT_ID:{wanted.value} AND SRC:MED",
        }[wanted.scheme]
        return f"{self._base}/search?{urlencode({'query': query, 'resultType': 'core', 'format': 'json'})}"

    def full_text_address(self, pmcid: str) -> str:
        """Return the address of a paper's full text."""
        return f"{self._base}/{pmcid}/fullTextXML"

    def open_paper(self, wanted: PublicId) -> FoundPaper:
        """Return the open-access paper of an id, which has a PMCID."""
        address = self.search_address(wanted)
        content = self._content(address, _MOST_SEARCH_BYTES, "the result of a search")
        try:
            found = decode_served(content, _Search).results.result
        except msgspec.DecodeError as error:
            got = "a web page" if is_html(content) else f"something else ({error})"
            raise wrong_file(_shown(address), "the JSON of a search", got, _CHECK_URL) from error
        papers = [paper for paper in found if paper.has(wanted)]
        if not papers:
            raise DownloadError(f"{wanted}: Europe PMC knows no such paper; check the id")
        in_pmc = [paper for paper in papers if _PMCID.fullmatch(paper.pmcid or "")]
        if not in_pmc:
            raise DownloadError(f"{wanted}: it is not in PubMed Central, so that Europe PMC has no full text of it")
        for paper in in_pmc:
            if paper.is_open_access == "Y":
                return paper
        raise DownloadError(
            f"{wanted}: it is not open access; Europe PMC hands out the full text of open-access papers only"
        )

    def full_text(self, pmcid: str) -> bytes:
        """Return the XML of a paper's full text; raises as `open_paper`."""
        address = self.full_text_address(pmcid)
        content = self._content(address, self.most_bytes, _FULL_TEXT)
        if is_html(content):
            raise wrong_file(address, f"an article in {JATS}", "a web page", _CHECK_URL)
        try:
            paper = read_content(content, name=address)
        except UnreadableError as error:  # it is cut off, holds metadata only, or is no paper
            raise DownloadError(str(error)) from error
        if paper.format != JATS:
            raise wrong_file(address, f"an article in {JATS}", paper.format, _CHECK_URL)
        if paper.ids.get("pmcid", pmcid) != pmcid:
            raise wrong_file(address, pmcid, paper.ids["pmcid"], _CHECK_URL)
        return content

    @property
    def _base(self) -> str:
        return self.base_url.rstrip("/")

    def _content(self, address: str, most_bytes: int, what: str) -> bytes:
        retry = replace(FETCHES, max_attempts=self.attempts, sleep=self.sleep)
        return retry.call(lambda _: self._content_once(address, most_bytes, what))

    def _content_once(self, address: str, most_bytes: int, what: str) -> bytes:
        """Return the whole body of one answer."""
        self.sleep(_PAUSE_SECONDS)
        headers = {"User-Agent": f"evidencebench/{__version__}", "Accept-Encoding": "identity"}
        with ask(address, headers, self.timeout_seconds, may_leave_host=False) as response:
            require_lasting(response)
            if response.status != HTTPStatus.OK:
                is_absent = what == _FULL_TEXT and response.status == HTTPStatus.NOT_FOUND
                advice = _NO_XML if is_absent else _CHECK_URL
                raise wrong_file(_shown(address), what, f"the answer {said_status(response)}", advice)
            total, content = response.length, bytearray()
            if total is not None and total > most_bytes:
                raise _too_long(address, most_bytes)
            for block in blocks_of(response):
                content += block
                if len(content) > most_bytes:
                    raise _too_long(address, most_bytes)
        if total is not None and len(content) < total:
            raise TransientError(f"the connection ended after {len(content):,} of {total:,} bytes")
        return bytes(content)


_FULL_TEXT = "the full text"
_NO_XML = "the service has no XML of it: get its PDF from the publisher"
_CHECK_URL = "check the network and --base-url, or try later"


def _too_long(address: str, most_bytes: int) -> DownloadError:
    return wrong_file(_shown(address), f"at most {most_bytes:,} bytes", "more", _CHECK_URL)


def _shown(address: str) -> str:
    """Return an address without what is asked there, which is the paper that the message is about."""
    return address.partition("?")[0]
