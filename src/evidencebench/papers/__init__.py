"""Users' own papers, read into sentences with their kinds, places and offsets.

In reading order:

* `paper`: Paper, its text with places in the file, what was lost
* `read`: read_paper, read_papers; formats told by content; refusals
* `text`: Text with anchors (offset of each run), white space, super- and subscripts, formulas
* `blocks`: Blocks to sentences: paragraphs split
* `sections`: Titles of sections, the outline
* `tree`: XML and HTML into one tree, safe and in linear time
* `units`: Rows of tables with their heads, captions, notes
* `jats`: JATS/NLM
* `tei`: TEI of GROBID
* `bioc`: BioC JSON and XML
* `html`: Web pages: metadata, the article, its sections
* `markdown`: Markdown
* `zipped`: Word's .docx and EPUB: archives, read within bounds
* `plain`: Plain text: layout, lines, headings
* `ids`: PMCID, DOI, PMID
* `lists`: RIS, BibTeX, CSL JSON, PubMed's exports: records, their ids and files
* `ris`: Papers with notes as RIS
* `language`: The language of a text: words and scripts of others than English
* `numbers`: The numbers of a text, however they are written
* `duplicates`: The same paper in several files
* `fetching`: Europe PMC: fetch papers into a folder
* `lines`: Lines of printed text: how they join, captions
* `pdf`: Reads PDFs
"""
