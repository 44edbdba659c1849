"""The prompts, one in each file beside this one: a head with its source and its fields, and a text.

A file's head stands between two lines ``---`` and holds ``name``, ``after`` (the source), and ``fields``: the names to
be filled in, which stand in the text as ``$name``. The declared fields must be those that the text uses, and a prompt
is rendered with exactly these. So no ``$name`` of ours ever reaches a model.

Each prompt is one message of the user, since the templates of some models take no other. The parts that all questions
about a paper share stand first: the general task, the hypothesis, the paper. The parts that differ stand behind the
paper: the scope, the budget, the form of the answer. So the long beginning is the same for all tasks of an instance,
and providers that cache beginnings charge less for it. Only examples stand before it, and they differ by scope.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

_HEAD = re.compile(r"---\n(?P<head>.*?)\n---\n(?P<text>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A text with fields to fill in.

    `after` names its source, `digest` is the SHA-256 of its file, and `text` has ``$name`` for a field.
    """

    name: str
    after: str
    fields: frozenset[str]
    text: str
    digest: str

    def render(self, **values: str) -> str:
        """Return the text with every field filled in. The values are not searched for further fields."""
        if values.keys() != self.fields:
            raise ValueError(f"prompt '{self.name}': expected {sorted(self.fields)}, got {sorted(values)}")
        return Template(self.text).substitute(values)


@cache
def prompt_named(name: str) -> Prompt:
    """Return the prompt in the file of this name."""
    content = files(__package__).joinpath(f"{name}.md").read_bytes()
    return parse_prompt(name, content)


def parse_prompt(name: str, content: bytes) -> Prompt:
    """Return the prompt in a file's bytes; raise `ValueError` if it declares other fields than it uses."""
    found = _HEAD.fullmatch(content.decode().replace("\r\n", "\n"))
    pairs = (line.partition(":") for line in found["head"].split("\n")) if found else ()
    head = {key: value.strip() for key, _, value in pairs}
    if not found or head.keys() != {"name", "after", "fields"} or head["name"] != name:
        raise ValueError(f"prompt '{name}': expected a head with name: {name}, after and fields")
    template = Template(found["text"].strip())
    declared = frozenset(head["fields"].replace(",", " ").split())
    if not template.is_valid() or declared != set(template.get_identifiers()):
        raise ValueError(
            f"prompt '{name}': declares {sorted(declared)}, and its text uses {sorted(template.get_identifiers())}"
        )
    return Prompt(
        name=name,
        after=head["after"],
        fields=declared,
        text=template.template,
        digest=hashlib.sha256(content).hexdigest(),
    )


def versions_of(names: Iterable[str]) -> Mapping[str, str]:
    """Return the checksums of the files of prompts, by ``prompt NAME``, as a run's header holds them."""
    return {f"prompt {name}": f"sha256:{prompt_named(name).digest}" for name in names}
