"""Passages of reviews, each about one paper, from citation marks and reference lists; no model is asked.

Read `references` (the list, with `paper_names` for its ids), `marks` and `plain_marks` (where it is cited, by links and
in plain text), `review_source` (all that is read of a review), `passages` (which sentences speak of one paper, by the
words of `voice`), `reasons` (why a passage is dropped), `drafts` (a review's file becomes drafts) and `harvest` (many
reviews become ``passages.jsonl``). `papers_at_hand` knows the files of cited papers, with their `licences`. `table`
takes summaries that exist already.
"""
