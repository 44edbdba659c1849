"""A small folder of Evidence Inference, in own words, with an annotation for each thing that can happen."""

import csv
from collections.abc import Sequence
from pathlib import Path

TEA = """\
TITLE:
Tea and blood pressure in adults

ABSTRACT.RESULTS:
Tea lowered systolic pressure by 3 mmHg (P = 0.02). Nobody slept worse.

BODY.METHODS:
We asked forty adults to drink green tea or warm water every morning.

BODY.RESULTS:
Systolic pressure fell by 3 mmHg [12] with tea but did not change with water. \
Sleep was the same in both groups (Table 1).Table 1Sleep and pressure

Age in years
54 (3.1)
Headache
4
9

Figure 1 Pressure by week in both groups, with standard errors.
The number of headaches fell by half with tea [4 vs. 9; χ
2 = 4.6, P = 0.03]. Nobody slept worse.
"""
TEA_NXML = """<?xml version="1.0"?>
<article><front><article-meta><title-group><article-title>Tea and blood pressure in adults</article-title></title-group>
<abstract><sec><title>Results</title><p>Tea lowered systolic pressure by 3&#x202f;mmHg (<italic>P</italic> = 0.02).
Nobody slept worse.</p></sec></abstract></article-meta></front><body>
<sec><title>Methods</title><p>We asked forty adults to drink green tea or warm water every morning.</p></sec>
<sec><title>Results</title><p>Systolic pressure fell by 3 mmHg [<xref ref-type="bibr" rid="r12">12</xref>] with tea but
did not change with water. Sleep was the same in both groups (Table <xref rid="t1">1</xref>).<table-wrap
id="t1"><label>Table 1</label><caption><p>Sleep and pressure</p></caption><table><tr><td>Age in years</td><td>54 (3.1)
</td></tr><tr><td>Headache</td><td>4</td><td>9</td></tr></table></table-wrap></p>
<fig><label>Figure 1</label><caption><p>Pressure by week in both groups, with standard errors.</p></caption></fig>
<p>The number of headaches fell by half with tea [4 vs. 9; &#x3c7;<sup>2</sup> = 4.6, P = 0.03].
Nobody slept worse.</p>
</sec></body></article>
"""
COFFEE = """TITLE:
Coffee and sleep

BODY:
Coffee shortened sleep by an hour in every week of the trial. Moods did not differ.
"""
COFFEE_NXML = """<article><front><article-meta><title-group><article-title>Coffee and sleep</article-title>
</title-group></article-meta></front><body>
<p>Coffee shortened sleep by an hour in every week of the trial. Moods did not differ.</p>
</body></article>"""

UP, DOWN, SAME = "significantly increase", "significantly decreased", "no significant difference"
PROMPTS = [
    ("1", "11", "systolic pressure", "green&nbsp;tea", "warm water"),
    ("2", "11", "sleep", "green tea", "warm water"),
    ("3", "11", "headaches", "green tea", "warm\nwater"),
    ("4", "22", "sleep", "coffee", "decaf"),
    ("5", "33", "sleep", "cocoa", "milk"),
    ("6", "22", "mood", "coffee", "decaf"),
    ("7", "11", "age", "green tea", "warm water"),
]

