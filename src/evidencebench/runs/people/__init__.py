"""People as a system: what a person picked, as a run file like any other. Nothing here knows a label."""
