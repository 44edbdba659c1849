"""The rules of the published format, and what breaks them."""
