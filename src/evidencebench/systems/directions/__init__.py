"""What a sentence reports of a hypothesis's outcome: an increase, a decrease, or no difference.

Read `features` (the words of a sentence, with those of the hypothesis marked), then `classifier` (the answer, from the
weights in `shipped_directions.json`).
"""
