"""The finder: trees over features that read the hypothesis, for what answers it or for what a reviewer would note."""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from evidencebench.models.embedding.folder import PinnedDigest
from evidencebench.models.model_card import card_digest
from evidencebench.query import AspectScope, Query, Wish
from evidencebench.system import Brief, Ranking
from evidencebench.systems.retrievers.scores import standard_scores
from evidencebench.systems.selectors.articles import article_slices
from evidencebench.systems.selectors.cues import Cues
from evidencebench.systems.selectors.finder_model import FinderModel, load_finder
from evidencebench.systems.selectors.paper_columns import Floats, PaperColumns, columns_of
from evidencebench.systems.selectors.reordering import discounted_order
from evidencebench.traits import Traits

SHIPPED = Path(__file__).with_name("shipped_finder")
"""The folder of the model that comes with the package. It was trained on Evidence Inference alone."""

# What is left of the score of a sentence that only asks. Of 3,996 such sentences in Evidence Inference, 4 were marked,
# too few for trees to learn how little they answer in a short text.
_OF_ASKING = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Finder:
    """Finds what answers a hypothesis; where the data names no wish, as EvidenceBench, it follows the rules of `cues`.

    A wish is what is asked for: what answers the hypothesis, or what a reviewer would note of its study.
    Of a query that holds several articles, the one whose words are the hypothesis's is read; the others' sentences come
    last. For ``"answer"``, sentences are ordered by score; one that only asks keeps a tenth of its score. For
    ``"study"``, a score falls the more similar its sentence is to those chosen before (see `discounted_order`). A wish
    that the model was not trained for is served by the rules of `Cues`.

    Attributes
    ----------
    model
        A folder that ``evidencebench train finder`` wrote; None: the model that comes with the package.
    wish
        ``"answer"`` or ``"study"``; None: what the query says, and ``"study"`` where it says nothing, as in the
        published files.
    """

    model: Path | None = None
    wish: Wish | None = None
    _folder: Path = field(init=False, repr=False, compare=False)
    _card: PinnedDigest = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        folder = SHIPPED if self.model is None else Path(self.model)
        object.__setattr__(self, "_folder", folder)
        object.__setattr__(self, "_card", PinnedDigest(folder, lambda: card_digest(folder)))
        self._load()

    @property
    def traits(self) -> Traits:
        """It reads the brief, for its scope; its model's card says on which data it was trained, and may calibrate."""
        return Traits(
            reads_brief=True,
            versions=self._versions,
            trained_on=lambda: self._load().card.trained_on,
            chances=self.chances,
        )

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return all sentences in the order in which they are chosen."""
        return Ranking(sentences=_order(self._load(), self._wish_of(query), query, brief.scope))

    def chances(self, query: Query) -> list[float] | None:
        """Return, for each sentence, the share of held-back sentences with such a score that were evidence.

        It is 0 in the articles of a query that the hypothesis is not about; None without a table for the wish.
        """
        model, wish = self._load(), self._wish_of(query)
        table = model.card.calibrations.get(wish)
        if table is None:
            return None
        article, _, scores = _score(model, wish, query, "all")
        chances = np.zeros(len(query.sentences))
        chances[article] = table.chances(scores)
        return [float(chance) for chance in chances]

    def _wish_of(self, query: Query) -> Wish:
        return self.wish or query.wish or "study"

    def _versions(self) -> dict[str, str]:
        name = "the finder's model" if self.model is None else f"model {self._folder}"
        return {name: f"sha256:{self._card.digest()}"}

    def _load(self) -> FinderModel:
        return load_finder(self._folder, self._card.digest())


@lru_cache(maxsize=4)  # each task asks about the same paper, under one of two scopes
def _order(model: FinderModel, wish: Wish, query: Query, scope: AspectScope) -> tuple[int, ...]:
    if wish in model.wishes:
        article, paper, scores = _score(model, wish, query, scope)
        order = np.argsort(-scores, kind="stable").tolist()
        if strength := model.card.strengths[wish]:
            order = discounted_order(np.exp(standard_scores(scores)), paper.similarity.row, strength=strength)
    else:
        article, paper = _read(query)
        order = Cues(wish=wish).rank(paper.query, Brief(budget=None, scope=scope)).sentences
    indices = range(len(query.sentences))
    others = (*indices[: article.start], *indices[article.stop :])
    return (*(index + article.start for index in order), *others)


@lru_cache(maxsize=4)
def _score(model: FinderModel, wish: Wish, query: Query, scope: AspectScope) -> tuple[slice, PaperColumns, Floats]:
    article, paper = _read(query)
    scores = model.scores(paper, wish, scope)
    if wish == "answer":
        scores = np.where(paper.asks, np.minimum(scores, _OF_ASKING * scores), scores)
    return article, paper, scores


@lru_cache(maxsize=2)
def _read(query: Query) -> tuple[slice, PaperColumns]:
    """Return the sentences of the article that the hypothesis is about, and their columns."""
    articles = article_slices(query.kinds)
    if len(articles) == 1:
        return articles[0], columns_of(query)
    topic = PaperColumns(query).relevance.topic
    article = max(articles, key=lambda sentences: float(topic[sentences].mean()))
    return article, columns_of(replace(query, sentences=query.sentences[article], kinds=query.kinds[article]))
