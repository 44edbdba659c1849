"""Find the instance that a prompt is about, from the sentences that it shows."""

from functools import lru_cache

from evidencebench.data.dataset import Dataset
from evidencebench.integrations.fake_server.asked import Asked, normalised
from evidencebench.integrations.fake_server.gold import Gold, Known

# Labels and sentences of instances that were asked about lately; 4096 papers of 25 kB are 100 MB.
_KEPT_INSTANCES = 4096


class Library:
    """The data, indexed once by numbered sentence.

    Parameters
    ----------
    dataset
        What the prompts are about. Each instance is decoded once here, and again when a prompt asks about it.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._first_of: list[str] = []  # paper -> id of its first instance
        self._asked_by: dict[str, list[tuple[int, str]]] = {}  # hypothesis -> papers and ids of its instances
        # The hash of (number, text) -> the papers that have that sentence there: an index of 64-bit hashes is a tenth
        # of one of texts. What is found by it is compared with the texts before it counts.
        self._papers_with: dict[int, tuple[int, ...]] = {}
        self._gold = lru_cache(maxsize=_KEPT_INSTANCES)(self._read)
        self._index()

    def find(self, asked: Asked) -> Known | None:
        """Return the instance with the shown sentences that are its own, or None where the data holds no such paper.

        The paper is the one that has most of the shown sentences under their numbers. Of instances that share it, the
        one whose hypothesis is in the prompt counts, else the first.
        """
        votes: dict[int, int] = {}
        for sentence in asked.shown:
            for paper in self._papers_that_have(sentence):
                votes[paper] = votes.get(paper, 0) + 1
        if not votes:
            return None
        most = max(votes.values())
        papers = {paper for paper, count in votes.items() if count == most}
        asked_by = (pair for hypothesis in asked.hypotheses for pair in self._asked_by.get(hypothesis, ()))
        instance_id = next((name for paper, name in asked_by if paper in papers), self._first_of[min(papers)])
        gold = self._gold(instance_id)
        return Known(gold=gold, numbers=frozenset(gold.own_numbers(asked.shown)))

    def _papers_that_have(self, sentence: tuple[int, str]) -> tuple[int, ...]:
        """Return the papers that have a text under its number; as it stands first, since most prompts are tidy."""
        number, text = sentence
        found = self._papers_with.get(hash(sentence))
        return self._papers_with.get(hash((number, normalised(text))), ()) if found is None else found

    def _index(self) -> None:
        paper_of: dict[int, int] = {}
        for query in self._dataset.queries():
            sentences = tuple(enumerate(map(normalised, query.sentences)))
            paper = paper_of.setdefault(hash(sentences), len(self._first_of))
            self._asked_by.setdefault(normalised(query.hypothesis), []).append((paper, query.instance_id))
            if paper < len(self._first_of):
                continue
            self._first_of.append(query.instance_id)
            for sentence in sentences:
                held = self._papers_with.get(hash(sentence), ())
                self._papers_with[hash(sentence)] = (*held, paper)

    def _read(self, instance_id: str) -> Gold:
        return Gold(self._dataset[instance_id])
