"""Where work runs: one protocol, and one file for each place.

Read `protocol` (the interface of an engine), then `in_process`, `processes` and `threads`, then `ordering` (results in
the order of the items, on any engine); `interrupts` handles Ctrl-C.
"""
