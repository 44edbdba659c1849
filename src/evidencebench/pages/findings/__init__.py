"""What was found in papers, for people and for programs: words, JSON records, tables, RIS notes and pages.

Read `words`, then `records`, `exports`, `page` (one file) and `routes` (the app's page).
"""
