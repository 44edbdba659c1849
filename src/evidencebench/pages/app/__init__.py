"""The local app: the viewer for data of any size, beside the pages of people who pick sentences.

Read `address`, `security`, `slow_clients`, `serving` (how it is served); `words`, `search_index`, `listing`,
`background_scan` (what it knows of all instances); `assignments` (labels for people), `routes` (its pages).
"""
