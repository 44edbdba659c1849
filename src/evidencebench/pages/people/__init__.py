"""The pages for people who answer tasks, each by name.

In reading order:

* `tasks`: TaskApp: sign in, list, task, save, submit; for picks, annotations and audits
* `picks`: Picking: tasks of a paper's sentences
* `annotations`: Annotating and adjudicating
* `assignments`: What a person picks from, and how they scored
* `audits`: Auditing
"""
