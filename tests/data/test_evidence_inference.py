"""Evidence Inference becomes instances: marked texts are found in the sentences, and all else is counted by reason."""

import json
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from doors import (
    ConversionReport,
    DataError,
    FormatError,
    PaperFormat,
    SearchedPaper,
    UnreadableError,
    annotations_of,
    convert_folder,
    find_folder,
    letters_of,
    read_annotations,
    read_prompts,
    read_trial_text,
    reason_against,
)
from evidencebench import Instance, Kind, open_dataset, validate_file, write_dataset
from kit.examples import some_of
from kit.skips import DATA_FOLDER
from kit.strategies import WORDS
from kit.trial_folder import LEFT_OUT, PROMPTS, PROMPTS_LEFT_OUT, SAME, write_trial_folder

COLUMNS = "PromptID,PMCID,Outcome,Intervention,Comparator\n"
FORMS: list[PaperFormat] = ["txt", "nxml"]


def converted(folder: Path, read_from: PaperFormat = "txt") -> tuple[ConversionReport, dict[str, Instance]]:
    output = folder.parent / "converted.json"
    report = convert_folder(folder, output, read_from=read_from)
    return report, {instance.id: instance for instance in open_dataset(output)}


def texts_of(instance: Instance) -> dict[str, str]:
    """Return aspect -> the sentences that are its sources, joined."""
    return {
        aspect: " ".join(instance.query.sentences[index] for index in indices)
        for aspect, indices in instance.labels.sources.items()
    }


@pytest.mark.parametrize("read_from", FORMS)
def test_prompts_become_hypotheses_marked_texts_their_aspects_and_what_is_left_out_is_counted(
    read_from: PaperFormat, tmp_path: Path
) -> None:
    report, instances = converted(write_trial_folder(tmp_path / "folder"), read_from)
    assert {reason: n for reason, n in report.annotations_left_out.items() if n} == LEFT_OUT
    assert report.prompts_left_out == PROMPTS_LEFT_OUT
    assert (report.n_prompts, report.n_instances, report.n_papers) == (len(PROMPTS), len(instances), 2)
    assert (report.n_valid, report.n_placed) == (12, 7)
    assert (report.n_in_running_text, report.n_placed_in_running_text) == (9, 7)
    assert report.n_annotations == report.n_placed + report.annotations_left_out.total()
    assert sorted(one["reason"] for one in report.unplaced) == sorted(
        reason for reason in LEFT_OUT if reason.startswith(("text", "in a", "no paper"))
    )
    assert [one.query.hypothesis for one in instances.values()] == [
        "green tea, compared with warm water, changes systolic pressure.",
        "green tea, compared with warm water, changes sleep.",
        "green tea, compared with warm water, changes headaches.",
        "coffee, compared with decaf, changes sleep.",
    ]
    pressure, sleep, headaches, coffee = instances.values()
    assert {one.query.goal for one in instances.values()} == {"answer"}
    assert [one.query.paper_id for one in instances.values()] == ["pmc_11", "pmc_11", "pmc_11", "pmc_22"]
    assert list(pressure.labels.texts.values()) == [
        "Systolic pressure fell by 3 mmHg [12] with tea",
        "Tea lowered systolic pressure by 3 mmHg (P = 0.02).",
    ]
    beginnings = [text.removeprefix("Results: ")[:15] for text in texts_of(pressure).values()]  # JATS keeps the label
    assert beginnings == ["Systolic pressu", "Tea lowered sys"]
    assert list(texts_of(sleep).values()) == ["Sleep was the same in both groups (Table 1).", "Nobody slept worse."]
    (last,) = sleep.labels.sources["evidence_inference_2_aspect_1"]
    assert last == len(sleep.query.sentences) - 1, "the offsets lie in the body, where the text stands once more"
    assert len(texts_of(headaches)) == len(texts_of(coffee)) == 1
    sentences = instances["evidence_inference_1"].query.sentences
    assert not [one for one in sentences if "Age in years" in one or "standard errors" in one or "Sleep and" in one]
    assert letters_of("".join(sentences)).endswith("withtea4vs9χ246p003nobodysleptworse")


