"""Lists of papers, as Zotero, EndNote, Mendeley, JabRef, Ovid, Cochrane, PubMed and Europe PMC write them."""

from pathlib import Path

import pytest
import rispy

from doors import DataError, UnreadableError, attached_file, read_content, read_list

_TEA = {"pmcid": "PMC6500001", "doi": "10.1186/s12889-019-1234-5", "pmid": "31000001", "year": "2019"}

_ZOTERO = """TY  - JOUR
TI  - Effects of tea: a trial
AU  - Müller, Anna
AB  - BACKGROUND: Tea is drunk.
METHODS: We asked 120 adults; PMID: 999.
PY  - 2019
DO  - 10.1186/S12889-019-1234-5
UR  - https://doi.org/10.1186/s12889-019-1234-5
L1  - files/12/Müller et al. - 2019 - Effects of tea.pdf
L2  - http://www.ncbi.nlm.nih.gov/pubmed/31000001
N1  - PMID: 31000001
PMCID: PMC6500001
ER  -

TY  - BOOK
TI  - A book
ER  -
"""
_ENDNOTE = """\ufeffTY  - JOUR
AN  - 31000001
C2  - PMC6500001
DA  - May 1
DO  - https://doi.org/10.1186/s12889-019-1234-5
DP  - NLM
ID  - 45
L1  - internal-pdf://0987654321/Muller-2019.pdf
PY  - 2019
TI  - Effects of tea
ER  -
"""
_OVID = """1.
TY  - JOUR
DB  - Ovid MEDLINE(R) ALL <1946 to May 2024>
AN  - 31000001
T1  - Effects of tea.
Y1  - 2019//
DO  - https://dx.doi.org/10.1186%2Fs12889-019-1234-5
N1  - PMC6500001
M3  - Journal Article
2.
TY  - JOUR
DB  - Embase
AN  - 12345678
T1  - The line that ends the record before is missing
ER  -
"""
_COCHRANE = """Provider: John Wiley & Sons, Ltd
Content:text/plain; charset="UTF-8"

TY  - JOUR
AN  - CN-01234567
TI  - Tea in café drinkers, PMC6500001
PY  - 2019
C3  - PUBMED 31000001,EMBASE 623456789
M3  - Journal article
DO  - 10.1186/s12889-019-1234-5
N1  - PMC6500001
ER  -
"""
_MENDELEY = """TY  - JOUR
T1  - Effects of tea
N1  - PMID: 31000001, PMC6500001
Y1  - 2019/05/01/
DO  - 10.1186/s12889-019-1234-5
UR  - file:///C:/Users/jane/Mendeley%20Desktop/Tea.pdf
ER  -
"""
_EUROPE_PMC = """TY  - JOUR
PY  - 2019
DO  - 10.1186/s12889-019-1234-5
AN  - 31000001
UR  - https://europepmc.org/articles/PMC6500001?pdf=render
ER  -
"""
_PUBMED = """PMID- 31000001
OWN - NLM
DP  - 2019 May 1
TI  - Effects of tea: a trial with a title that goes on
      in the next line.
LID - 10.1186/s12889-019-1234-5 [doi]
CIN - BMJ. 2019;1:2. PMID: 30000009
AID - 1234 [pii]
PMC - PMC6500001

PMID- 9000312
TI  - Old.
AID - S0140-6736(97)1 [pii]
"""
_ABSTRACTS = """1. BMC Public Health. 2019 May 1;19(1):99. doi: 10.1186/s12889-019-1234-5.

Effects of tea: a trial.

Comment in
    BMJ. 2019 Jun 1;365:l1. doi: 10.1136/bmj.l1. PMID: 30000009

2. An item of a list in the abstract.

DOI: 10.1186/s12889-019-1234-5
PMCID: PMC6500001
PMID: 31000001 [Indexed for MEDLINE]


2. Lancet. 1997 Feb 1;349(9048):1.

Old.

PMID: 9000312 [Indexed for MEDLINE]
"""
_SUMMARIES = """1: Müller A. Effects of tea. BMC. 2019 May 1;1:99. doi:
10.1186/s12889-019-1234-5. PMID: 31000001; PMCID:
PMC6500001.

2: Doe J. Old. Lancet. 1997 Feb 1;1:1. PMID: 9000312.
"""
_CSL = """[{"id": "x", "type": "article-journal", "title": "Effects", "DOI": "10.1186/s12889-019-1234-5",
  "note": "PMID: 31000001\\nPMCID: PMC6500001", "issued": {"date-parts": [["2019", 5, 1]]}}]"""
