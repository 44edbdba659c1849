"""The rules of the published format: `rules` says what breaks them in an instance, `validate` in files."""
