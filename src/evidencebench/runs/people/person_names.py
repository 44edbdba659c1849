"""The names that people may have, and the names of their files."""

import hashlib
import re
import unicodedata

from evidencebench.errors import PeopleError

MAX_NAME_LENGTH = 80

# Control, format and surrogate characters: they turn the text beside a name, or cannot be seen.
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs"})
# Other characters that are drawn as nothing (Default_Ignorable_Code_Point of Unicode 16), and the blank of Braille.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)


def checked_name(text: str) -> str:
    """Return a person's name as it is kept: composed, without white space around it, single spaces within.

    Raises `PeopleError` where a name is empty or too long, shows nothing, or holds characters that cannot be seen. So
    no two people have names that look the same.
    """
    name = unicodedata.normalize("NFC", text.strip())
    if _UNSEEN.search(name) or any(unicodedata.category(c) in _UNSEEN_CATEGORIES for c in name):
        raise PeopleError("the name holds a control character, or one that cannot be seen; type it again")
    name = " ".join(name.split())
    if len(name) > MAX_NAME_LENGTH:
        raise PeopleError(f"the name has {len(name)} characters; at most {MAX_NAME_LENGTH}, please")
    if not any(unicodedata.category(c)[0] in "LNPS" for c in name):
        raise PeopleError("a name is needed: one letter at least")
    return name


def file_stem(name: str) -> str:
    """Return how the names of a person's files begin: readable, safe on every disk, and different for each name."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", letters).strip("-")[:32].strip("-") or "person"
    return f"{slug}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
