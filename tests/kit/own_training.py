"""A training of one's own, as text for a module in the current folder: it notes what it is given."""

OWN_TRAINING = '''
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from evidencebench import Ranking, load_sample


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Learns the names of the papers that it saw, and appends them to fits.jsonl."""

    system: ClassVar[str] = f"{__name__}:Recall"
    n_tried: ClassVar[int] = 3

    hypothesis: bool = True
    seconds: float = 0.0

    def fit(self, instances, folder, *, seed=0, data=None, on_progress=None):
        time.sleep(self.seconds)
        folder.mkdir(parents=True)
        papers = [instance.query.paper_id for instance in instances]
        (folder / "papers.json").write_text(json.dumps(papers))
        with Path("fits.jsonl").open("a") as log:
            log.write(json.dumps({"seed": seed, "hypothesis": self.hypothesis, "papers": papers}) + "\\n")


@dataclass(frozen=True, kw_only=True)
class Recall:
    """Fails on a paper that it was trained on; else begins at a sentence that depends on how many papers it saw."""

    model: Path
    reads: bool = False

    def rank(self, query, task):
        seen = json.loads((self.model / "papers.json").read_text())
        if query.paper_id in seen:
            raise RuntimeError("trained on this paper")
        n = len(query.sentences)
        start = (len(seen) + len(query.hypothesis) * self.reads) % n
        return Ranking(sentences=tuple(range(start, n)) + tuple(range(start)))


@dataclass(frozen=True, kw_only=True)
class Odd:
    """Answers oddly: names sentences twice, or one that does not exist, or fails where the hypothesis is wrong."""

    how: str

    def rank(self, query, task):
        if self.how == "fails" and query.hypothesis != load_sample()[query.instance_id].query.hypothesis:
            raise RuntimeError("wrong hypothesis")
        twice = (7, 7, 8, 8, 9, 9, 10, 11, 12, 12, 13)
        return Ranking(sentences={"twice": twice, "beyond": (0, 10**6), "fails": (0, 1)}[self.how])
'''