_BIBTEX = r"""% Encoding: UTF-8
@comment{jabref-meta: databaseType:bibtex;}
@string{bmc = "BMC"}
@article{muller_2019,
  title = {Effects of {Tea} \& {C}offee in {M{\"u}nchen}},
  doi = {10.1186/s12889-019-1234-5}, year = 2019, journal = bmc # { Public Health}, month = may,
  note = {PMID: 31000001
PMCID: PMC6500001},
  file = {Full Text PDF:files/12/M\;u.pdf:application/pdf;Snapshot:files/13/s.html:text/html},
}
@Article{smith, title = "Sleep", doi = {10.1016/j\_x.y}, file = {:C\:/Users/jo/x.pdf:PDF;files/y.pdf}}
@article{mendeley, file = {:home/jane/Tea.pdf:pdf}, crossref = {proc}}
@article{broken, title = {No end
@article{after, doi = {10.1000/after}, doi = {10.1000/twice}}
"""


@pytest.mark.parametrize(
    ("text", "files"),
    [
        (_ZOTERO, ["files/12/Müller et al. - 2019 - Effects of tea.pdf"]),
        (_ENDNOTE, ["internal-pdf://0987654321/Muller-2019.pdf"]),
        (_ENDNOTE.replace("\n", "\r\n").replace("ER  -", "ER  - "), ["internal-pdf://0987654321/Muller-2019.pdf"]),
        (_OVID, []),
        (_COCHRANE, []),
        (_MENDELEY, ["file:///C:/Users/jane/Mendeley%20Desktop/Tea.pdf"]),
        (_EUROPE_PMC, []),
        (_PUBMED, []),
        (_ABSTRACTS, []),
        (_ABSTRACTS.replace("\n", "\r\n"), []),
        (_SUMMARIES, []),
        (_CSL, []),
        (_BIBTEX, ["files/12/M;u.pdf", "files/13/s.html"]),
    ],
)
def test_the_ids_year_and_files_of_a_record_are_read_from_every_export(text: str, files: list[str]) -> None:
    for content in (text.encode(), text.lstrip("\ufeff").encode("cp1252")):
        first = read_list(content, name="list")[0]
        assert (first.ids, first.public) == (_TEA, "PMC6500001")
        with pytest.raises(UnreadableError, match="metadata only: records of papers"):
            read_content(content, name="x")
    assert list(read_list(text.encode(), name="list")[0].files) == files


def test_other_records_have_the_ids_that_are_theirs() -> None:
    others = {text: read_list(text.encode(), name="x")[1] for text in (_ZOTERO, _OVID, _PUBMED, _ABSTRACTS, _SUMMARIES)}
    assert [one.public for one in others.values()] == [None, None, *["9000312"] * 3]
    assert (others[_ZOTERO].title, others[_PUBMED].title, others[_ABSTRACTS].title) == ("A book", "Old.", "Old.")
    assert others[_OVID].ids == {}  # a number of Embase is no PMID


def test_bibtex_is_read_past_what_is_broken_in_it() -> None:
    tea, *others = read_list(_BIBTEX.encode(), name="x")
    assert tea.title == "Effects of Tea & Coffee in München"
    assert [(one.public, list(one.files)) for one in others] == [
        ("10.1016/j_x.y", ["C:/Users/jo/x.pdf", "files/y.pdf"]),
        (None, ["home/jane/Tea.pdf"]),
        (None, []),
        ("10.1000/twice", []),
    ]
    assert others[2].title.endswith("no whole entry")


def test_ris_is_read_as_rispy_reads_it() -> None:
    theirs = rispy.loads(_ZOTERO)
    ours = read_list(_ZOTERO.encode(), name="x")
    assert [one.title for one in ours] == [one["title"] for one in theirs]