def test_directions_are_kept_and_the_majority_is_named(tmp_path: Path) -> None:
    write_trial_folder(tmp_path / "folder")
    convert_folder(tmp_path / "folder", tmp_path / "one.json", read_from="txt")
    write_dataset(tmp_path / "two.jsonl", open_dataset(tmp_path / "one.json"))
    records = json.loads((tmp_path / "one.json").read_bytes())
    pressure, sleep = records["evidence_inference_1"], records["evidence_inference_2"]
    assert (pressure["direction"], pressure["outcome"]) == ("significantly decreased", "systolic pressure")
    assert [(one["annotator"], one["direction"], one["aspect"]) for one in pressure["annotations"]] == [
        ("0", "significantly decreased", "evidence_inference_1_aspect_0"),
        ("1", "significantly decreased", "evidence_inference_1_aspect_1"),
        ("2", "no significant difference", "evidence_inference_1_aspect_0"),
    ]
    assert sleep["direction"] == "significantly increased", "two of three, in the data set's own misspelling"
    again = [json.loads(line) for line in (tmp_path / "two.jsonl").read_text().splitlines()]
    assert {one.pop("id"): one for one in again} == records
    table = tmp_path / "folder" / "annotations.csv"
    table.write_text(table.read_text().replace("\n5,2,11,True,True,significantly increase,", "\n5,2,11,False,True,x,"))
    convert_folder(tmp_path / "folder", tmp_path / "one.json", read_from="txt")
    record = json.loads((tmp_path / "one.json").read_bytes())["evidence_inference_2"]
    assert record["direction"] is None, "two directions as often are no majority"
    assert [one["direction"] for one in record["annotations"]] == [SAME, "significantly increased"]


def test_the_published_names_and_the_shorter_ones_give_the_same(tmp_path: Path) -> None:
    plain = converted(write_trial_folder(tmp_path / "plain"))
    published = converted(write_trial_folder(tmp_path / "published" / "annotations", is_published=True))
    outer = convert_folder(tmp_path / "published", tmp_path / "outer.json", read_from="txt")
    assert plain == published == (outer, plain[1])
    assert list(open_dataset(tmp_path / "outer.json")) == list(plain[1].values())


def test_a_merged_table_beside_the_newer_one_counts_no_annotation_twice(tmp_path: Path) -> None:
    folder = write_trial_folder(tmp_path / "folder", is_published=True)
    alone, instances = converted(folder)
    (folder / "v2_annotations.csv").write_bytes((folder / "annotations_merged.csv").read_bytes())
    both, same_instances = converted(folder)
    assert same_instances == instances
    assert both.n_valid == alone.n_valid
    assert both.annotations_left_out["repeated row"] == alone.n_annotations + 1


def test_a_split_has_its_papers_alone(tmp_path: Path) -> None:
    folder = write_trial_folder(tmp_path / "folder", is_published=True)
    report = convert_folder(folder, tmp_path / "one.json", split="validation", read_from="txt")
    assert open_dataset(tmp_path / "one.json").ids == ("evidence_inference_4",)
    assert (report.n_prompts, report.n_papers) == (2, 1)
    with pytest.raises(DataError, match=r"ev2_test_article_ids\.txt: .*1"):
        convert_folder(folder, tmp_path / "two.json", split="test")
    (folder / "splits" / "ev2_train_article_ids.txt").unlink()
    with pytest.raises(UnreadableError, match=r"ev2_train_article_ids\.txt: .*--split"):
        convert_folder(folder, tmp_path / "two.json", split="train")
    assert not (tmp_path / "two.json").exists()


def test_one_paper_that_cannot_be_read_is_told_and_the_others_are_converted(tmp_path: Path) -> None:
    folder = write_trial_folder(tmp_path / "folder")
    (folder / "txt" / "PMC22.txt").write_bytes(b"BODY:\n\xff\xfe")
    report, instances = converted(folder, "txt")
    assert [one.query.paper_id for one in instances.values()] == 3 * ["pmc_11"]
    assert list(report.unreadable_papers) == ["PMC22.txt"]
    assert report.annotations_left_out["no paper"] == 2


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("prompts.csv", "PromptID,PMCID\n", "prompts.csv: .*PromptID, PMCID, Outcome, .*none"),
        ("prompts.csv", f"{COLUMNS}1,../x,a,b,c\n", r"line 2: PMCID: .*'\.\./x'"),
        ("prompts.csv", f"{COLUMNS}1,2,a\n", "line 2: .*5 cells"),
        ("prompts.csv", f"{COLUMNS}1,2,{'x' * 10_000_001},b,c\n", "line 2: .*field larger"),
        ("annotations.csv", "UserID\n", "annotations.csv: .*UserID, PromptID, .*none"),
    ],
)
def test_a_broken_table_is_refused_with_its_line(file: str, content: str, message: str, tmp_path: Path) -> None:
    folder = write_trial_folder(tmp_path / "folder")
    (folder / file).write_text(content)
    with pytest.raises(FormatError, match=message):
        convert_folder(folder, tmp_path / "one.json")
    assert not (tmp_path / "one.json").exists()


