"""Where work runs: one protocol, and one file for each place.

In reading order:

* `protocol`: Engine, Outcome, results in order, Ctrl-C
* `dispatch`: items for the workers of a pool; what a dead one had is tried again
* `local`: InProcess and Threads
* `processes`: Processes
* `ray`: RayCluster
"""
