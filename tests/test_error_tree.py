"""The tree of errors that `errors` draws is the one that its classes make."""

import inspect
import re

from evidencebench import errors
from evidencebench.errors import EvidenceBenchError


def test_the_drawn_tree_is_that_of_the_classes() -> None:
    lines = re.findall(r"^    (\w+) +((?:\w+, )*\w+)$", errors.__doc__ or "", re.MULTILINE)
    drawn = {(name, kind) for name, kinds in lines for kind in kinds.split(", ")}
    own = [kind for kind in vars(errors).values() if inspect.isclass(kind) and kind.__module__ == errors.__name__]
    made = {(base.__name__, kind.__name__) for kind in own for base in kind.__bases__ if base in own}
    assert drawn == {(base, kind) for base, kind in made if base != EvidenceBenchError.__name__}
