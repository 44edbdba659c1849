"""The prompts of the steps, one in each file beside this one, of the same form as the prompts of strategies."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from evidencebench.systems.strategies.prompts import Prompt, parse_prompt


@cache
def step_prompt(name: str) -> Prompt:
    """Return the prompt in the file of this name."""
    return parse_prompt(name, files(__package__).joinpath(f"{name}.md").read_bytes())


def digests_of(names: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of the files of prompts, by name."""
    return {name: step_prompt(name).digest for name in names}
