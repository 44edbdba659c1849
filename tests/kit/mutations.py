"""What servers, proxies and bad lines do to a message of JSON."""

import random
from collections.abc import Iterator

STRANGE = {
    "half a surrogate pair": rb'"\ud800"',
    "halves the wrong way round": rb'"\udc00\ud800"',
    "no UTF-8": b'"\xff\xc3("',
    "a surrogate as bytes": b'"\xed\xa0\x80"',
    "not a number": b"NaN",
    "infinity": b"-Infinity",
    "no float": b"1e999",
    "no integer": b"9" * 5000,
    "a control character": b'"a\x01\t"',
}


def mutations(rng: random.Random, content: bytes) -> Iterator[bytes]:
    """Yield a message with something done to it, of all that servers, proxies and bad lines do."""
    place, other = sorted((rng.randrange(len(content)), rng.randrange(len(content))))
    flipped = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        flipped[rng.randrange(len(flipped))] = rng.randrange(256)
    yield bytes(flipped)
    yield content[:place] + rng.choice([*STRANGE.values(), b"[" * 4000, rb'"\x"'])[:4000] + content[other:]
    yield content[:place] + content[other:]
    yield content[:other] + content[place:]
    yield content.replace(b":", b": " + rng.choice([b"NaN", b"null", b"[", b"{}", b"-1"]) + b', "x":', 1)
