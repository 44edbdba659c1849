"""The pages for people who answer tasks, each by name.

In reading order:

* `tasks`: TaskApp: sign in, list, task, save, submit; tasks in journals, and papers to pick from
* `annotations`: Annotating and adjudicating
* `assignments`: What a person picks from, and how they scored
* `audits`: Auditing
* `review`: The desk of a review
"""
