"""Servers and adapters that speak the interfaces of other tools: `fake_server`, a language model server for trials."""
