"""``evidencebench llm examples``."""

from pathlib import Path
from typing import Annotated

from evidencebench.cli import options
from evidencebench.cli.options import option
from evidencebench.cli.output import json_text, refuse_existing, tell_written
from evidencebench.data.dataset import open_dataset
from evidencebench.training.prompt_examples import draw_examples, write_examples


@options.command
def command(
    *,
    data: options.Data,
    n: Annotated[int, options.number("-n N", "How many.")] = 8,
    output: Annotated[Path, options.output("FILE", "Where to; - is standard output.")],
    seed: options.Seed,
    overwrite: Annotated[bool, option("--overwrite", "Replace the file where it exists.")],
    as_json: options.AsJson,
) -> None:
    """Draw examples for the prompt of llm_icl from labelled data.

    Each is a hypothesis and the texts of the fewest sentences that cover all of
    its aspects. Draw them from other data than is scored: llm_icl refuses to
    answer papers that are among its examples.

    \b
    Example: evidencebench llm examples --data train -n 8 -o examples.json
             evidencebench run llm_icl:model=openai/NAME,examples=examples.json
               --data dev -o run.jsonl
    """
    refuse_existing(output, overwrite=overwrite)
    drawn = draw_examples(open_dataset(data), n, seed=seed)
    write_examples(output, drawn)
    n_results = sum(example.results is not None for example in drawn.examples)
    if as_json:
        ids = [example.instance_id for example in drawn.examples]
        fields = {"output": str(output), "data": drawn.data, "seed": seed, "instances": ids, "with_results": n_results}
        tell_written(output, json_text(fields))
    else:
        tell_written(
            output, f"{output}: {len(drawn.examples)} examples of {drawn.data.name}, {n_results} of them with Results"
        )
