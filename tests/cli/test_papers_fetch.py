"""``evidencebench papers fetch``, asked of a server on loopback that answers as Europe PMC does."""

import csv
from pathlib import Path

from command_line import Command
from europe_pmc import OPEN, article, base_url, europe_pmc


def _rows(folder: str = "papers") -> dict[str, dict[str, str]]:
    with (Path(folder) / "papers.csv").open(encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def test_a_paper_is_fetched_by_each_sort_of_id_and_asked_for_once(command: Command) -> None:
    with europe_pmc() as server:
        for spelled in ("pmc_1280405", "https://doi.org/10.1186/1471-2458-5-99", "PMID:16162290"):
            said = command(f"papers fetch {spelled} -o papers --base-url {base_url(server)}")
            assert (said.code, said.out.splitlines()[0]) == (0, f"PMC1280405.xml  cc by  {OPEN['title']}"), said.err
        n_asked = len(server.log)
    assert Path("papers/PMC1280405.xml").read_bytes() == article(OPEN["title"])
    assert n_asked == 2  # the search and the file; the other ids are those of a paper that is here
    assert set(_rows()) == {"PMC1280405", "10.1186/1471-2458-5-99", "PMID:16162290"}


def test_papers_that_cannot_be_fetched_are_told_with_the_reason_and_the_others_go_on(command: Command) -> None:
    with europe_pmc() as server:
        said = command(f"papers fetch PMC33 PMC4444 4 PMC22 -o papers --base-url {base_url(server)}")
    assert said.code == 1
    assert said.out.splitlines()[-1] == "1 of 4 papers in papers, listed in papers.csv"
    reasons = {name: row["reason"] for name, row in _rows().items()}
    assert reasons["PMC22"] == ""
    assert "is not open access" in reasons["PMC33"]
    assert "knows no such paper" in reasons["PMC4444"]
    assert "is not in PubMed Central" in reasons["PMID:4"]
    assert sorted(path.name for path in Path("papers").iterdir()) == ["PMC22.xml", "papers.csv"]
