"""Papers and reviews become a data set, step by step.

Read `draft` (what the steps hand on) and `draft_file` (how it lies on the disk).
`people/` checks the labels with people.
"""
