"""Papers fetched from a service that lies, hangs and errs: a file is whole or absent, and each failure says why."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doors import DataError, EuropePmc, FailingServerError, FetchedPaper, fetch_papers, missing_papers, public_id
from kit.europe_pmc import KNOWN, OPEN, OTHER, article, base_url, europe_pmc, search
from kit.hostile_server import Behaviour, Exchange, HostileServer, answer, chunked, hang, redirect, reset_at_once

ONE = article(OPEN["title"], pmcid=OPEN["pmcid"])
SEARCH, FILE = "/search", "/PMC1280405/fullTextXML"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


def get(
    server: HostileServer, folder: Path, *ids: str, slept: Any = None, overwrite: bool = False, **changes: Any
) -> list[FetchedPaper]:
    """Fetch from the server, without waiting between attempts."""
    waits: list[float] = [] if slept is None else slept
    service = EuropePmc(base_url=base_url(server), timeout_seconds=10.0, sleep=waits.append)
    wanted = [public_id(one) for one in ids or ("PMC1280405",)]
    return fetch_papers(replace(service, **changes), wanted, folder, overwrite=overwrite)


def refusal(folder: Path, *script: tuple[str, Behaviour], asked: str = "PMC1280405", **changes: Any) -> str:
    """Return why a paper was not fetched, having checked that it left no file."""
    with europe_pmc(*script) as server:
        (paper,) = get(server, folder, asked, **changes)
    assert (paper.file, paper.sha256) == ("", "")
    assert [path.name for path in folder.iterdir()] == ["papers.csv"]
    return paper.reason


# What goes on after a failure of the moment.


@pytest.mark.parametrize("place", [SEARCH, FILE])
@pytest.mark.parametrize(
    "trouble",
    [
        answer(500),
        answer(503, b"<html>busy</html>", Content_Type="text/html"),
        reset_at_once,
        answer(200, ONE[:100], Content_Length=len(ONE)),
        chunked(b"<article>", is_ended=False),
    ],
    ids=["500", "503", "reset", "short", "chunk"],
)
def test_what_fails_for_a_moment_is_asked_again(tmp_path: Path, place: str, trouble: Behaviour) -> None:
    slept: list[float] = []
    n_troubles = 4 if trouble is reset_at_once else 2  # a connection that ends at once is made again at once
    with europe_pmc(*[(place, trouble)] * n_troubles) as server:
        (paper,) = get(server, tmp_path, slept=slept)
    assert paper.reason == ""
    assert (tmp_path / paper.file).read_bytes() == ONE
    assert [seconds for seconds in slept if seconds >= 1] == [1, 2]


def test_a_busy_service_is_given_the_time_that_it_asks_for_up_to_a_minute(tmp_path: Path) -> None:
    slept: list[float] = []
    busy = [(FILE, answer(429, Retry_After=wait)) for wait in ("7", "99999", "Wed, 21 Oct 2026 07:28:00 GMT")]
    with europe_pmc(*busy) as server:
        (paper,) = get(server, tmp_path, slept=slept)
    assert paper.reason == ""
    assert [seconds for seconds in slept if seconds >= 1] == [7, 60, 4]
    assert (len(slept), min(slept) >= 0.1) == (len(server.log) + 3, True)  # a pause before each request
    assert all(asked.headers["User-Agent"].startswith("evidencebench/") for asked in server.log)


# What is final.


def test_a_paper_that_is_not_to_be_had_is_refused_with_the_reason(tmp_path: Path) -> None:
    for asked, words in {
        "10.1000/none": "knows no such paper; check the id",
        "PMC33": "not open access",
        "10.1000/THREE": "not open access",
        "PMID:4": "not in PubMed Central",
    }.items():
        assert words in refusal(tmp_path, asked=asked)


@pytest.mark.parametrize(
    ("place", "trouble", "words"),
    [
        (SEARCH, answer(404), "404 Not Found; check the network"),
        (SEARCH, answer(200, b"<html>Log in</html>"), "JSON of a search, got a web page"),
        (SEARCH, answer(200, b'{"hitCount": 1}'), "JSON of a search"),
        (SEARCH, answer(200, b"{" * 5_000_000), "4,194,304 bytes"),
        (FILE, answer(404), "404 Not Found; the service has no XML of it: get its PDF from"),
        (FILE, answer(403), "403 Forbidden"),
        (FILE, answer(200, b"<!DOCTYPE html><html><article><body>Log in"), "JATS XML, got a web page"),
        (FILE, answer(200, b"%PDF-1.7 <article><body>"), "fullTextXML: "),
        (FILE, answer(200, b"Tea lowered blood pressure."), "JATS XML, got text"),
        (FILE, answer(200), "expected a paper"),
        (FILE, answer(200, b"<article><front/></article>"), "metadata only"),
        (FILE, answer(200, ONE[:-20]), "the file is cut off"),
        (FILE, answer(200, article("Coffee", pmcid="PMC22")), "PMC1280405, got PMC22"),
        (FILE, answer(200, ONE, Content_Length=99_999_999), "67,108,864 bytes"),
        (FILE, chunked(*[b"<article>" * 9999] * 999), "67,108,864 bytes"),
        (FILE, redirect("http://localhost:1/elsewhere.xml"), "http://localhost:1"),
        (FILE, redirect("http://127.0.0.1:99999/elsewhere.xml"), "http or https address"),
        (FILE, redirect("file:///etc/hostname"), "http or https address"),
    ],
)
def test_a_wrong_answer_is_final_and_said(tmp_path: Path, place: str, trouble: Behaviour, words: str) -> None:
    assert words in refusal(tmp_path, (place, trouble))


def test_a_redirect_is_followed_on_the_same_host_and_port_and_no_other_is_asked(tmp_path: Path) -> None:
    with europe_pmc() as elsewhere:
        there = f"{base_url(elsewhere)}/PMC1280405/fullTextXML"
        for place in (SEARCH, FILE):
            said = refusal(tmp_path, (place, redirect(there)))
            assert f"same host and port, got one to {there}" in said
        assert elsewhere.log == []
    with europe_pmc((FILE, redirect("fullTextXML?again"))) as server:
        (paper,) = get(server, tmp_path)
    assert paper.reason == ""
    assert server.log[-1].path.endswith("/PMC1280405/fullTextXML?again")


@pytest.mark.parametrize("pmcid", ["../../PMC1", "/etc/passwd", "PMC1/../../x", "PMC1\n", None])
def test_no_name_of_a_file_comes_from_the_service(tmp_path: Path, pmcid: str | None) -> None:
    lie = search([OPEN | {"pmcid": pmcid}])
    assert "not in PubMed Central" in refusal(tmp_path, (SEARCH, lie), asked=OPEN["doi"])


def test_other_papers_among_the_results_are_passed_over(tmp_path: Path) -> None:
    with europe_pmc((SEARCH, search([OTHER, OPEN | {"isOpenAccess": "N"}, OPEN]))) as server:
        (paper,) = get(server, tmp_path, OPEN["doi"])
    assert (paper.pmcid, paper.reason) == ("PMC1280405", "")
    assert "no such paper" in refusal(tmp_path / "other", (SEARCH, search([OTHER])))


# A service that is down.


def test_after_three_silent_papers_no_more_are_asked_for_and_the_others_are_kept(tmp_path: Path) -> None:
    down = [(SEARCH, answer(503))] * 12
    with europe_pmc(*[(FILE, answer(200, ONE)), *down]) as server:
        with pytest.raises(FailingServerError, match=r"4 attempts.*503.*3 papers in a row"):
            get(server, tmp_path, "PMC1", "PMC2", "PMC3", "PMC4")
        assert len(server.log) == 12
        assert len((tmp_path / "papers.csv").read_text().splitlines()) == 1 + 3


def stall(exchange: Exchange) -> None:
    """Begin an answer, and send no more of it."""
    exchange.head(200, {"Content-Length": 500})
    exchange.send(b"{")
    exchange.handler.wfile.flush()
    hang(exchange)


@pytest.mark.parametrize("trouble", [hang, stall])
def test_a_service_that_hangs_is_left_after_the_timeout(tmp_path: Path, trouble: Behaviour) -> None:
    words = refusal(tmp_path, (SEARCH, trouble), (SEARCH, trouble), timeout_seconds=0.2, attempts=2)
    assert "2 attempts, the last failed: no byte came for 0.2 s" in words


def drip(exchange: Exchange) -> None:
    """Send a byte now and then, without end."""
    exchange.head(200, {"Content-Length": 500})
    while not exchange.server.closing.wait(0.01):
        exchange.send(b"{")
        exchange.handler.wfile.flush()


def test_a_service_that_drips_is_left_too(tmp_path: Path) -> None:
    words = refusal(tmp_path, (SEARCH, drip), (SEARCH, drip), timeout_seconds=0.2, attempts=2)
    assert "2 attempts, the last failed: fewer than 1,000 bytes a second came for 0.2" in words


# What is in the folder.


def test_papers_that_are_here_are_not_asked_for_and_a_folder_knows_them_by_each_id(tmp_path: Path) -> None:
    ids = ["PMC1280405", OPEN["doi"], "16162290"]
    with europe_pmc() as server:
        first = get(server, tmp_path, ids[1])
        again = get(server, tmp_path, *ids)
        assert len(server.log) == 2
    assert [(one.pmcid, one.sha256) for one in again] == [(first[0].pmcid, first[0].sha256)] * 3
    assert missing_papers([public_id(one) for one in [*ids, "PMC22"]], tmp_path) == [public_id("PMC22")]
    (tmp_path / "PMC1280405.xml").unlink()
    assert len(missing_papers([public_id(one) for one in ids], tmp_path)) == 3


def test_a_file_that_was_here_is_kept_unless_it_is_to_be_replaced(tmp_path: Path) -> None:
    file = tmp_path / "PMC1280405.xml"
    file.write_bytes(b"mine")
    with europe_pmc() as server:
        get(server, tmp_path, "PMC1280405", OPEN["doi"])
        assert file.read_bytes() == b"mine"
        (paper,) = get(server, tmp_path, overwrite=True)
        assert (paper.reason, file.read_bytes()) == ("", ONE)


@pytest.mark.parametrize("asked", ["PMC1280405", "16162290", "10.1000/new"])
def test_a_file_that_is_not_the_one_of_the_index_is_named_and_neither_held_nor_replaced_unasked(
    tmp_path: Path, asked: str
) -> None:
    with europe_pmc() as server:
        (whole,) = get(server, tmp_path)
        (tmp_path / whole.file).write_bytes(ONE[:100])
    script = [(SEARCH, search([OPEN | {"doi": "10.1000/new"}]))] if asked == "10.1000/new" else []
    with europe_pmc(*script) as server:
        for _ in range(2):  # what the first time writes into the index changes nothing
            (paper,) = get(server, tmp_path, asked)
            assert re.match(r"PMC1280405\.xml: .*another sha256 than papers\.csv.*--overwrite", paper.reason)
        assert (tmp_path / whole.file).read_bytes() == ONE[:100]
        assert (paper.id, paper.sha256) == (str(public_id(asked)), whole.sha256)
        (again,) = get(server, tmp_path, overwrite=True)
    assert (again.reason, (tmp_path / whole.file).read_bytes()) == ("", ONE)


@pytest.mark.parametrize("name", ["../PMC1280405.xml", "below/PMC1280405.xml", "/etc/hostname", ".."])
def test_a_file_that_the_index_names_outside_of_the_folder_is_no_paper_of_it(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "papers"
    with europe_pmc() as server:
        get(server, folder)
        (folder / "below").mkdir()
        (folder / "PMC1280405.xml").rename(tmp_path / "PMC1280405.xml")
        (folder / "below/PMC1280405.xml").write_bytes(ONE)
        index = folder / "papers.csv"
        index.write_text(index.read_text().replace("PMC1280405.xml", name))
        assert missing_papers([public_id("PMC1280405")], folder) == [public_id("PMC1280405")]
        assert (get(server, folder)[0].file, len(server.log)) == ("PMC1280405.xml", 4)
    assert (folder / "PMC1280405.xml").read_bytes() == ONE


def test_a_replacement_that_fails_leaves_the_file_and_says_why(tmp_path: Path) -> None:
    with europe_pmc() as server:
        get(server, tmp_path)
    with europe_pmc((FILE, answer(404))) as server:
        (paper,) = get(server, tmp_path, overwrite=True)
        assert "404" in paper.reason
        assert (tmp_path / paper.file).read_bytes() == ONE
        assert get(server, tmp_path)[0].reason == ""


def test_what_the_service_says_neither_breaks_the_index_nor_makes_a_formula_of_it(tmp_path: Path) -> None:
    lie = OPEN | {"title": '=HYPERLINK("http://x")\n"a",b\x1b[2J' + "x" * 200_000, "license": None}
    with europe_pmc((SEARCH, search([lie]))) as server:
        get(server, tmp_path)
        assert get(server, tmp_path)[0].title.startswith('HYPERLINK("http://x") "a",b\ufffd[2Jx')
    assert len((tmp_path / "papers.csv").read_bytes()) < 1000


def test_another_table_of_the_same_name_is_not_touched_and_nothing_is_asked(tmp_path: Path) -> None:
    (tmp_path / "papers.csv").write_text("title,year\nTea,2020\n")
    with europe_pmc() as server:
        with pytest.raises(DataError, match=r"papers\.csv: .*id,pmcid,.*rename"):
            get(server, tmp_path)
        assert server.log == []
    assert (tmp_path / "papers.csv").read_text() == "title,year\nTea,2020\n"


def test_papers_asked_for_one_after_the_other_are_all_in_the_index(tmp_path: Path) -> None:
    with europe_pmc() as server:
        for one in KNOWN:
            get(server, tmp_path, f"PMID:{one['pmid']}")
    lines = (tmp_path / "papers.csv").read_text().splitlines()
    assert lines[0] == "id,pmcid,doi,pmid,licence,title,file,sha256,reason"
    assert [line.split(",")[0] for line in lines[1:]] == [f"PMID:{one['pmid']}" for one in KNOWN]


def test_an_interrupt_keeps_what_was_fetched(tmp_path: Path) -> None:
    def interrupt(paper: FetchedPaper) -> None:
        if paper.pmcid == "PMC22":
            raise KeyboardInterrupt

    with europe_pmc() as server:
        service, wanted = EuropePmc(base_url=base_url(server), sleep=lambda _: None), ("PMC1280405", "PMC22", "PMC1")
        with pytest.raises(KeyboardInterrupt):
            fetch_papers(service, list(map(public_id, wanted)), tmp_path, on_paper=interrupt)
    assert missing_papers([public_id(OPEN["doi"]), public_id(OTHER["doi"])], tmp_path) == []
