"""How instances are written in files, one format a file."""
