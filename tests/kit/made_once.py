"""What takes seconds to make, and is made once for all processes of a session."""

from collections.abc import Callable
from pathlib import Path

MadeOnce = Callable[[str, Callable[[Path], object]], Path]
"""Makes something in a folder of that name, and returns the folder; as the fixture `made_once` gives it."""
