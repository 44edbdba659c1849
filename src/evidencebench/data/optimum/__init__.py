"""The exact optima of an instance: the fewest sentences that cover all aspects, the most that k cover.

Read `cover` (what is asked), `branch_and_bound` (the search), `integer_program` (what the search cannot finish).
"""
