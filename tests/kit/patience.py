"""How long a test waits for what comes for certain, but late where other work shares the machine."""

MOST_SECONDS = 240
"""Less than what `make test` gives a whole test, so that it fails where it waits."""
