"""Compare the labels of a rehearsed construction with those that were known before.

::

    python tools/compare_rehearsal.py work/gold.json work/dataset/test.json
"""

import argparse
from pathlib import Path

from evidencebench.data.dataset import open_dataset
from evidencebench.data.instance import Instance


def sources_of(instance: Instance) -> list[set[int]]:
    """Return the sources of each aspect, in order."""
    return [set(instance.labels.sources.get(aspect, ())) for aspect in instance.labels.aspects]


def main() -> None:
    """Print how many instances have the labels that are right, and the rates of errors over pairs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gold", type=Path, help="the data set with the labels that are right")
    parser.add_argument("made", type=Path, nargs="+", help="files of the data set that was made")
    arguments = parser.parse_args()
    gold = {(one.query.paper_id, one.query.hypothesis): one for one in open_dataset(arguments.gold)}
    n_alike = n_instances = n_found = n_missed = n_invented = n_others = 0
    for instance in (one for path in arguments.made for one in open_dataset(path)):
        right = gold[instance.query.paper_id, instance.query.hypothesis]
        pairs = list(zip(sources_of(instance), sources_of(right), strict=True))
        n_instances += 1
        n_alike += all(said == true for said, true in pairs)
        n_found += sum(len(said & true) for said, true in pairs)
        n_missed += sum(len(true - said) for said, true in pairs)
        n_invented += sum(len(said - true) for said, true in pairs)
        n_others += sum(len(instance.query.sentences) - len(true) for _, true in pairs)
    print(f"{n_alike} of {n_instances} instances have the labels that are right")
    print(
        f"found {n_found} of {n_found + n_missed} sources; of {n_others:,} other pairs, {n_invented} are taken for some"
    )


if __name__ == "__main__":
    main()
