"""Users' own papers, read into sentences with their kinds, places and offsets.

In reading order:

* `paper`: Paper, its text with places in the file, what was lost
* `record`: A paper as JSON
* `read`: read_paper, read_all_content; formats told by content; refusals
* `text`: Text with anchors (offset of each run), white space, super- and subscripts
* `formulas`: Formulas as one tree, with MathML's names, and each in a line
* `tex`, `word_formulas`: Formulas of TeX and of Word, as MathML has them
* `page_formulas`: Of the forms of a formula in a page, the best; signs that are pictures
* `blocks`: Blocks to sentences: paragraphs split
* `sections`: Titles of sections, the outline
* `tree`: XML and HTML into one tree, safe and in linear time
* `units`: Rows of tables with their heads, captions, notes
* `jats`: JATS/NLM
* `tei`: TEI of GROBID
* `bioc`: BioC JSON and XML
* `html`: Web pages: metadata, the article, its sections
* `markdown`: Markdown
* `word`: Word's .docx, made ready for mammoth
* `zipped`: Archives, read within bounds; EPUB
* `plain`: Plain text: layout, lines, headings
* `ids`: PMCID, DOI, PMID
* `lists`: Lists of papers in RIS, BibTeX and ten other formats: records, their ids and files
* `ris`: Papers with notes as RIS
* `language`: The language of a text: words and scripts of others than English
* `numbers`: The numbers of a text, however they are written
* `duplicates`: The same paper in several files
* `fetching`: Europe PMC: fetch papers into a folder
* `lines`: Lines of printed text: how they join, captions
* `pdf`: Reads PDFs
* `sample`: A paper that comes with the package, and its source
"""
