"""The local app: a server for the paper viewer, with data of any size, and for the pages of people who pick sentences.

Read `serving` (its address), `security` and `static` (what all its pages share); `search_index`, `listing`,
`background_scan` (search and list over all instances), `list_file` (the list as CSV); `own_scores` and `assignments`
(papers for people, and the labels and scores that they see afterwards), `routes` (its pages).
"""
