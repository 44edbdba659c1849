"""Where work runs: one protocol, and one file for each place.

Read `protocol` (the interface of an engine), then `in_process`, `threads`, `processes` and `ray_cluster`; `dispatch`
gives items to workers that may die. `results` takes results from an engine, in the order of the items where that
matters; `interrupts` handles Ctrl-C.
"""