@pytest.mark.parametrize(
    "text", ["1. Introduction\nIn 2019 tea was drunk.\n\nPMID 1 was asked.\n", "TY-1 is.\n", "@tea\n"]
)
def test_what_is_no_list_is_taken_for_none(text: str) -> None:
    assert read_content(text.encode(), name="x").sentences


def test_json_of_something_else_is_no_list() -> None:
    with pytest.raises(UnreadableError, match="JSON"):
        read_content(b'[{"text": "Tea."}]', name="x")


def test_files_are_found_below_the_lists_folder_or_what_is_allowed_and_nowhere_else(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "lists", tmp_path / "elsewhere"
    for name in ("lists/files/1/a.pdf", "lists/b.pdf", "lists/L.Data/PDF/09/c.pdf", "elsewhere/d.pdf"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (folder / "link.pdf").symlink_to(elsewhere / "d.pdf")
    written = {
        "files/1/a.pdf": "files/1/a.pdf",
        r"C:\Users\jo\b.pdf": "b.pdf",
        "internal-pdf://09/c.pdf": "L.Data/PDF/09/c.pdf",
    }
    for name, file in written.items():
        assert attached_file(name, folder, []) == folder / file
    for name in (str(elsewhere / "d.pdf"), "../elsewhere/d.pdf", "link.pdf", f"file://{elsewhere}/d.pdf"):
        with pytest.raises(DataError, match="outside the folder of the list: name it"):
            attached_file(name, folder, [])
        assert attached_file(name, folder, [elsewhere]).name in ("d.pdf", "link.pdf")
    for name in ("files/1/e.pdf", "\0", "x" * 5000, "files"):
        with pytest.raises(DataError, match="is not there"):
            attached_file(name, folder, [])


_OTHERS = {
    "EndNote's own": """%0 Journal Article
%T Effects of tea
%D 2019
%R 10.1186/s12889-019-1234-5
%M 31000001
%2 PMC6500001
%> internal-pdf://012/Tea.pdf

%0 Book
%T A book
""",
    "RIS whose type is not first": """DB  - WoS
TI  - Effects of tea
TY  - JOUR
DO  - 10.1186/s12889-019-1234-5
AN  - 12
N1  - PMID: 31000001 PMCID: PMC6500001
PY  - 2019
ER  -

DB  - WoS
TI  - A book
TY  - BOOK
ER  -
""",
    "Web of Science": """FN Clarivate Analytics Web of Science
VR 1.0
PT J
TI Effects of
   tea
PY 2019
DI 10.1186/s12889-019-1234-5
PM 31000001
ER

PT B
TI A book
ER

EF
""",
    "CSV of PubMed": """PMID,Title,Authors,Publication Year,PMCID,DOI
31000001,"Effects of tea, a trial","Muller A",2019,PMC6500001,10.1186/s12889-019-1234-5
,A book,,,,
""",
    "CSV of Scopus": """"Authors","Title","Year","DOI","PubMed ID","PMCID","EID"
"Muller","Effects of tea","2019","10.1186/s12889-019-1234-5","31000001","PMC6500001","2-s2.0-1"
"Doe","A book","","","","",""
""",
    "MEDLINE of PMC": """PMC - PMC6500001
PMID- 31000001
TI  - Effects of
      tea
DP  - 2019 May
LID - 10.1186/s12889-019-1234-5 [doi]

PMC - PMC1
TI  - A book
""",
    "Ovid": """<1>
VN  - Ovid Technologies
DB  - Ovid MEDLINE(R)
UI  - 31000001
TI  - Effects of tea
DO  - https://dx.doi.org/10.1186/s12889-019-1234-5
PMC - PMC6500001
YR  - 2019

<2>
VN  - Ovid Technologies
TI  - A book
""",
    "EndNote's XML": """<?xml version="1.0"?><xml><records><record>
<titles><title><style>Effects of tea</style></title></titles>
<dates><year><style>2019</style></year></dates><accession-num>31000001</accession-num>
<electronic-resource-num>10.1186/s12889-019-1234-5</electronic-resource-num></record>
<record><titles><title>A book</title></titles></record></records></xml>""",
    "PubMed's XML": """<?xml version="1.0"?><PubmedArticleSet><PubmedArticle>
<MedlineCitation><PMID>31000001</PMID><Article>
<Journal><PubDate><Year>2019</Year></PubDate></Journal><ArticleTitle>Effects of tea</ArticleTitle></Article>
</MedlineCitation><PubmedData><ArticleIdList><ArticleId IdType="doi">10.1186/s12889-019-1234-5</ArticleId>
</ArticleIdList></PubmedData></PubmedArticle><PubmedArticle><MedlineCitation>
<Article><ArticleTitle>A book</ArticleTitle></Article></MedlineCitation></PubmedArticle></PubmedArticleSet>""",
    "BibTeX below words of JabRef": """This file was created with JabRef 2.10.
Encoding: UTF-8

@ARTICLE{Tea2019,
  title = {Effects of tea},
  year = {2019},
  pmid = {31000001},
  doi = {10.1186/s12889-019-1234-5},
}
@BOOK{Book, title = {A book}}
""",
}


@pytest.mark.parametrize("text", _OTHERS.values(), ids=_OTHERS)
def test_lists_of_other_programs_are_read(text: str) -> None:
    tea, book = read_list(text.encode(), name="list")
    assert tea.title.startswith("Effects of tea")
    assert (book.title, tea.ids["doi"], tea.ids["pmid"]) == ("A book", _TEA["doi"], _TEA["pmid"])
    with pytest.raises(UnreadableError, match="a list of papers"):
        read_content(text.encode(), name="list")


@pytest.mark.parametrize(
    ("note", "ids"),
    [
        ("Tests & Measures: Hamilton Scale DOI: 10.1037/t04100-000; PMID: 31000001", {"pmid": "31000001"}),
        ("Erratum in: Lancet doi:10.1000/other", {}),
        ("DOI: 10.1000/own", {"doi": "10.1000/own"}),
        ("Comment in PMID: 999", {}),
    ],
)
def test_an_id_in_running_text_is_not_the_record_s(note: str, ids: dict[str, str]) -> None:
    (record,) = read_list(f"TY  - JOUR\nTI  - Tea\nN1  - {note}\nER  -\n".encode(), name="list")
    assert record.ids == ids


@pytest.mark.parametrize(
    "lines",
    [
        "L1  - internal-pdf://012/a.pdf\ninternal-pdf://345/b.pdf",
        "L1  - internal-pdf://012/a.pdf internal-pdf://345/b.pdf",
        "L1  - internal-pdf://012/a.pdf; internal-pdf://345/b.pdf",
    ],
)
def test_several_files_of_a_record_are_several(lines: str) -> None:
    (record,) = read_list(f"TY  - JOUR\nTI  - Tea\n{lines}\nER  -\n".encode(), name="list")
    assert record.files == ("internal-pdf://012/a.pdf", "internal-pdf://345/b.pdf")


def test_paths_of_windows_are_found_and_umlauts_of_tex_are_letters(tmp_path: Path) -> None:
    (tmp_path / "files" / "13").mkdir(parents=True)
    (tmp_path / "files" / "13" / "tea.txt").write_text("Tea.")
    assert attached_file(r"files\13\tea.txt", tmp_path, ()) == tmp_path / "files" / "13" / "tea.txt"
    bib = (
        r"@article{a, title={Tea}, file={:C$\backslash$:/x/Mart{\'{i}}nez - Caf{\'e}.pdf:pdf}, "
        r"doi={10.1002/(SICI)1{\textless}2::A{\textgreater}3}}"
    )
    (record,) = read_list(bib.encode(), name="list")
    assert record.files == ("C:/x/Mart\u00ednez - Caf\u00e9.pdf",)
    assert record.ids["doi"] == "10.1002/(sici)1<2::a>3"


def test_a_list_in_a_format_that_nobody_knows_is_no_paper() -> None:
    record = "".join(f"{tag} - What stands there\n" for tag in ("XA", "XB", "XC", "XD", "XE", "XF"))
    text = (record + "\n" + record).encode()
    with pytest.raises(UnreadableError, match="a list of papers"):
        read_content(text, name="list.txt")
    with pytest.raises(UnreadableError, match="export it as RIS"):
        read_list(text, name="list.txt")
