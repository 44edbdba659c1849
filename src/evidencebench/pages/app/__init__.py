"""The local app: the viewer for data of any size, beside the pages of people who pick sentences.

Read `serving` (where it listens) and `security`; `search_index`, `listing`, `background_scan` (what it knows of all
instances); `assignments` (labels for people), `routes` (its pages).
"""
