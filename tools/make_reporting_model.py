"""Train what tells which reporting items a sentence reports, on what stands under their titles in articles.

    python tools/make_reporting_model.py ../shared/data/evidence_inference/xml [--leave-out questions.json]

Printed is how well each item's sentences are told from all others in journals that were not seen: the area under the
curve and the average precision, five folds. Most papers have no such titles, so that many others report it too.
"""

import argparse
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score

from evidencebench import read_paper
from evidencebench.errors import EvidenceBenchError
from evidencebench.files.atomic import write_whole
from evidencebench.papers.paper import UnitKind
from evidencebench.query import Kind
from evidencebench.systems.reporting import ITEMS, SHIPPED, ReportingWeights, items_of_title, reporting_words

LEAST_JOURNALS = 20
STRENGTH = 0.15
N_FOLDS = 5
JOURNAL = re.compile(r"<journal-title[^>]*>([^<]+)")


class Example(NamedTuple):
    journal: str
    words: set[str]
    items: frozenset[str]


def main() -> None:
    """Write the model, and print how well it tells sentences of other journals apart."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("articles", type=Path)
    parser.add_argument("--leave-out", type=Path, help="a file of questions whose papers are left out")
    options = parser.parse_args()
    left_out = {asked["paper"] for asked in json.loads(options.leave_out.read_text())} if options.leave_out else set()
    examples, n_papers = read_examples(options.articles, left_out)
    journals_of: defaultdict[str, set[str]] = defaultdict(set)
    for example in examples:
        for word in example.words:
            journals_of[word].add(example.journal)
    vocabulary = sorted(word for word, journals in journals_of.items() if len(journals) >= LEAST_JOURNALS)
    counts = CountVectorizer(analyzer=list, vocabulary=vocabulary, binary=True)
    table = counts.fit_transform([example.words for example in examples])
    journals = sorted({example.journal for example in examples})
    folds = np.array([journals.index(example.journal) % N_FOLDS for example in examples])
    starts: dict[str, float] = {}
    weights: dict[str, dict[str, float]] = {}
    print("item, sentences, area under the curve, average precision")
    for item in ITEMS:
        reports = np.array([item in example.items for example in examples])
        scores = np.zeros(len(examples))
        for fold in range(N_FOLDS):
            scores[folds == fold] = fitted(table[folds != fold], reports[folds != fold]).decision_function(
                table[folds == fold]
            )
        area, precision = roc_auc_score(reports, scores), average_precision_score(reports, scores)
        print(f"{item}, {reports.sum()}, {area:.3f}, {precision:.3f}")
        model = fitted(table, reports)
        starts[item] = round(float(model.intercept_[0]), 3)
        weights[item] = {
            word: round(float(weight), 3)
            for word, weight in zip(vocabulary, model.coef_[0], strict=True)
            if abs(weight) >= 0.001  # noqa: PLR2004 - what is rounded away
        }
    data = {"name": "titles of sections of Evidence Inference 2.0's articles", "n_papers": n_papers}
    written = ReportingWeights(data=data, starts=starts, weights=weights)
    write_whole(SHIPPED, msgspec.json.format(msgspec.json.encode(written), indent=0) + b"\n")


def fitted(table: object, reports: np.ndarray) -> LogisticRegression:
    """Return a regression with few weights."""
    return LogisticRegression(C=STRENGTH, penalty="l1", solver="liblinear", max_iter=100).fit(table, reports)


def read_examples(folder: Path, left_out: set[str]) -> tuple[list[Example], int]:
    """Return the sentences of a folder's articles with the items of their innermost telling title."""
    examples: list[Example] = []
    n_papers = 0
    for file in sorted(folder.glob("*.nxml")):
        if file.name in left_out:
            continue
        try:
            paper = read_paper(file)
        except EvidenceBenchError as error:
            print(f"left out: {file.name}: {str(error)[:60]}")
            continue
        n_papers += 1
        named = JOURNAL.search(file.read_text(encoding="utf-8", errors="replace"))
        journal = named[1] if named else file.name
        for index, sentence in enumerate(paper.sentences):
            if paper.kinds[index] is Kind.BODY:
                titles = reversed(paper.place(index).section)
                items = next(filter(None, map(items_of_title, titles)), frozenset[str]())
                examples.append(Example(journal, reporting_words(sentence), items))
        notes = [unit for unit in paper.units if unit.kind is UnitKind.END_MATTER]
        examples += [
            Example(journal, reporting_words(note.text), items_of_title(note.label or note.text[:40])) for note in notes
        ]
    return examples, n_papers


if __name__ == "__main__":
    main()
