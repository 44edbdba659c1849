"""Where work runs: one protocol, and one file for each place.

In reading order:

* `protocol`: Engine, Outcome, results in order, Ctrl-C
* `local`: InProcess and Threads
* `processes`: Processes; workers that die are replaced
* `ray`: RayCluster
"""
