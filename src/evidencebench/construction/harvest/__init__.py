"""Passages of reviews, each about one paper, from citation marks and reference lists; no model is asked.

In reading order:

* `harvest`: Reviews to passages; why a passage is dropped
* `references`: Reference list, ids, licences
* `marks`: Citation marks, linked and plain
* `tables`: Rows of tables of studies
* `passages`: Passages; who speaks in them
* `papers`: Papers at hand, in a folder
* `table`: Summaries from a CSV
"""
