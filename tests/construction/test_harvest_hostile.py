"""Reviews are untrusted: whatever a file holds, it is harvested in linear time, or refused in words."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from broken_papers import ARTICLE, mutated, restructured
from citing_reviews import cite, reference, review
from evidencebench.construction.harvest.harvest import HarvestRules, harvest_review
from evidencebench.errors import UnreadableError
from examples import IS_THOROUGH, SHORTER

WHOLE = review(
    f"Tea is old. Kim et al. [{cite(1)}] gave tea. They found no harm.",
    f"Tea helps.<sup>{cite(2)}\u2013{cite(5)}</sup> (Author7 et al., 2007) It is hot [{cite(3)}, 4].",
)


def outcome(content: bytes) -> str:
    """Return why a review is refused, or an empty text; any other error fails the test."""
    try:
        harvest_review(content, file="review.xml", rules=HarvestRules())
    except UnreadableError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("whole", [WHOLE, ARTICLE.encode()])
def test_broken_reviews_are_harvested_or_refused_in_words(whole: bytes) -> None:
    assert outcome(whole) == ""
    rng = random.Random(7)
    told = [outcome(mutated(rng, whole)) for _ in range(1000 if IS_THOROUGH else 100)]
    assert any(told)
    assert not all(told)
    assert all(message.startswith("review.xml") and len(message) < 600 for message in told if message)


def test_rearranged_reviews_are_harvested_or_refused_in_words() -> None:
    rng = random.Random(8)
    for _ in range(300 if IS_THOROUGH else 60):
        outcome(restructured(rng, WHOLE.decode()))


def test_ranges_that_name_a_million_references_are_refused() -> None:
    listed = map(reference, range(1, 2001))
    found = outcome(review(f"{cite(1)}-{cite(2000)}. " * 600, references=listed))
    assert "review.xml: expected marks that name at most 1,000,000 references, got more" in found


N = 300_000 // SHORTER

LARGE = {
    "marks in one sentence": f"Tea [{', '.join([cite(1)] * (N // 20))}].",
    "sentences on one paper": f"Tea helps [{cite(1)}]. " * (N // 20),
    "sentences between": f"One trial gave tea [{cite(1)}]. Tea is hot. Tea is old. They found no harm. " * (N // 40),
    "open brackets": "[" * N,
    "open rounds": "(" * N,
    "numbers in brackets": f"[{'1, ' * N}]",
    "numbers of a link": cite(1, text="1-9, " * N),
    "dashes": f"{cite(1)}{'-' * N}{cite(2)}",
    "spaces": f"Tea{' ' * N}2004",
    "capitals": "A" * N,
    "names": "Kim and " * N,
    "names and years": "(Kim et al., 2004) " * (N // 10),
    "words that compare": "These " + "in x " * N + ".",
    "one sentence of this study": "This study [" * (N // 10),
}

_SCRIPT = """
import resource, sys
from pathlib import Path
from evidencebench.construction.harvest.harvest import harvest_review
from evidencebench.construction.harvest.harvest import HarvestRules
from evidencebench.errors import UnreadableError
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]), int(sys.argv[1])))
for path in sys.argv[2:]:
    print(path, flush=True)
    try:
        harvest_review(Path(path).read_bytes(), file="review.xml", rules=HarvestRules())
    except UnreadableError as error:
        print(str(error)[:300], flush=True)
"""


def test_large_reviews_take_no_more_than_linear_time(tmp_path: Path) -> None:
    paths = [tmp_path / name.replace(" ", "_") for name in LARGE]
    for path, paragraph in zip(paths, LARGE.values(), strict=True):
        path.write_bytes(review(paragraph))
    command = [sys.executable, "-c", _SCRIPT, "300", *map(str, paths)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, (found.stdout.splitlines()[-1:], found.stderr)
