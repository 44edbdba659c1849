"""Train what `find` answers questions of effects with, on Evidence Inference.

    python tools/make_finder_model.py build/evidence_inference.json [--leave-out ../shared/data/questions/trials.json]

The data are as `evidencebench data convert` writes them. The papers of the questions are left out, so that what the
model finds in them can be measured.
"""

import argparse
import json
from pathlib import Path

from evidencebench.data.dataset import open_dataset
from evidencebench.systems.finder import SHIPPED
from evidencebench.training.finder import FinderTraining


def main() -> None:
    """Write the model into the package."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--leave-out", type=Path, help="a file of questions whose papers are left out")
    options = parser.parse_args()
    asked = json.loads(options.leave_out.read_text()) if options.leave_out else []
    left_out = {f"pmc_{Path(one['paper']).stem.removeprefix('PMC')}" for one in asked}
    dataset = open_dataset(options.data)
    instances = [one for one in dataset if one.query.paper_id not in left_out]
    print(f"{len(dataset) - len(instances)} of {len(dataset)} instances left out", flush=True)
    data = {"name": dataset.name, "sha256": dataset.sha256}
    FinderTraining().fit(instances, SHIPPED, data=data, on_progress=lambda *done: print(*done, flush=True))


if __name__ == "__main__":
    main()
