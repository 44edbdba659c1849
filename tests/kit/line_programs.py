"""Programs that answer lines of JSON, as the system ``exec`` starts them."""

import sys
from pathlib import Path

SHARED_WORDS = """\
import json, sys

print(json.dumps({"protocol": 1, "versions": {"words": "3"}}), flush=True)
for line in sys.stdin:
    query = json.loads(line)["query"]
    words = set(query["hypothesis"].lower().split())
    shared = [len(words & set(text.lower().split())) for text in query["sentences"]]
    order = sorted(range(len(shared)), key=lambda index: -shared[index])
    print(json.dumps({"sentences": order, "scores": [shared[index] for index in order]}), flush=True)
"""


def write_program(path: Path, code: str = SHARED_WORDS) -> Path:
    """Write a program in Python that can be run by its path."""
    path.write_text(f"#!{sys.executable} -SE\n{code}")
    path.chmod(0o755)
    return path
