"""Reads PDFs.

Read `reader` (the steps), then `pages` (a child process runs `extraction`, which sends `characters`), `unread_pages`
(those without text that can be read), `lines`, `page_edges` (running heads, page and line numbers), `reading_order`
(columns), `paragraphs`, `roles` with `section_names` (title, headings, abstract, body, what is left out) and
`paragraph_text` (words over line ends).
"""
