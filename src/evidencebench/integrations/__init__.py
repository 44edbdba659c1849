"""Servers and adapters for the interfaces of other tools.

`fake_server` is a language model server for trials; `plugin_template` has the files of a new package with a system.
"""
