"""What inspect_ai finds of evidencebench: tasks, a scorer, our systems as models; and any run as one of its logs.

Read `replies` (a model's replies, read by our reader), `samples` (an instance as a sample, and back), `scores`,
`tasks`, `models` and `logs` (a run as an ``.eval`` file). `registered` is the entry point, whose import makes the names
known to inspect_ai. All of them need the extra ``inspect``: nothing else of this package imports them at its top.
"""
