"""How bytes get to the disk and back: whole, checked, and shared between processes."""
