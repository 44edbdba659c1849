"""The same paper in several files: which one stands for the others."""

from dataclasses import replace

from doors import read_content, without_duplicates

_TEXT = read_content(b"Tea lowers the systolic pressure of adults in all our trials.\nMilk does not.\n", name="a.txt")


def test_xml_stands_for_other_formats_and_a_pdf_only_where_it_is_wanted() -> None:
    formats = ("PDF", "HTML", "JATS XML")
    papers = [replace(_TEXT, name=one, format=one) for one in formats]
    for pdf_first, kept in ((False, "JATS XML"), (True, "PDF")):
        best, same = without_duplicates(papers, pdf_first=pdf_first)
        assert [paper.name for paper in best] == [kept]
        assert {(paper.name, of.name) for paper, of in same} == {(one, kept) for one in formats if one != kept}


def test_ids_join_papers_whatever_they_say_and_keep_apart_those_that_differ() -> None:
    other = read_content(b"Nothing of it is the same in this text about something else.\n", name="b.txt")
    a, b = (replace(paper, ids={"doi": doi}) for paper, doi in ((_TEXT, "10.1000/A"), (other, "10.1000/a")))
    assert without_duplicates([a, b])[0] == [a]
    assert without_duplicates([a, replace(_TEXT, ids={"doi": "10.1000/c"})])[1] == []
