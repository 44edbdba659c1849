"""The exact optima of an instance: the fewest sentences that cover all aspects, the most that k cover.

Read `cover` (the functions to call), then `branch_and_bound` (the search).
"""