PRESSURE = "Systolic pressure fell by 3 mmHg [12] with tea"
# Prompt, annotator, whether label and reasoning are valid, label, marked text, and what is added to its offset; None
# stands for no offsets.
ANNOTATIONS: list[tuple[str, str, bool, bool, str, str, int | None]] = [
    ("1", "0", True, True, DOWN, PRESSURE, 0),
    ("1", "0", True, True, DOWN, PRESSURE, 0),  # the same row again
    ("1", "1", True, True, DOWN, "Tea lowered systolic pressure by 3\nmmHg (P = 0.02).", 2),  # off by two characters
    ("1", "2", True, True, SAME, PRESSURE, None),  # the same text: the same aspect
    ("1", "3", False, True, UP, PRESSURE, 0),
    ("1", "4", True, False, UP, PRESSURE, 0),
    ("2", "0", True, True, "invalid prompt", PRESSURE, 0),
    ("2", "1", True, True, "maybe", PRESSURE, 0),
    ("2", "2", True, True, SAME, "  ", None),
    ("2", "3", True, True, SAME, "Sleep was the same in both groups (Table 1).Table 1", 0),
    ("2", "4", True, True, UP, "Nobody slept worse.", 0),  # stands twice: the offsets say where
    ("2", "5", True, True, UP, "Nobody slept worse.", None),
    ("3", "0", True, True, DOWN, "headaches fell by half with tea [4 vs. 9; χ\n2 = 4.6, P = 0.03]", 0),
    ("3", "1", True, True, DOWN, "Headache\n4\n9", 0),
    ("3", "2", True, True, DOWN, "Pressure by week in both groups", 0),
    ("3", "3", True, True, DOWN, "Tea made all of the headaches vanish at once.", None),
    ("4", "0", True, True, DOWN, "Coffee shortened sleep by an hour", 0),
    ("5", "0", True, True, UP, "Cocoa lengthened sleep.", None),
    ("6", "0", True, False, UP, "Moods did not differ.", 0),
]
LEFT_OUT = {
    "repeated row": 1,
    "invalid label": 1,
    "invalid reasoning": 2,
    "invalid prompt": 1,
    "unknown label": 1,
    "empty text": 1,
    "text found in several places": 1,
    "text not found": 1,
    "in a table": 1,
    "in a caption": 1,
    "no paper": 1,
}
PROMPTS_LEFT_OUT = {"no paper": 1, "no valid annotation": 1, "no annotation": 1}


def write_trial_folder(folder: Path, *, is_published: bool = False, formats: str = "txt nxml") -> Path:
    """Write the folder, with the names that the published one has or with the shorter ones, and return it."""
    folder.mkdir(parents=True)
    papers = {"txt": {"11": TEA, "22": COFFEE}, "nxml": {"11": TEA_NXML, "22": COFFEE_NXML}}
    for one in formats.split():
        name = {"nxml": "xml"}.get(one, one)
        place = folder / (f"{name}_files" if is_published else name)
        place.mkdir()
        for pmcid, text in papers[one].items():
            (place / f"PMC{pmcid}.{one}").write_text(text, encoding="utf-8")
    prompts = [("PromptID", "PMCID", "Outcome", "Intervention", "Comparator"), *PROMPTS]
    _write_table(folder / ("prompts_merged.csv" if is_published else "prompts.csv"), prompts)
    header = ("UserID", "PromptID", "PMCID", "Valid Label", "Valid Reasoning", "Label", "Annotations", "Label Code")
    rows = [(*header, "In Abstract", "Evidence Start", "Evidence End"), *map(_annotation_row, ANNOTATIONS)]
    _write_table(folder / ("annotations_merged.csv" if is_published else "annotations.csv"), rows)
    if is_published:
        (folder / "splits").mkdir()
        for split, ids in {"train": "11\n", "validation": "22\n", "test": "44\n"}.items():
            (folder / "splits" / f"ev2_{split}_article_ids.txt").write_text(ids)
    return folder


def _annotation_row(one: tuple[str, str, bool, bool, str, str, int | None]) -> tuple[str, ...]:
    prompt, annotator, valid_label, valid_reasoning, label, text, shift = one
    pmcid = next(row[1] for row in PROMPTS if row[0] == prompt)
    plain = {"11": TEA, "22": COFFEE}.get(pmcid, "")
    start = -1 if shift is None else plain.rfind(text if text in plain else text.split("\n")[0]) + shift
    stop = -1 if shift is None else start + len(text)
    valid = (str(valid_label), str(valid_reasoning))
    return (annotator, prompt, pmcid, *valid, label, text, "0", "UNK", str(start), str(stop))


def _write_table(path: Path, rows: Sequence[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
