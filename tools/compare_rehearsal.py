"""Judge a rehearsed construction by the model of the server for trials, and compare with the labels known before.

    python tools/make_rehearsal.py ../shared/data/evidence_inference work
    python tools/compare_rehearsal.py work --model noisy-0.1-0.01

Prints a Markdown row before doubtful sentences are asked again, and one for each lead of ``recheck`` until a run would
stop, with all requests up to there. ``work`` is not written to.
"""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from evidencebench.construction.demo import GoldStudy
from evidencebench.construction.draft import DraftFile, judging_of, open_drafts, output_of
from evidencebench.construction.harvest.papers import PaperFolder
from evidencebench.construction.judge import JudgeSettings, judge_step
from evidencebench.construction.noise import LabelNoise, estimate_noise
from evidencebench.construction.recheck import asks_again, lead_in, recheck_step
from evidencebench.construction.step import run_step, step_asker
from evidencebench.data.dataset import open_dataset
from evidencebench.data.instance import Instance
from evidencebench.data.sample import load_sample
from evidencebench.integrations.fake_model import Call, FakeModel, Reply, Settings
from evidencebench.integrations.fake_server import FakeServer
from evidencebench.models.llm.client import make_client
from evidencebench.tables import Cell, Table, as_markdown
from evidencebench.web.serving import listening_socket, served_in_thread


class CountingModel(FakeModel):
    """Knows the right answers, and counts the requests."""

    n_requests = 0

    def reply(self, call: Call, key: str) -> Reply:
        self.n_requests += 1
        return super().reply(call, key)


@contextmanager
def serving(studies: Path) -> Iterator[tuple[CountingModel, str]]:
    """Serve the model that knows the labels; give it with its address."""
    known = [msgspec.json.decode(line, type=GoldStudy) for line in studies.read_bytes().splitlines()]
    model, bound = CountingModel(load_sample(), Settings(), known), listening_socket("127.0.0.1", 0)
    with served_in_thread(FakeServer(model), bound):
        yield model, f"http://127.0.0.1:{bound.getsockname()[1]}/v1"


def compared(drafts: DraftFile, gold: dict[str, Instance]) -> tuple[LabelNoise, list[Cell]]:
    """Return the noise, and as cells: sources found, other pairs taken for some, labels that are right, estimates."""
    n_found = n_sources = n_invented = n_others = 0
    for draft in drafts.drafts():
        labels, judging = gold[draft.id].labels, judging_of(draft)
        for aspect, said in zip(labels.aspects, judging.sources, strict=True):
            true = set(labels.sources.get(aspect, ()))
            n_found += len(true.intersection(said))
            n_sources += len(true)
            n_invented += len(set(said) - true)
            n_others += judging.n_sentences - len(true)
    right = f"{100 * n_found / (n_found + n_invented):.1f}"
    noise = estimate_noise(drafts)
    cases = (noise.precision_if_errors_differ, noise.precision_if_half_stay)
    told = ["" if noise.precision is None else noise.precision.ends]
    told += [", ".join(f"{100 * share:.0f}" for share in cases if share is not None)]
    return noise, [f"{n_found} of {n_sources}", f"{n_invented} of {n_others:,}", right, *told]


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="what make_rehearsal.py made")
    parser.add_argument("--model", default="noisy-0.1-0.01", help="a behaviour of the server for trials")
    parser.add_argument("--precision", type=float, default=0.9, help="as `[judge]` asks for it; 1: to the last lead")
    chosen = parser.parse_args()
    gold = {one.id: one for one in open_dataset(chosen.work / "gold.json")}
    papers, settings, rows = PaperFolder(chosen.work / "papers"), JudgeSettings(), list[list[Cell]]()
    with TemporaryDirectory() as scratch, serving(chosen.work / "studies.jsonl") as (model, address):
        client = make_client(environ={**os.environ, "EVIDENCEBENCH_CACHE": scratch})
        asker = step_asker(f"local/{chosen.model},base_url={address}", client=client)
        judged, again = output_of("judge", Path(scratch)), output_of("recheck", Path(scratch))
        run_step(judge_step(settings, papers), open_drafts(output_of("aspects", chosen.work)), judged, asker=asker)
        noise, cells = compared(open_drafts(judged), gold)
        rows.append(["judged once", *cells, f"{model.n_requests:,}"])
        while asks_again(noise, lead_in(again), chosen.precision):
            step = recheck_step(settings, papers, lead=lead_in(again) + 1)
            run_step(step, open_drafts(judged), again, asker=asker, overwrite=True)
            noise, cells = compared(open_drafts(again), gold)
            rows.append([f"lead {lead_in(again)}", *cells, f"{model.n_requests:,}"])
        client.close()
    columns = [chosen.model, "sources found", "others taken for some", "labels right, %", "interval"]
    columns += ["if errors differ, if half stay, %", "requests"]
    print(as_markdown(Table(columns=columns, rows=rows)))


if __name__ == "__main__":
    main()
