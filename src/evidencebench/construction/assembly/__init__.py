"""Judged drafts become a data set: a folder with a file a split, a datasheet, a manifest and what was dropped.

In reading order:

* `assemble`: Drafts to a data set
* `leakage`: Same papers, other data sets
* `datasheet`: Datasheet, provenance, losses
"""
