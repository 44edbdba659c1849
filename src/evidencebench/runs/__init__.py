"""Answers on the disk, whoever gave them: runs of systems, and what people answer.

In reading order:

* `header`: RunHeader: everything that decides the answers of a run
* `answers`: AnswersHeader, Answer and its forms: one form of file for answers
* `earlier`: Runs of the first form, as they are written now
* `run`: RunFile, read_run: a run, its answers decoded when they are asked for
* `people`: AnswerFolder: what people answer, a file a person
* `oddities`: What is odd in answers, as warnings; classes of failures
* `formats`: Answers in any form: our runs, Parquet, JSON, TREC
"""
