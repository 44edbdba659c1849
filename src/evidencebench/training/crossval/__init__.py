"""Cross-validation by paper: every paper is answered by models that saw nothing of it.

In reading order: `plan` (what is measured, cut into splits), `splits` (one split is trained and asked), `figures` (what
comes out), `cross_validate` (all of it, with a journal to go on from).
"""
