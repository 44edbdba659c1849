"""Reads PDFs.

In reading order:

* `child`: The process that opens PDFs, with little time and memory
* `extraction`: Child process: PDFium's characters with places
* `lines`: Characters to lines; running heads, line numbers
* `reading_order`: Columns and blocks
* `paragraphs`: Lines to paragraphs and their text
* `regions`: Running text, headings, captions; what tables, figures and formulas hold
* `front`: Where the abstract stands
* `roles`: Title, heading, abstract, body, left out
* `page_units`: Rows of tables, captions, notes and end matter as units
* `identity`: DOI and year
* `boxes`: Where sentences stand on pages
* `reader`: read_pdf: the steps; pages that cannot be read
* `pictures`: Child process: shapes of pages, and a page as a picture
* `marking`: Child process: highlights written behind the bytes of a PDF
"""
