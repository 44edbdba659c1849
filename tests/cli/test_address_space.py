"""Where the system gives a process less address space than a limit of ours, as on clusters, the work is done."""

import subprocess
import sys

import pytest

# 3,000,000 KiB, as of `ulimit -v 3000000`.
_LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (3_000_000 << 10, 3_000_000 << 10))
from evidencebench.cli.main import main
main()
"""
_PAPER = "Tea lowers pressure in adults. Coffee was not given to anybody.\n"


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    "arguments",
    [
        "run bm25 --data sample -o run.jsonl",
        "run bm25 --data sample -o two.jsonl --jobs 2",
        "score lead.jsonl --data sample",
        "score answers.json --data sample",
        "find Tea. -",
        "data convert sample copy.json.gz",
        "data solve sample -o solved.json",
        "data validate sample",
        "report lead.jsonl --data sample -o page.html",
        "leaderboard lead.jsonl --data sample",
        "compare lead.jsonl bm25.jsonl --data sample",
        "export trec sample lead.jsonl -o trec",
        "demo",
    ],
)
def test_no_command_of_the_core_needs_over_three_gigabytes_of_address_space(arguments: str) -> None:
    limited = [sys.executable, "-c", _LIMITED, *arguments.split()]
    ended = subprocess.run(limited, input=_PAPER, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
