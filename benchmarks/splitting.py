"""Splitting paragraphs into sentences: how well and how fast, against blingfire, syntok and pysbd where installed.

The boundaries are the train split's own. A paragraph is the sentences of one kind that stand between two headings,
without white space around them, joined by one space; a paper that two instances share counts once. A boundary is the
place where such a sentence begins, the first of a paragraph left out; it is found again where a splitter begins a
sentence at the same character. F1 is over the boundaries of all paragraphs together. While the rules were written, only
the errors in two thirds of the papers were looked at. The others are held back: those whose id has a SHA-256 that can
be divided by three. Some 20 versions were scored on them, but none of their errors was looked at. Not every boundary
can be found: some of the data's own sentences end without a stop, in what is left of tables and at the ends of pages.

The examples of `tests/papers/sentence_examples.txt` were written with our rules, so ours has to get them all.

The peers are no dependencies of the project. `pip install blingfire==0.1.8 syntok==1.4.4 pysbd==0.3.4 regex` puts them
beside it; without one, its lines are left out. Without the train split, only the examples are split.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate, groupby
from pathlib import Path
from time import process_time

from evidencebench.data.dataset import open_dataset
from evidencebench.papers.blocks import sentence_spans
from evidencebench.query import Kind
from timing import REPOSITORY, Figure, linear, main_of, paired, seconds_of, under_seconds

_REAL = REPOSITORY.parent / "shared" / "data" / "evidencebench_train_set.json"
_EXAMPLES = REPOSITORY / "tests" / "papers" / "sentence_examples.txt"
_N_PAIRS = 3
_GOAL_F1 = 0.97
_LONG = 2_000_000  # characters
_GOAL_SECONDS = 10.0

Paragraph = tuple[str, set[int]]  # its text, and where its sentences begin, the first left out
Splitter = Callable[[str], Iterable[int]]  # text -> where its sentences begin


def figures(folder: Path, n_instances: int) -> Iterator[Figure]:  # noqa: ARG001 - the real split, or examples
    """Yield F1 over all papers and those held back, each peer's F1 and time, and the time of hostile text."""
    papers = _papers() if _REAL.is_file() else {}
    everything = [one for paragraphs in papers.values() for one in paragraphs] or _examples()
    held_back = [one for paper_id, paragraphs in papers.items() if _is_held_back(paper_id) for one in paragraphs]
    looked_at = [one for paper_id, paragraphs in papers.items() if not _is_held_back(paper_id) for one in paragraphs]
    yield Figure(name="examples split right", ours=_n_right(_ours))
    if papers:
        f1 = _f1(_ours, everything)
        yield Figure(name="F1, all papers", ours=f"{f1:.4f}", goal=f">= {_GOAL_F1}", reached=f1 >= _GOAL_F1)
        yield Figure(name="F1, papers looked at", ours=f"{_f1(_ours, looked_at):.4f}")
        yield Figure(name="F1, papers held back", ours=f"{_f1(_ours, held_back):.4f}")
    for name, peer in _peers():
        yield Figure(name=f"examples, {name}", ours=_n_right(_ours), peer=_n_right(peer))
        if papers:
            yield Figure(name=f"F1, {name}", ours=f"{f1:.4f}", peer=f"{_f1(peer, everything):.4f}")
            yield Figure(name="  held back", ours=f"{_f1(_ours, held_back):.4f}", peer=f"{_f1(peer, held_back):.4f}")
        yield _speed(peer, [text for text, _ in everything])
    for name, unit in (("a. a. a.", "a. "), ("A. A. A.", "A. "), ("Ab. Ab. Ab.", "Ab. ")):
        pair = paired(partial(_cpu_seconds, unit, _LONG // 10), partial(_cpu_seconds, unit, _LONG), _N_PAIRS)
        yield linear(name, pair.peer, pair.ours)
    yield under_seconds("100 MB without a stop", seconds_of(partial(sentence_spans, "a" * 100_000_000)), _GOAL_SECONDS)


def _papers() -> dict[str, list[Paragraph]]:
    queries = {instance.query.paper_id: instance.query for instance in open_dataset(_REAL)}
    return {
        paper_id: [
            _paragraph([sentence.strip() for sentence, _ in group if sentence.strip()])
            for kind, group in groupby(zip(query.sentences, query.kinds, strict=True), key=lambda pair: pair[1])
            if kind is not Kind.HEADING
        ]
        for paper_id, query in queries.items()
    }


def _paragraph(sentences: Sequence[str]) -> Paragraph:
    return " ".join(sentences), set(accumulate(len(sentence) + 1 for sentence in sentences[:-1]))


def _is_held_back(paper_id: str) -> bool:
    return int(hashlib.sha256(paper_id.encode()).hexdigest(), 16) % 3 == 0


def _examples() -> list[Paragraph]:
    lines = _EXAMPLES.read_text(encoding="utf-8").splitlines()
    parts = [line.split("|") for line in lines if line and not line.startswith("# ")]
    return [("".join(sentences), set(accumulate(map(len, sentences[:-1])))) for sentences in parts]


def _f1(split: Splitter, paragraphs: Sequence[Paragraph]) -> float:
    found = [(set(split(text)) - {0}, own) for text, own in paragraphs]
    n_both = sum(len(places & own) for places, own in found)
    return 2 * n_both / sum(len(places) + len(own) for places, own in found)


def _n_right(split: Splitter) -> str:
    examples = _examples()
    return f"{sum(set(split(text)) - {0} == own for text, own in examples)} of {len(examples)}"


def _speed(peer: Splitter, texts: Sequence[str]) -> Figure:
    """Return how many characters a second are split, ours beside a peer's."""
    n_characters = sum(map(len, texts))
    pair = paired(partial(_seconds, _ours, texts), partial(_seconds, peer, texts), _N_PAIRS)
    return Figure(
        name="  characters a second",
        ours=f"{n_characters / pair.ours / 1e6:.2f} M",
        peer=f"{n_characters / pair.peer / 1e6:.2f} M",
        ratio=f"{pair.ratio:.3g} x",
    )


def _seconds(split: Splitter, texts: Sequence[str]) -> float:
    return seconds_of(lambda: [split(text) for text in texts])


def _cpu_seconds(unit: str, n_characters: int) -> float:
    """Return the processor's time, which other work on the machine hardly stretches, for one text repeated."""
    text = unit * (n_characters // len(unit))
    start = process_time()
    sentence_spans(text)
    return process_time() - start


def _ours(text: str) -> list[int]:
    return [start for start, _ in sentence_spans(text)]


def _peers() -> Iterator[tuple[str, Splitter]]:
    """Yield the peers that are installed."""
    for name, make in (("blingfire", _blingfire), ("syntok", _syntok), ("pysbd", _pysbd)):
        if find_spec(name):
            yield name, make()


def _blingfire() -> Splitter:
    split = import_module("blingfire").text_to_sentences_and_offsets
    return lambda text: [start for start, _ in split(text)[1]]


def _syntok() -> Splitter:
    analyze = import_module("syntok.segmenter").analyze
    return lambda text: [tokens[0].offset for paragraph in analyze(text) for tokens in paragraph]


def _pysbd() -> Splitter:
    segmenter = import_module("pysbd").Segmenter(language="en", clean=False, char_span=True)
    return lambda text: [span.start for span in segmenter.segment(text)]


if __name__ == "__main__":
    main_of("splitting.py", __doc__, figures, data="the train split where it is there, else the examples of the tests")
