"""What each package is given, and is not counted: labels and papers of the sample, a function, runs of systems."""

from pathlib import Path
from typing import Any

import numpy as np

from evidencebench import RankingTask, execute, load_sample, make_system, qrels_dict, run_dict

SAMPLE = load_sample()
SYSTEMS = ("bm25", "cues", "lead")
QUERIES = {one.id: one.query.hypothesis for one in SAMPLE}
PAPERS = {one.id: list(one.query.sentences) for one in SAMPLE}
DOCS = {qid: [f"{qid}#{index:05d}" for index in range(len(texts))] for qid, texts in PAPERS.items()}
QRELS = qrels_dict(SAMPLE)  # query -> document -> relevance
RUNS = {  # system -> query -> document -> score
    name: run_dict({one.id: make_system(name).rank(one.query, RankingTask(budget=10)) for one in SAMPLE})
    for name in SYSTEMS
}


def word_overlap(hypothesis: str, sentences: list[str] | tuple[str, ...]) -> list[float]:
    """Score sentences by the words that they share with a hypothesis: the function of our own that is evaluated."""
    words = set(hypothesis.lower().split())
    return [float(len(words & set(sentence.lower().split()))) for sentence in sentences]


def first_words(hypothesis: str) -> str:
    """Change a query: what is left of a score with these three words alone was not read from the rest."""
    return " ".join(hypothesis.split()[:3])


def features(hypothesis: str, sentences: list[str]) -> Any:
    """Give a row of numbers for each sentence, for systems that are trained."""
    places = np.linspace(0, 1, len(sentences))
    return np.column_stack([word_overlap(hypothesis, sentences), places, [len(text) for text in sentences]])


def relevance(qid: str) -> list[bool]:
    """Say of each sentence of a paper whether it is evidence."""
    return [docno in QRELS[qid] for docno in DOCS[qid]]


def write_paper(path: Path) -> None:
    """Write the first paper as text."""
    path.write_text("# Results\n\n" + "\n".join(next(iter(PAPERS.values()))), encoding="utf-8")


def write_logs(folder: Path) -> None:
    """Write a log of inspect_ai of each system."""
    from evidencebench.integrations.inspect_ai import log_of_run, write_log  # noqa: PLC0415 - where it is installed

    folder.mkdir()
    for name in SYSTEMS:
        execute(name, SAMPLE, f"{name}.jsonl")
        write_log(log_of_run(Path(f"{name}.jsonl"), SAMPLE, ["er_at_10", "result_er_at_5"]), folder / f"{name}.eval")


def mteb_model(name: str) -> Any:
    """Make a model of mteb of a system's run."""
    from mteb.models import ModelMeta  # noqa: PLC0415 - where it is installed

    class Fixed:
        mteb_model_meta = ModelMeta.create_empty({"name": f"evidencebench/{name}"})

        def index(self, *_: Any, **__: Any) -> None:
            pass

        def search(self, queries: Any, **_: Any) -> Any:
            return {qid: RUNS[name][qid] for qid in queries["id"]}

    return Fixed()


def base_model() -> Any:
    """Make a tiny embedder, in place of one from a hub."""
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - where it is installed
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding  # noqa: PLC0415 - as above
    from tokenizers import Tokenizer  # noqa: PLC0415 - as above
    from tokenizers.models import WordLevel  # noqa: PLC0415 - as above
    from tokenizers.pre_tokenizers import Whitespace  # noqa: PLC0415 - as above

    words = sorted({word for texts in PAPERS.values() for text in texts for word in text.split()})
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(["[UNK]", *words])}, "[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    return SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=16)], device="cpu")
