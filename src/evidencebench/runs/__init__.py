"""Answers on the disk: runs of this package, answers of others, and what people picked.

Read `header` and `answer_line` (the lines of a run), then `run_file`, `formats` (`open_run`, which reads answers of any
form), `parquet_run` (a run as columns) and `given_answers` (answers in a dict); `people/` holds what people picked.
"""
