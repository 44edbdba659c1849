"""What `find` found, for people and for programs: words, JSON records, tables, RIS notes, and a page.

Read `words`, then `records`, `exports` and `page`.
"""
