"""Users' own papers, read into sentences with their kinds, places and offsets.

Read `paper` (the result) and `read` (the table of readers, one file each). Readers return `blocks` of `sourced_text`;
`blocks` makes the paper of them, with `sentences` to split. `losses` counts what is kept and left out, `section_titles`
knows the titles that papers share, for all readers, and where the abstract ends; `decoding` turns bytes into text.

`markup_tree` is what XML and HTML are parsed into. `plain` reads plain text, with `text_lines`, `layout`, `line_ends`
and `plain_headings`; the folder `pdf` reads PDFs. `refusal` words the errors for what no reader takes.

XML: `xml_text` (decoded), `xml_tree` (parsed), `xml_formats` (which format it is). `jats` reads articles, by
`jats_blocks` (paragraphs), `running_text` (references and superscripts in them) and `math_text` (formulas); `tei` and
`bioc` read the other formats, the second as JSON too.

HTML: `html_tree` (parsed), `html_page` (title and ids, where the article is), `html_parts` (what is left out),
`html_sections` (the article as elements of JATS), `html`. Markdown becomes such a page: `markdown_marks` (those that
CommonMark lacks), `markdown_tree`, `markdown`. `captions` tells captions, here and in PDFs.

Papers are fetched by `fetching`: `paper_ids` (how papers are named) and `europe_pmc` (the service that has them).
"""
