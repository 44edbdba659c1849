"""``evidencebench find``, which asks a system about papers of the user's own.

Read `inputs` (the papers and hypotheses that it is given), `printing`, then `command`.
"""

from evidencebench.cli.find.command import command

__all__ = ["command"]
