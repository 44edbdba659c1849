"""The name of a sentence in the TREC tools: ``instance#00042``, since one name space holds the sentences of all papers.

>>> docno("dev_4", 42)
'dev_4#00042'
"""

from evidencebench.errors import DataError
from evidencebench.runs.given_answers import INDEX_DIGITS


def docno(instance_id: str, index: int) -> str:
    """Return the name of a sentence."""
    return f"{instance_id}#{index:05d}"


def index_in(name: str, instance_id: str) -> int:
    """Return the index that a sentence's name ends in; raises `DataError` if it is none, or of another instance."""
    owner, mark, digits = name.rpartition("#")
    if not INDEX_DIGITS.fullmatch(digits) or (mark and owner != instance_id):
        raise DataError(f"expected a sentence of '{instance_id}', such as '{docno(instance_id, 42)}', got '{name}'")
    return int(digits)


def one_word(name: str) -> str:
    """Return a name that can stand in a column of a TREC file; raises `DataError` where it cannot."""
    if name.split() != [name]:
        raise DataError(f"{name!r}: expected a name without white space, by which TREC files are split")
    return name
