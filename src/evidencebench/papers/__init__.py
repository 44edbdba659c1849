"""Papers from elsewhere, read into sentences with their kinds."""
