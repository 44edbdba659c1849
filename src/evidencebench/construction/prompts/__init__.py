"""The prompts of the steps, one in each file beside this one, of the same form as the prompts of strategies."""

from functools import cache
from importlib.resources import files

from evidencebench.systems.strategies.prompts import Prompt, parse_prompt


@cache
def step_prompt(name: str) -> Prompt:
    """Return the prompt in the file of this name."""
    return parse_prompt(name, files(__package__).joinpath(f"{name}.md").read_bytes())
