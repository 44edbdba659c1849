"""People check the labels: what they are asked, what they answered, and how well they agree with the model.

In reading order:

* `tasks`: Tasks for people and misses for auditors: one file form
* `answers`: Answers and verdicts: one folder form
* `exchange`: Label Studio, doccano, CSV
* `marks`: Who marked what; pair measures
* `intervals`: Bootstraps and power
* `agreement`: agreement(): the report
* `sampling`: Drawing the tasks that people are asked
"""