def test_offsets_that_are_no_numbers_and_cells_of_any_length_are_told_apart(tmp_path: Path) -> None:
    header = "UserID,PromptID,Valid Label,Valid Reasoning,Label,Annotations,Evidence Start,Evidence End\n"
    path = tmp_path / "annotations.csv"
    path.write_text(f"{header}0,1,True,True,x,{'tea ' * 50_000},12.0,-1\n")
    (found,) = read_annotations(path)
    assert (len(found.text), found.start, found.stop) == (200_000, 12, None)
    for wrong in ("twelve", "inf"):
        path.write_text(f"{header}0,1,True,True,x,tea,{wrong},-1\n")
        with pytest.raises(FormatError, match=f"line 2: .*'{wrong}'"):
            read_annotations(path)
    path.write_bytes(b"\xff")
    with pytest.raises(UnreadableError):
        read_prompts(path)


def test_a_folder_of_something_else_is_refused_by_what_it_lacks(tmp_path: Path) -> None:
    for name, lacks in {
        "prompts.csv": "prompts_merged.csv or prompts.csv",
        "annotations.csv": "annotations_merged.csv or v2_annotations.csv or annotations.csv",
        "txt": "xml_files or xml or txt_files or txt",
    }.items():
        with pytest.raises(UnreadableError, match=f"without {lacks}$"):
            convert_folder(tmp_path, tmp_path / "one.json")
        (tmp_path / name).touch()
    with pytest.raises(UnreadableError, match=r"txt.*nxml"):
        convert_folder(write_trial_folder(tmp_path / "xml", formats="nxml"), tmp_path / "two.json", read_from="txt")


def test_no_annotation_that_can_be_placed_is_an_error(tmp_path: Path) -> None:
    folder = write_trial_folder(tmp_path / "folder")
    for path in (folder / "txt").iterdir():
        path.write_text("BODY:\nOther words stand here, and nothing that was marked.\n")
    with pytest.raises(DataError, match=r"annotation.*none"):
        convert_folder(folder, tmp_path / "one.json", read_from="txt")
    assert not (tmp_path / "one.json").exists()


LINES = [
    ("Table 2 shows that pressure fell with tea.", "running text"),
    ("Table 12 shows that pressure fell with tea.", "running text"),
    ("Figure 2B shows that pressure fell with tea.", "running text"),
    ("Figure 2(a) shows that pressure fell with tea.", "running text"),
    ("Tables 2 and 3 show that pressure fell with tea.", "running text"),
    ("Table 2Pressure of adults who drank tea.", "caption"),
    ("Table 2. Pressure of adults who drank tea.", "caption"),
    ("Fig. 3", "caption"),
    ("Supplementary Table S1: Pressure", "caption"),
    ("Systolic pressure (mmHg)", "table"),
    ("0.71 (0.51-0.91)", "table"),
    ("N.S.", "table"),
    ("Tea is what the people here drink ..............", "table"),
    ("BODY.RESULTS:", "heading"),
]


@pytest.mark.parametrize(("line", "part"), LINES)
def test_a_line_of_the_plain_text_is_told_by_its_looks(line: str, part: str) -> None:
    found = read_trial_text(f"BODY:\nTea was drunk by all of the adults.\n\n{line}\n", "tea.txt")
    assert found.part_of(len(found.text) - len(line) - 1, len(found.text)) == part
    assert (line in found.paper.sentences) == (part == "running text")


