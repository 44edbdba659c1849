"""The rules of the published format: `rules` finds violations in an instance, `validate` in files."""
