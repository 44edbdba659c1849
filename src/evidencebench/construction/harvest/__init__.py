"""Passages of reviews, each about one paper, from citation marks and reference lists; no model is asked.

Read `references` (the list), `marks` (where it is cited), `passages` (which sentences speak of one paper), `drafts` (a
review's file becomes drafts) and `harvest` (many reviews become ``passages.jsonl``).
"""
