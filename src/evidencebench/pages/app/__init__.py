"""The local app: a server for the paper viewer, with data of any size.

Read `serving` (its address), `security` and `static` (what all apps share); `search_index`, `listing`,
`background_scan` (search and list over all instances), `list_file` (the list as CSV) and `routes` (its pages).
"""