@pytest.mark.parametrize(
    ("labels", "kinds"),
    [
        (("ABSTRACT.AIMS:", "2.1BODY.PATIENTS:", "BODY:"), "abstract, abstract, body, body"),
        (("BODY:", "BODY.RESULTS:", "BODY.AIMS:"), "abstract, body, body, body"),
        (("ABSTRACT.AIMS:", "1ABSTRACT.INTRODUCTION:", "2ABSTRACT.AIMS:"), "abstract, abstract, body, body"),
        (("ABSTRACT.AIMS:", "ABSTRACT.RESULTS:", "ABSTRACT.ENDS:"), "abstract, abstract, abstract, abstract"),
    ],
)
def test_the_abstract_ends_where_the_labels_say(labels: tuple[str, ...], kinds: str) -> None:
    lines = [f"{label}\nTea was drunk in week {number} of this trial." for number, label in enumerate(labels)]
    text = "TITLE: \nTea and pressure\n\n\nAll of the adults drank some tea.\n" + "\n\n".join(lines)
    paper = read_trial_text(text, "tea.txt").paper
    assert paper.title == paper.sentences[0] == "Tea and pressure"
    assert ", ".join(kind.name.lower() for kind in paper.kinds if kind is not Kind.HEADING) == kinds
    titles = [label.rpartition(".")[2].rstrip(":") for label in labels if label != "BODY:"]
    headings = [one for one, kind in zip(paper.sentences, paper.kinds, strict=True) if kind is Kind.HEADING]
    assert headings == ["Tea and pressure", *titles]


def test_a_paragraph_that_lines_break_is_one_paragraph() -> None:
    lines = ["BODY:", "Pressure fell by three with tea", "and rose with water.", "Sleep did not change in any week."]
    found = read_trial_text("\n".join(lines), "tea.txt")
    assert found.paper.sentences == ("Pressure fell by three with tea and rose with water.", lines[3])
    assert [found.text[span.start : span.stop] for span in found.paper.spans] == [f"{lines[1]}\n{lines[2]}", lines[3]]


@given(st.text(alphabet="aB1. \n:χ(", max_size=80).map("BODY:\nTea was drunk by all of the adults.\n".__add__))
def test_spans_of_any_plain_text_are_its_own_characters(text: str) -> None:
    found = read_trial_text(text, "any.txt")
    for sentence, span in zip(found.paper.sentences, found.paper.spans, strict=True):
        assert " ".join(text[span.start : span.stop].split()) == sentence
    assert "".join(text[one.start : one.stop] for one in found.pieces).split() == text.split()


MORE_WORDS = [*WORDS, "coffee", "sleep", "χ²", "groups", "(n=40)"]
papers = st.lists(st.lists(st.sampled_from(MORE_WORDS), min_size=3, max_size=9), min_size=1, max_size=8)


@given(papers, st.data())
def test_a_text_cut_from_a_paper_is_found_where_it_was_cut(paper: list[list[str]], data: st.DataObject) -> None:
    words = [(index, word) for index, sentence in enumerate(paper) for word in sentence]
    start = data.draw(st.integers(0, len(words) - 1))
    cut = words[start : data.draw(st.integers(start + 1, len(words)))]
    space = data.draw(st.sampled_from([" ", "\n", "\u202f", ""]))
    sentences = [f"{' '.join(sentence)}." for sentence in paper]
    searched = SearchedPaper(sentences)
    wanted = letters_of("".join(word for _, word in cut))
    assume(wanted)
    places = searched.places_of(space.join(word for _, word in cut))
    assert places
    for place in places:
        assert list(place) == list(range(place[0], place[-1] + 1))
        held = letters_of("".join(sentences[index] for index in place))
        assert any(wanted[left : len(wanted) - right] in held for left in range(8) for right in range(8))
    n_cut = {index: sum(len(letters_of(word)) for at, word in cut if at == index) for index, _ in cut}
    clear = [n >= 8 or 2 * n >= len(letters_of(sentences[index])) for index, n in n_cut.items()]
    if all(clear):
        assert tuple(sorted(n_cut)) in places


@pytest.mark.parametrize("label", ["Table 2", ". Table 2Table 2", " (Fig. 3a).", " [Figure 3]\nFigure 3"])
def test_a_text_is_found_without_the_label_of_a_caption_behind_it(label: str) -> None:
    searched = SearchedPaper(["Sleep got better.", "Pressure fell in every week (Table 1)."])
    assert searched.places_of(f"Pressure fell in every week{label}") == [(1,)]
    assert searched.places_of(f"Pressure rose in every week{label}") == []


