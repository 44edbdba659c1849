"""Ids of papers: every usual spelling is read, each id in one way, and what is no id is refused in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import DataError, public_id, public_ids

_SPELLED = {
    "PMC1": ["PMC0001"],
    "PMC1280405": [
        *("PMC1280405", "pmc_1280405", " pmc1280405\n", "PMCID: PMC 1280405"),
        *("https://pmc.ncbi.nlm.nih.gov/articles/PMC1280405/", "https://europepmc.org/article/PMC/PMC1280405"),
        "https://www.ncbi.nlm.nih.gov/pmc/articles/PMC1280405/?report=reader#s1",
    ],
    "PMID:16162290": [
        *("16162290", "PMID: 16162290", "pmid16162290", "pubmed_16162290", "https://pubmed.ncbi.nlm.nih.gov/16162290/"),
        *("https://europepmc.org/article/MED/16162290", "https://www.ncbi.nlm.nih.gov/pubmed/16162290"),
    ],
    "10.1186/1471-2458-5-99": [
        *("10.1186/1471-2458-5-99", "doi:10.1186/1471-2458-5-99.", "http://dx.doi.org/10.1186/1471-2458-5-99")
    ],
    "10.1371/journal.pone.0000001": ["DOI: 10.1371/Journal.PONE.0000001"],
    "10.1016/s0140-6736(05)66545-0": ["https://doi.org/10.1016%2FS0140-6736(05)66545-0"],
    "10.1002/(sici)1097-0258(19980815)17:15<1661::aid-sim968>3.0.co;2-2": [
        "10.1002/(SICI)1097-0258(19980815)17:15<1661::AID-SIM968>3.0.CO;2-2"
    ],
}


@pytest.mark.parametrize("normal", _SPELLED)
def test_every_usual_spelling_is_read(normal: str) -> None:
    assert {str(public_id(spelled)) for spelled in _SPELLED[normal]} == {normal}


@pytest.mark.parametrize(
    "text",
    [
        *("", "PMC", "PMC12a", "PMC0", "0", "12345678901", "paper.xml", "../PMC1", "PMC1/../x", "PMC1 PMC2"),
        *("10.1186", "10.1186/", "10.1/x", "doi:1186/x", '10.1186/x" OR SRC:MED', "10.1186/a b", "10.1186/x\x00"),
        *("https://www.ncbi.nlm.nih.gov/gene/1234", "https://example.org/PMC1", "https://www.ncbi.nlm.nih.gov/pmc/"),
        *("https://doi.org/10.1186/x%22", "https://example.org/10.1186/x", "١٢٣", "-1"),
    ],
)
def test_what_is_no_id_is_refused_in_words(text: str) -> None:
    with pytest.raises(DataError, match=r"id of a paper.*PMC1280405"):
        public_id(text)


@given(st.text(max_size=40) | st.from_regex(r"(pmc_?|pmid:|doi:|10\.\d{4}/)[0-9a-zA-Z./%\"]{1,12}", fullmatch=True))
def test_an_id_is_read_again_as_it_is_shown_and_holds_nothing_that_ends_a_query(text: str) -> None:
    try:
        found = public_id(text)
    except DataError:
        return
    assert public_id(str(found)) == found
    assert not set(found.value) & set('"\\ \n')


def test_ids_stand_one_a_line_and_an_error_names_the_line() -> None:
    lines = ["# my review", "", "PMC1", "  9000312  "]
    assert list(map(str, public_ids(lines, name="ids.txt"))) == ["PMC1", "PMID:9000312"]
    with pytest.raises(DataError, match=r"ids\.txt: line 5: 'title'"):
        public_ids([*lines, "title"], name="ids.txt")
