"""Ask a system over a data set: names and options, answers, runs that go on where they stopped.

Read `system_table` (the names), `options` and `own_code`, then `making` (a system from its specification), `answering`
(one instance for one task) and `asking` (many instances); `execute` asks into a run file. `exchanges` shows prompts and
replies again; `fitting` tells whether a run fits.
"""