def test_a_few_letters_too_many_do_not_make_a_sentence_a_source() -> None:
    searched = SearchedPaper(["Sleep got better in the end.", "Pressure fell a lot.", "P = 0.04."])
    assert searched.places_of("end. Pressure fell a lot. P") == [(1,)]
    assert searched.places_of("Pressure fell a lot. P = 0.04.") == [(1, 2)]
    assert searched.places_of("end.") == [(0,)]
    assert searched.places_of("") == []


@pytest.fixture
def real_folder(tmp_path: Path) -> Path:
    """Give a folder with the prompts of some papers of the real one."""
    real = DATA_FOLDER / "evidence_inference"
    if not real.is_dir():
        pytest.skip(f"needs the real file {real}, which is not here")
    folder = tmp_path / "some"
    folder.mkdir()
    for name in ("xml", "txt", "annotations.csv"):
        (folder / name).symlink_to(real / name)
    head, *lines = (real / "prompts.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    paper_of = {line: line.split(",")[1] for line in lines}
    papers = set(some_of(sorted(set(paper_of.values())), thorough=8, quick=40))
    chosen = [line for line in lines if paper_of[line] in papers]
    (folder / "prompts.csv").write_text("".join([head, *chosen]), encoding="utf-8")
    return folder


@pytest.mark.data
@pytest.mark.parametrize("read_from", FORMS)
def test_real_annotations_in_running_text_are_placed(read_from: PaperFormat, real_folder: Path) -> None:
    report, instances = converted(real_folder, read_from)
    assert report.n_placed_in_running_text >= 0.95 * report.n_in_running_text
    assert report.n_in_running_text >= 0.9 * report.n_valid
    assert all("metadata only" in message for message in report.unreadable_papers.values())
    annotations = annotations_of(find_folder(real_folder))
    for instance in instances.values():
        valid = [one for one in annotations[instance.id.rpartition("_")[2]] if reason_against(one) is None]
        assert set(instance.labels.texts.values()) <= {" ".join(one.text.split()) for one in valid}
        for aspect, held in texts_of(instance).items():
            wanted = letters_of(instance.labels.texts[aspect])
            middle = wanted[len(wanted) // 3 : 2 * len(wanted) // 3][:20]
            assert middle in letters_of(held)
    assert validate_file(real_folder.parent / "converted.json", optima=True).is_valid


def parts_in_xml(path: Path) -> dict[str, str]:
    """Return what stands in paragraphs, and what in tables and captions, read from the XML by other means than ours."""
    texts = {"paragraphs": "", "elsewhere": ""}

    def gather(element: ET.Element, part: str) -> None:
        inner = "elsewhere" if element.tag in {"table-wrap", "fig", "table", "array"} else part
        texts[inner] += element.text or ""
        for child in element:
            gather(child, inner)
            texts[inner] += child.tail or ""

    root = ET.parse(path).getroot()  # noqa: S314 - a file of the data set
    for tag in ("abstract", "body"):
        for element in root.iter(tag):
            gather(element, "paragraphs")
    for element in root.iter("floats-group"):
        gather(element, "elsewhere")
    return {part: "".join(text.split()) for part, text in texts.items()}


@pytest.mark.data
def test_what_an_independent_reading_of_the_xml_finds_in_paragraphs_is_running_text(real_folder: Path) -> None:
    folder, n = find_folder(real_folder), Counter[tuple[str, bool]]()
    annotations = annotations_of(folder)
    for prompt in read_prompts(folder.prompts):
        xml, plain = folder.paper(prompt.pmcid, "nxml"), folder.paper(prompt.pmcid, "txt")
        assert xml is not None
        assert plain is not None
        parts, text = parts_in_xml(xml), read_trial_text(plain.read_text(encoding="utf-8"), plain.name)
        for one in annotations.get(prompt.id, []):
            found = [part for part, held in parts.items() if "".join(one.text.split()) in held]
            if reason_against(one) is None and len(found) == 1 and one.start is not None and one.stop is not None:
                n[found[0], text.part_of(one.start, one.stop) == "running text"] += 1
    assert n["paragraphs", False] == 0
    assert n["paragraphs", True] > 10 * n["elsewhere", True]
    assert n["elsewhere", True] <= n["elsewhere", False]
