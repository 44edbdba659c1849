"""The exact optima of an instance: the fewest sentences that cover all aspects, the most that k cover."""
