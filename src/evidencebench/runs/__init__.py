"""Answers on the disk: runs of this package, answers of others, and what people picked.

In reading order:

* `header`: RunHeader: everything that decides a result
* `run`: Run: read_run, open_run (JSON, TREC, ours), answer lines
* `people`: People as a system: picks, drafts, submissions
* `oddities`: What is odd in answers, as warnings; classes of failures
* `formats`: Answers in any form: our runs, Parquet, JSON, TREC
"""
