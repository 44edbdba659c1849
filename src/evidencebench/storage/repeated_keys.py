"""Keys that a JSON object holds more than once, which readers of JSON keep silent about."""

from collections import Counter
from collections.abc import Iterable


def repeated_keys(pairs: Iterable[tuple[str, object]]) -> list[str]:
    """Return the keys that stand more than once among an object's members."""
    return [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
