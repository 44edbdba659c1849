"""Servers and adapters for the interfaces of other tools: `fake_server` is a language model server for trials."""
