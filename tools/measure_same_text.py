"""Measure how many sentences papers have in common: different ones, and one paper read from two formats.

::

    python tools/measure_same_text.py ../shared/data/evidence_inference --and train

It says where the share may lie from which two papers count as the same when a data set is assembled.
"""

import argparse
from pathlib import Path

import numpy as np

from evidencebench.construction.leakage import Hashes, sentence_hashes
from evidencebench.data.dataset import open_dataset
from evidencebench.data.evidence_inference import find_folder, read_trial_text
from evidencebench.errors import UnreadableError
from evidencebench.files.disk import read_text
from evidencebench.papers.paper import Paper
from evidencebench.papers.read import read_paper


def share_in_common(one: Hashes, other: Hashes) -> float:
    """Return the share of the shorter paper's sentences that both have."""
    return float(np.intersect1d(one, other).size / max(1, min(len(one), len(other))))


def hashes_of(paper: Paper) -> Hashes:
    """Return the hashes of a paper's sentences."""
    return sentence_hashes(paper.sentences, paper.kinds)


def main() -> None:
    """Print both distributions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of Evidence Inference, with nxml and txt")
    parser.add_argument("--and", dest="others", action="append", default=[], help="data set of other papers")
    arguments = parser.parse_args()
    folders = find_folder(arguments.folder).papers
    different: dict[str, Hashes] = {}
    itself = []
    for path in sorted(folders["nxml"].glob("*.nxml")):
        text = folders["txt"] / f"{path.stem}.txt"
        try:
            different[path.stem] = hashes_of(read_paper(path))
            plain = hashes_of(read_trial_text(read_text(text), str(text)).paper)
        except UnreadableError:
            continue
        itself.append(share_in_common(different[path.stem], plain))
    for other in arguments.others:
        for query in open_dataset(other).queries():
            different.setdefault(query.paper_id, sentence_hashes(query.sentences, query.kinds))
    papers = list(different.values())
    pairs = np.sort([share_in_common(one, other) for n, one in enumerate(papers) for other in papers[:n]])
    print(f"{len(papers)} papers, {len(pairs):,} pairs: at most {100 * pairs[-1]:.1f} %, next {100 * pairs[-2]:.1f} %")
    print(f"{len(itself)} papers, each read from nxml and from txt, % in common:")
    for name, quantile in (("least", 0), ("1st percentile", 0.01), ("5th percentile", 0.05), ("median", 0.5)):
        print(f"  {name}: {100 * np.quantile(itself, quantile):.1f}")


if __name__ == "__main__":
    main()
