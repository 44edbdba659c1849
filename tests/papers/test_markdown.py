"""Papers in Markdown."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import MOST_MARKDOWN_CHARACTERS as MOST_CHARACTERS
from doors import UnreadableError, is_markdown, page_of, parse_html, read_content
from evidencebench import Dataset, Kind, Paper
from kit.outlines import n_left_out, outline

_PAPER = """---
author: A. Author
---
# Tea *lowers* pressure

A. Author, B. Author

## Abstract

### Background
Tea is **drunk** &amp; liked. It
is \\*cheap\\*.

Methods
-------

1. We asked 10<sup>6</sup> adults[7](#ref7), see [the tea](https://x.org/a_(b) "Tea") site.
2. They drank `H2O` and
   green tea.

> A quote goes
> on in __two__ lines.

![A figure](tea.png)

| dose | fall |
| --- | --- |
| 1 | 2.5 |

```python
print("no")
```

<!-- a comment -->

### Doses ###

One a day<br>or two.[^1]

[^1]: A note on the doses of tea.

## References

1. A paper.
"""


def stand_where_they_say(paper: Paper, markdown: str) -> None:
    """Check that each sentence stands where it says in the text of the page that Markdown makes."""
    text = parse_html(page_of(markdown), name="page").raw_text
    for sentence, span in zip(paper.sentences, paper.spans, strict=True):
        assert re.sub(r"[\W_]", "", text[span.start : span.stop]) == re.sub(r"[\W_]", "", sentence)


def test_a_paper_is_read_with_its_sections_and_places() -> None:
    paper = read_content(_PAPER.encode(), name="tea.txt")
    assert (paper.format, paper.title) == ("Markdown", "Tea lowers pressure")
    assert outline(paper) == [
        ("", "section", "Tea lowers pressure"),
        ("", "section", "Abstract"),
        ("Abstract/Background", "abstract", "Background: Tea is drunk & liked."),
        ("Abstract/Background", "abstract", "It is *cheap*."),
        ("", "section", "Methods"),
        ("Methods", "normal", "We asked 10^6 adults [7], see the tea site."),
        ("Methods", "normal", "They drank H2O and green tea."),
        ("Methods", "normal", "A quote goes on in two lines."),
        ("Methods", "section", "Doses"),
        ("Methods/Doses", "normal", "One a day or two.[^1]"),
    ]
    stand_where_they_say(paper, _PAPER[_PAPER.index("# Tea") :])
    assert [unit.text for unit in paper.units if unit.row] == ["dose: 1. fall: 2.5"]
    assert paper.loss.share_kept == 1
    sorts = ("code", "figure", "footnote", "front matter", "references", "table")
    assert n_left_out(paper) == dict.fromkeys(sorts, 1)


_PANDOC = r"""# Methods {#methods .unnumbered}

Doses were 10^6^ L of H~2~O, of TNF-$\alpha$ ($p \le 0.05$), for $5 to $6.^[A note.] See @fig:cup.

![A cup.](cup.png){#fig:cup width=50%}

  Group    Before
  ------- --------
  Tea       140

  : Pressure by group.

+---+---+
| a | b |
+---+---+

-------------------
 Group    Before
------- -----------
 Tea       140

 Water     141
-------------------

$$
E = mc^2
$$

::: {.note}
It fell. It rose
again.
:::

## References {#refs}

Lee A. Tea. 2004.
"""


def test_what_pandoc_writes_is_read() -> None:
    paper = read_content(_PANDOC.encode(), name="tea.md")
    assert outline(paper) == [
        ("", "section", "Methods"),
        ("Methods", "normal", "Doses were 10^6 L of H2O, of TNF-\u03b1 (p ≤ 0.05), for $5 to $6."),
        ("Methods", "normal", "See @fig:cup."),
        ("Methods", "normal", "It fell."),
        ("Methods", "normal", "It rose again."),
    ]
    assert [unit.text for unit in paper.units] == [
        *("A note.", "A cup.", "Pressure by group.", "Pressure by group. Group: Tea. Before: 140", "a. b"),
        *("Group: Tea. Before: 140", "Group: Water. Before: 141"),
    ]
    sorts = ("display formula", "figure", "footnote", "references")
    assert n_left_out(paper) == {**dict.fromkeys(sorts, 1), "other form of a formula": 2, "table": 3}


_OF_A_PDF = """![](_page_0_Picture_0.jpeg)

# **Tea and Pressure**

Ann Lee<sup>1</sup>

## **Abstract**

**Results:** It fell.

## <span id="page-0-1"></span>**1 Methods**

Tea is old [\\[1,](#page-5-0) [2\\]](#page-5-1). It was hot.

**Table 1.** Pressure by group.

| Group | Before |
|-------|--------|
| Tea   | 140    |

<span id="page-2-1"></span>**Figure 1.** A cup of tea over time.

Figure 1A shows a cup.

# **References**

- <span id="page-5-0"></span>[1] Lee A. Tea. 2004.
"""


@pytest.mark.parametrize("text", [_PAPER, _PANDOC, _OF_A_PDF, f'---\ntitle: "Tea"\n---\n{_PANDOC}'])
def test_line_ends_of_windows_make_no_difference(text: str) -> None:
    windows = read_content(text.replace("\n", "\r\n").encode(), name="tea.md")
    plain = read_content(text.encode(), name="tea.md")
    assert (windows.title, outline(windows), windows.loss) == (plain.title, outline(plain), plain.loss)


def test_headings_are_told_by_bold_type_and_levels_by_numbers_where_marks_do_not_say() -> None:
    flat = "## Tea\n\n## 1. Methods\n\n## 1.1. People\n\nTen **came**.\n\n## 2. Results\n\nIt fell.\n"
    assert outline(read_content(flat.encode(), name="tea.md"))[2:] == [
        ("1. Methods", "section", "1.1. People"),
        ("1. Methods/1.1. People", "normal", "Ten came."),
        ("", "section", "2. Results"),
        ("2. Results", "normal", "It fell."),
    ]
    bold = "**Abstract**\n\nTea is hot.\n\n**Methods:**\n\n**Ten** adults **came**.\n\n**No heading**\n\nIt fell.\n"
    assert outline(read_content(bold.encode(), name="tea.md"))[1:] == [
        ("Abstract", "abstract", "Tea is hot."),
        ("", "section", "Methods:"),
        *(("Methods", "normal", text) for text in ("Ten adults came.", "No heading", "It fell.")),
    ]


def test_markdown_made_of_a_pdf_is_read_without_its_captions() -> None:
    paper = read_content(_OF_A_PDF.encode(), name="tea.md")
    assert paper.title == "Tea and Pressure"
    assert [text for _, _, text in outline(paper)] == [
        *("Tea and Pressure", "Abstract", "Results: It fell.", "1 Methods", "Tea is old [1, 2].", "It was hot."),
        "Figure 1A shows a cup.",
    ]
    assert n_left_out(paper) == {"figure": 2, "front matter": 1, "references": 1, "table": 2}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Tea\n\nIt fell. It rose. It fell. It rose again in all.\n", "Markdown"),
        ("Tea\n===\n\nIt fell.\n", "Markdown"),
        ("It [fell](https://x.org).\n", "Markdown"),
        ("It **fell**.\n", "Markdown"),
        ("---\ntitle: Tea\n---\nIt fell.\n", "Markdown"),
        ("It fell (*P* < 0.05, **P < 0.01, ***P < 0.001).\nIt rose.\n", "text, one sentence a line"),
        ("See [9] (p. 3) and a_b_c.\n* It fell.\n- It rose.\n", "text, one sentence a line"),
        ("TITLE:\nTea **now**\n\nABSTRACT.RESULTS:\nIt fell.\n", "text with labelled parts"),
    ],
)
def test_markdown_is_told_by_its_marks(text: str, expected: str) -> None:
    assert read_content(text.encode(), name="tea.md").format == expected


def test_the_front_matter_can_hold_the_title() -> None:
    text = '---\ntitle: "Tea falls"\nlang: en\n---\n\n# Introduction\n\nIt fell.\n'
    paper = read_content(text.encode(), name="tea.md")
    assert (paper.title, paper.sentences) == ("Tea falls", ("Tea falls", "Introduction", "It fell."))


def test_what_is_no_paper_is_refused_in_words() -> None:
    with pytest.raises(UnreadableError, match=r"tea\.md: Markdown: .*metadata only: a title"):
        read_content(b"# Tea\n\n![A](b.png)\n", name="tea.md")
    with pytest.raises(UnreadableError, match="1,000,000 characters, got 1,000,002"):
        read_content(b"**a** " * (MOST_CHARACTERS // 6 + 1), name="tea.md")


_PIECES = (
    *("tea ", "*", "**", "_", "`", "[", "](x)", "[a](b (c) 'd')", "![a](b)", "<sup>", "</sup>", "<br>", "&lt;", "\\*"),
    *("\n", "\n\n", "> ", "- ", "1. ", "# ", "\n---\n", "\r\n", "    ", "\t", "<https://x.org>", "[^1]", "é"),
    "|a|b|\n|-|-|\n",
)


@given(st.lists(st.sampled_from(_PIECES), max_size=30))
def test_no_word_is_lost_in_any_markdown(pieces: list[str]) -> None:
    words = [f"w{number}w" for number in range(len(pieces) + 1)]
    text = "".join(part for pair in zip(words, [*pieces, ""], strict=True) for part in pair)
    page = parse_html(page_of(text), name="page").raw_text
    in_code = [word for word in words if word not in page]
    assert all(f"({word}" in text or f"]{word}" in text or "<" in text for word in in_code)


@pytest.mark.data
def test_no_real_paper_of_one_sentence_a_line_is_taken_for_markdown(train: Dataset) -> None:
    for query in train.queries():
        marks = ("# " if kind is Kind.HEADING else "" for kind in query.kinds)
        lines = [mark + " ".join(text.split()) for mark, text in zip(marks, query.sentences, strict=True)]
        assert not is_markdown("\n".join(lines).encode()), query.instance_id


@pytest.mark.parametrize("anchor", ['<span id="page-1-0"></span>', '<a name="r"></a><span id="p"></span>'])
def test_a_heading_behind_an_anchor_is_one(anchor: str) -> None:
    text = f"# Tea\n\n#### 1. Methods\n\nWe asked.\n\n{anchor}#### **2. Results**\n\nIt fell.\n"
    paper = read_content(text.encode(), name="tea.md")
    assert paper.sentences == ("Tea", "1. Methods", "We asked.", "2. Results", "It fell.")


def test_tables_of_html_have_rows_and_rules_within_code_are_no_table() -> None:
    text = (
        "# Tea\n\nIt fell.\n\n<table><tr><th>Group</th><th>Fall</th></tr>\n<tr><td>Tea</td><td>5</td></tr></table>\n\n"
        "~~~\n a    b\n ---- ----\n 1    2\n~~~\n\nIt rose.\n"
    )
    paper = read_content(text.encode(), name="tea.md")
    assert paper.sentences == ("Tea", "It fell.", "It rose.")
    assert [unit.text for unit in paper.units] == ["Group: Tea. Fall: 5"]
    assert n_left_out(paper) == {"table": 1, "code": 1}
