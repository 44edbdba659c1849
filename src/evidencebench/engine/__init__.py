"""Where work runs: one protocol, and one file for each place.

Read `protocol` (what an engine does), then `in_process`, `processes` and `threads`, then `ordering` (results in the
order of the items, on any engine); `interrupts` is what a first Ctrl-C means.
"""
