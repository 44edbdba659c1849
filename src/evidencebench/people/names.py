"""What people may be called, and what their files are."""

import hashlib
import re
import unicodedata

from evidencebench.errors import PeopleError

MAX_NAME_LENGTH = 80

# They would turn what stands beside a name.
_TURNING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def checked_name(text: str) -> str:
    r"""Return a person's name as it is kept: composed, without white space around it, single spaces within.

    Raises
    ------
    PeopleError
        If it is empty, too long, shows nothing, or holds control characters.

    Examples
    --------
    >>> checked_name("  Ada   Lovelace ")
    'Ada Lovelace'
    >>> checked_name("O\u0308do\u0308n")
    'Ödön'
    """
    name = unicodedata.normalize("NFC", text.strip())
    if any(unicodedata.category(c) in {"Cc", "Cs"} or unicodedata.bidirectional(c) in _TURNING for c in name):
        raise PeopleError("the name holds a control character; type it again")
    name = " ".join(name.split())
    if len(name) > MAX_NAME_LENGTH:
        raise PeopleError(f"the name has {len(name)} characters; at most {MAX_NAME_LENGTH}, please")
    if not any(unicodedata.category(c)[0] in "LNPS" for c in name):
        raise PeopleError("a name is needed: one letter at least")
    return name


def file_stem(name: str) -> str:
    """Return what a person's files are called: readable, safe on every disk, and another one for every other name.

    Parameters
    ----------
    name
        As `checked_name` returns it.

    Examples
    --------
    >>> file_stem("Ada Lovelace")
    'ada-lovelace-76740216'
    >>> file_stem("../../etc/passwd").startswith("etc-passwd-")
    True
    """
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", letters).strip("-")[:32].strip("-") or "person"
    return f"{slug}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
