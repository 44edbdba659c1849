"""Pictures of scores: SVG, PNG, and lines of a terminal. They know numbers and names, and nothing else."""
