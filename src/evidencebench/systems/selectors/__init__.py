"""Systems that read a whole paper and choose sentences together."""
