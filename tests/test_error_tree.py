"""The tree of errors that `errors` draws is the one that its classes make."""

import inspect
import re

from evidencebench import errors
from evidencebench.errors import EvidenceBenchError


def test_the_drawn_tree_is_that_of_the_classes() -> None:
    found = re.findall(r"^    ((?:│   )*)[├└]── (\w+)", errors.__doc__ or "", re.MULTILINE)
    above: list[str] = [EvidenceBenchError.__name__]
    drawn: dict[str, str] = {}
    for bars, name in found:
        depth = len(bars) // 4 + 1
        drawn[name] = above[depth - 1]
        above[depth:] = [name]
    own = [kind for kind in vars(errors).values() if inspect.isclass(kind) and kind.__module__ == errors.__name__]
    assert drawn == {kind.__name__: kind.__bases__[0].__name__ for kind in own if kind is not EvidenceBenchError}
