"""What is read from servers: addresses checked, answers bounded in time and size.

Read `transient` (failures that the next attempt may not meet), `fetch` over `paced_http`, and `served_json` (JSON as
servers send it).
"""
