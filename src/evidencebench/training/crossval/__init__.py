"""Cross-validate systems by paper: a model never answers a paper on which it was trained.

In reading order: `plan` (what is measured, cut into splits), `splits` (train and ask one split), `figures` (the
results), `out_of_fold` (the answers as a run), `cross_validate` (all of it, with a journal).
"""
