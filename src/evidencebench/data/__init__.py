"""Queries with their labels: the data set, its formats, its rules and its optima.

In reading order:

* `instance`: Labels, Instance
* `tasks`: Task, TASKS
* `dataset`: Dataset: open, index, write
* `sources`: Formats by suffix, several files as one
* `json_format`: JSON and JSON Lines: index, read, write, keys of the published format
* `parquet_format`: Parquet: an instance a row, in readable columns
* `validation`: check files against every rule of the format
* `cover`: minimum_cover, maximum_coverage: exact
* `branch_and_bound`: The search over masks, within a node budget
* `optima`: solve(): stored evaluations of a file
* `statistics`: describe()
* `catalog`: Known data sets
* `download`: Resumable, checked download
* `hypotheses`: Files of other hypotheses
* `evidence_inference`: Evidence Inference 2.0: its files and plain texts
* `evidence_inference_labels`: Marked texts found in sentences; instances
* `oracle`: The oracles, which are given the labels
* `sample`: The shipped sample
"""
