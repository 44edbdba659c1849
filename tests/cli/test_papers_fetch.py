"""``evidencebench papers fetch``, asked of a server on loopback that answers as Europe PMC does."""

import csv
import re
from pathlib import Path

import pytest

from kit.command_line import Command
from kit.europe_pmc import OPEN, article, base_url, europe_pmc


def _rows(folder: str = "papers") -> dict[str, dict[str, str]]:
    with (Path(folder) / "papers.csv").open(encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def test_a_paper_is_fetched_by_each_sort_of_id_and_asked_for_once(command: Command) -> None:
    with europe_pmc() as server:
        for spelled in ("pmc_1280405", "https://doi.org/10.1186/1471-2458-5-99", "PMID:16162290"):
            said = command(f"papers fetch {spelled} -o papers --base-url {base_url(server)}")
            file = "PMC1280405.xml" if spelled == "pmc_1280405" else "PMC1280405.xml (already there)"
            assert (said.code, said.out.splitlines()[0]) == (0, f"{file}  cc by  {OPEN['title']}"), said.err
        n_asked = len(server.log)
    assert Path("papers/PMC1280405.xml").read_bytes() == article(OPEN["title"], pmcid=OPEN["pmcid"])
    assert n_asked == 2  # the search and the file; the other ids are those of a paper that is here
    assert set(_rows()) == {"PMC1280405", "10.1186/1471-2458-5-99", "PMID:16162290"}


def test_papers_that_cannot_be_fetched_are_told_with_the_reason_and_the_others_go_on(command: Command) -> None:
    with europe_pmc() as server:
        said = command(f"papers fetch PMC33 PMC4444 4 PMC22 -o papers --base-url {base_url(server)}")
    assert said.code == 1
    assert said.out.splitlines()[-1] == "1 of 4 papers in papers, listed in papers.csv"
    reasons = {name: row["reason"] for name, row in _rows().items()}
    assert reasons["PMC22"] == ""
    assert reasons["PMC33"].startswith("it is not open access")
    assert "PMC4444: not fetched: Europe PMC knows no such paper; check the id" in said.out
    assert reasons["PMID:4"].startswith("it is not in PubMed Central")
    assert sorted(path.name for path in Path("papers").iterdir()) == ["PMC22.xml", "papers.csv"]


def test_it_says_what_it_asks_before_it_asks_and_a_dry_run_asks_nothing(command: Command) -> None:
    with europe_pmc() as server:
        given = f"papers fetch PMC22 4 --base-url {base_url(server)}"
        dry = command(f"{given} --dry-run")
        assert (dry.code, server.log, list(Path().glob("*.csv"))) == (0, [], [])
        said = command(given)
        assert said.err.splitlines()[0] == f"asking 127.0.0.1:{server.port} about 2 papers: PMC22, PMID:4"
        addresses = {server.address(asked.path.lstrip("/")) for asked in server.log}
        assert addresses < set(dry.out.splitlines())
        assert "asking" not in command(f"papers fetch PMC22 --base-url {base_url(server)}").err


def test_ids_come_from_a_file_too_and_one_that_is_none_stops_it_before_anything_is_asked(command: Command) -> None:
    Path("ids.txt").write_text("# of my review\nPMC22\n\n10.1000/two\n")
    with europe_pmc() as server:
        said = command(f"papers fetch PMC1280405 PMC22 --from-file ids.txt --json --base-url {base_url(server)}")
        assert [(one["id"], one["file"]) for one in said.json["papers"]] == [
            *(("PMC1280405", "PMC1280405.xml"), ("PMC22", "PMC22.xml"), ("10.1000/two", "PMC22.xml"))
        ]
        n_asked = len(server.log)
        Path("ids.txt").write_text("PMC1\nTea and pressure\n")
        refused = command(f"papers fetch --from-file ids.txt --base-url {base_url(server)}")
        assert (refused.code, len(server.log)) == (2, n_asked)
    assert "ids.txt: line 2: 'Tea and pressure': " in refused.err
    Path("ids.txt").write_bytes(b"PMC1\n10.1000/caf\xe9\n")
    refused = command("papers fetch --from-file ids.txt")
    assert "ids.txt: line 2: expected UTF-8" in refused.err


def test_a_service_that_only_fails_stops_it_and_says_how_to_go_on(command: Command) -> None:
    gone = "http://127.0.0.1:9"  # nobody listens there
    stopped = command(f"papers fetch PMC1 PMC2 PMC3 PMC4 --attempts 1 --base-url {gone}")
    assert stopped.code == 3
    assert re.search(r"stopped: .*3 papers in a row; rerun to resume", stopped.err)
    assert "next attempt in 1 s" in command(f"papers fetch PMC1 --attempts 2 --base-url {gone}").err


def test_find_reads_the_folder_of_papers_fetched(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    with europe_pmc() as server:
        monkeypatch.setenv("EVIDENCEBENCH_PAPERS_FETCH_BASE_URL", base_url(server))
        command("papers fetch PMC22 PMC1280405 -o papers")
    said = command("find {Tea lowers pressure.} papers --json")
    assert {Path(one["paper"]).name for one in said.json["findings"]} == {"PMC22.xml", "PMC1280405.xml"}
