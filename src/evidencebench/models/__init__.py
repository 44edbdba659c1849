"""What is computed elsewhere: read `endpoints` (addresses, keys, when to try again), then `llm` or `embedding`."""
