"""The sections of the report, one a file: each turns findings into elements, and decides nothing else."""
