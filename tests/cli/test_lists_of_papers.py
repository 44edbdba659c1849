"""Lists of papers in commands, and the same paper in several files."""

from pathlib import Path

from kit.command_line import Command

_TEA = {"pmcid": "PMC6500001", "doi": "10.1186/s12889-019-1234-5", "pmid": "31000001"}
_LIST = """TY  - JOUR
PY  - 2019
DO  - 10.1186/S12889-019-1234-5
L1  - files/a.txt
L1  - files/away.pdf
N1  - PMID: 31000001
PMCID: PMC6500001
ER  -

TY  - BOOK
TI  - A book
ER  -
"""


def test_show_and_find_read_the_files_of_a_list_with_its_ids_and_tell_the_rest(command: Command) -> None:
    Path("given/files").mkdir(parents=True)
    Path("given/files/a.txt").write_text("Tea lowers pressure.\nCoffee does not.\n")
    Path("given/refs.ris").write_text(_LIST)
    for given in ("given/refs.ris", "given/files given/refs.ris", "given"):
        said = command(f"papers show {given} --json")
        assert (said.code, [(one["paper"], one["ids"]) for one in said.json]) == (0, [("given/files/a.txt", _TEA)])
    told = " ".join(said.err.split())
    assert "given/refs.ris: 1 of 2 records has a file; record 1: files/away.pdf is not there" in told
    assert "'evidencebench papers fetch --from-file given/refs.ris -o papers' fetches open ones of the others" in told
    (found,) = command("find Tea given/refs.ris --json").json["findings"]
    assert (found["paper"], found["year"], found["ids"]) == ("a.txt", 2019, _TEA)
    Path("given/files/a.txt").unlink()
    said = command("find Tea given/refs.ris")
    assert said.code == 2
    assert "error: given/refs.ris: 0 of 2 records have a file; record 1: files/a.txt is not there; record 1" in said.err


def test_fetch_takes_the_ids_of_a_list_and_tells_records_without_any(command: Command) -> None:
    Path("refs.ris").write_text(_LIST)
    said = command("papers fetch --from-file refs.ris --dry-run")
    assert said.out.splitlines()[1].endswith("/PMC6500001/fullTextXML")
    assert (said.code, "without DOI, PMID and PMCID, so not fetched: A book" in " ".join(said.err.split())) == (0, True)


def test_a_paper_in_several_files_is_answered_once_in_the_best_format(command: Command) -> None:
    text = [f"{one} lowers the systolic pressure of adults in all our trials." for one in ("Tea", "Milk", "Beer")]
    body = "".join(f"<p>{sentence}</p>" for sentence in text)
    Path("a.txt").write_text("\n".join(text))
    Path("b.txt").write_text("\n".join([text[0], *(sentence.replace("adults", "children") for sentence in text[1:])]))
    Path("c.xml").write_text(f"<article><body>{body}</body></article>")
    said = command("find Tea a.txt b.txt c.xml a.txt --json")
    assert [one["paper"] for one in said.json["findings"]] == ["c.xml", "b.txt"]
    assert said.json["duplicates"] == [{"paper": "a.txt", "same_as": "c.xml"}]
    assert (said.err, said.code) == ("a.txt: the same paper as c.xml, and answered there\n", 0)
    # Papers whose ids differ are not the same, whatever they say.
    front = "<front><article-meta><article-id pub-id-type='doi'>10.1000/{}</article-id></article-meta></front>"
    for name in "de":
        Path(f"{name}.xml").write_text(f"<article>{front.format(name)}<body>{body}</body></article>")
    assert command("find Tea d.xml e.xml --json").json["duplicates"] == []
