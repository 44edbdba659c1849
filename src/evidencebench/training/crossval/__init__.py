"""Cross-validation by paper: every paper is answered by models that saw nothing of it.

In reading order: `plan` (what is measured, cut into splits), `splits` (one split is trained and asked), `waiting`
(splits that wait for a server), `journal` (what is finished is kept), `figures` (what comes out), `cross_validate`.
"""
