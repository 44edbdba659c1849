"""What is read from servers: addresses checked, answers bounded in time and size.

Read `passing` (what may be gone next time), `fetch` over `paced_http`, and `served_json` (JSON as servers send it).
"""
