"""Make systems, ask them over a data set, and write their answers to run files.

In reading order:

* `making`: make_system(): a specification's name and options
* `own_code`: Users' own code
* `asking`: Ask systems about instances, one or many at a time
* `run`: run(): a run file, resumable; estimate
* `changes`: Changed queries over a data set
* `exchanges`: Prompts and replies of a run, made again
* `finding`: find_evidence
* `findings`: What `find` found, in words and files
* `marked_pdfs`: Copies of PDFs with their evidence highlighted
* `mentions`: Which words of a question a paper mentions
* `rewriting`: Hypotheses rewritten by a model, over a data set
* `compatibility`: Whether a run, its labels and a data set belong together
* `answers`: Answers of a system to one instance, task by task
* `system_table`: The table of systems, and those of installed packages
"""
