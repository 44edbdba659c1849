"""The checksum at the end of a line, by which an edit of it is noticed: against slips, not against malice."""

import zlib

# The last member of a JSON object: the CRC-32 of all that stands before it.
_SEAL = b',"crc":"%08x"}'
_N_SEAL_BYTES = len(_SEAL % 0)


def sealed(line: bytes) -> bytes:
    """Return a JSON object that has members with one more, ``crc``.

    Examples
    --------
    >>> sealed(b'{"id":"a"}')
    b'{"id":"a","crc":"143f85da"}'
    """
    return line[:-1] + _SEAL % zlib.crc32(line[:-1])


def is_sealed_with(line: bytes | memoryview, crc: str) -> bool:
    """Say whether a line that `sealed` returned, and that holds this ``crc``, is what it was."""
    return f"{zlib.crc32(line[:-_N_SEAL_BYTES]):08x}" == crc
