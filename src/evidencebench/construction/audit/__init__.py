"""Which misses of a run are not its own fault, as people judge a sample of them, and what its score would then be.

Read `causes` (what people choose from), `misses` (the sampled misses, a file), `sampling` (how they are drawn),
`verdicts` (what people said), `corrected_scores` (the score without the misses that are not the run's fault) and
`report`, which puts these together.
"""
