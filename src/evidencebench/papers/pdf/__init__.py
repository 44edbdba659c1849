"""Reads PDFs.

In reading order:

* `extraction`: Child process: PDFium's characters with places
* `lines`: Characters to lines; running heads, line numbers
* `reading_order`: Columns and blocks
* `paragraphs`: Lines to paragraphs and their text
* `regions`: Running text, headings, captions; what tables, figures and formulas hold
* `roles`: Title, heading, abstract, body, left out
* `boxes`: Where sentences stand on pages
* `reader`: read_pdf: the steps; pages that cannot be read
"""
