"""Lists of papers, as managers of references and databases export them: ids, and attached files."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from evidencebench.errors import DataError, UnreadableError
from evidencebench.files.disk import BROKEN_JSON, decoded
from evidencebench.papers.ids import public_id
from evidencebench.papers.tree import beginning
from evidencebench.provenance import require_extra

_Fields = dict[str, list[str]]  # of a record: its values by its format's own name of a field, in small letters
_Read = Callable[[str, str], Iterator[_Fields]]


class ListedPaper(NamedTuple):
    """A record of a list: its ids as `Paper` has them, its year among them, and the files that it names, as written."""

    title: str
    ids: Mapping[str, str]
    files: tuple[str, ...]

    @property
    def public(self) -> str | None:
        """The id to ask for it by."""
        return next((self.ids[scheme] for scheme in ("pmcid", "doi", "pmid") if scheme in self.ids), None)


def _tagged(text: str, _: str, *, tag: re.Pattern[str], first: str) -> Iterator[_Fields]:
    """Yield the records of a format with a tag a line; other lines go on with the value above them."""
    record: _Fields = {}
    values: list[str] = []
    for line in re.split(r"\r\n?|\n", text):
        match = tag.match(line)
        if match and match[1] == first and record:
            yield record
            record = {}
        if match and (record or match[1] == first):
            values = record.setdefault(match[1].lower(), [])
            values.append((match[2] or "").strip())
        elif values and line.strip():
            values[-1] += f" {line.strip()}"
    if record:
        yield record


_ris = partial(_tagged, tag=re.compile(r"\s?([A-Z][A-Z0-9]) {1,2}-(?: (.*)|\s*$)"), first="TY")
_medline = partial(_tagged, tag=re.compile(r"([A-Z]{2,4}) *- (.*)"), first="PMID")


def _bibtex(text: str, name: str) -> Iterator[_Fields]:
    require_extra(f"{name}: reading BibTeX", "bibtex", "bibtexparser")
    from bibtexparser.entrypoint import parse_string  # noqa: PLC0415 - an extra
    from bibtexparser.model import Entry, ParsingFailedBlock  # noqa: PLC0415

    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)  # of an entry that it cannot read
    for block in parse_string(text).blocks:
        entry = getattr(block, "ignore_error_block", None) or block  # a key twice is no error here
        if isinstance(entry, Entry):
            yield {field.key.lower(): [str(field.value)] for field in entry.fields}
        elif isinstance(entry, ParsingFailedBlock):
            yield {"title": [f"{(entry.raw or '').strip()[:40]}: no whole entry"]}


def _csl(text: str, name: str) -> Iterator[_Fields]:
    try:
        items: Any = msgspec.json.decode(text)
        items = msgspec.convert(items["items"] if isinstance(items, dict) else items, list[dict[str, Any]])
    except (*BROKEN_JSON, KeyError) as error:
        raise UnreadableError(f"{name}: expected CSL JSON, got other JSON: {error}; export the list again") from error
    return ({key.lower(): [str(value)] for key, value in item.items()} for item in items)


_PUBMED_START = re.compile(r"(?:\A\s*|\n\s*\n)(?=\d+: )|(?:\A\s*|\n\s*\n\s*\n)(?=\d+\. )")
_PUBMED_IDS = re.compile(r"(?i)\b(doi|pmid|pmcid):\s*(\S*\w)")


def _pubmed_text(text: str, _: str) -> Iterator[_Fields]:
    for record in filter(None, _PUBMED_START.split(text.replace("\r\n", "\n"))):
        head, *paragraphs = record.split("\n\n")
        title = paragraphs[0] if re.match(r"\d+\. ", head) and paragraphs else head
        ids = {key.lower(): [value] for key, value in _PUBMED_IDS.findall(record)}  # the last: of comments before it
        yield ids | {"title": [re.sub(r"\A\d+[:.] ", "", title)], "year": [head]}


# How each format begins, and what reads it.
_FORMATS: tuple[tuple[re.Pattern[str], _Read], ...] = (
    (re.compile(r"(?:\s|\d+\.?[ \r]*\n|(?:Provider|Content|Database)\b.*\n)*TY {1,2}- ?\w"), _ris),
    (re.compile(r"\s*PMID- ?\d"), _medline),
    (re.compile(r"(?i)(?:\s|%.*\n)*@(?:comment|string|preamble|[a-z]+\s*[{(]\s*[^\s,{}()]*\s*,)"), _bibtex),
    (re.compile(r'(?s)\s*(?:\{\s*"items"\s*:\s*)?\[\s*\{.*?"(?:DOI|issued|container-title|citation-key)"\s*:'), _csl),
    (re.compile(r"\s*1(?:: \S(?:.|\n(?!\r?\n))*|\. .*\. \d{4}\b(?s:.*?)\n)PMID: ?\d"), _pubmed_text),
)

# Where the formats have what; the first field that holds it counts.
_IDS = {
    "pmcid": ("pmcid pmc c2 an n1 note ur url", r"\b(PMC\d+)"),
    "doi": ("doi do di lid aid m3 l3 n1 note ur url", r"(?i)(?:\A|doi(?:\.org/|:? ?))(10\.\d{4,9}/\S+)"),
    "pmid": (
        "pmid an c1 c3 n1 note ur url",
        r"(?i)\A(\d{5,8})\Z|(?:\b(?:pmid|pubmed)\W{1,3}|pubmed\S*?/)(\d{1,8})\b",
    ),
    "year": ("py y1 year date issued da dp", r"(?<!\d)((?:1[89]|20)\d\d)"),
}


def is_list(content: bytes) -> bool:
    """Say whether content is a list of papers."""
    return _reader(content) is not None


def _reader(content: bytes) -> _Read | None:
    head = beginning(content[: 1 << 16])
    return next((read for pattern, read in _FORMATS if pattern.match(head)), None)


def read_list(content: bytes, *, name: str) -> list[ListedPaper]:
    """Return the records of a list, in its order; what is no UTF-8 is read as Windows writes Western languages."""
    try:
        text = decoded(content, name=name)
    except UnreadableError:
        text = content.decode("cp1252", errors="replace")
    read = _reader(content)
    return list(map(_listed, read(text, name))) if read else []


def _listed(fields: _Fields) -> ListedPaper:
    if not all(re.search("(?i)medline|pubmed|nlm", base) for base in fields.get("db", ())):
        fields.pop("an", None)  # a number of another database is no PMID
    ids: dict[str, str] = {}
    for scheme, (keys, pattern) in _IDS.items():
        values = (re.sub(r"[\\{}]", "", value) for key in keys.split() for value in fields.get(key, ()))
        written = (unquote(value) if "://" in value else value for value in values)
        for match in filter(None, (re.search(pattern, value) for value in written)):
            found = match[match.lastindex or 0]
            with suppress(DataError):
                ids.setdefault(scheme, found if scheme == "year" else public_id(found).value)
    title = next((fields[key][0] for key in ("title", "ti", "t1", "ct", "bt") if key in fields), "")
    title = re.sub(r"[{}]|\\[^\w&%]?", "", " ".join(title.split()))  # of BibTeX
    links = [link for key in ("l1", "l2", "pdf") for link in fields.get(key, ())]
    links += [link for link in fields.get("ur", ()) if link.startswith("file:")]
    links += [path for value in fields.get("file", ()) for path in _bibtex_files(value)]
    # Other addresses are of the web.
    files = [link for link in links if link and not re.match(r"(?!file:|internal-pdf:)[a-z]{2,}:", link)]
    return ListedPaper(title=title, ids=ids, files=tuple(dict.fromkeys(files)))


def _bibtex_files(value: str) -> Iterator[str]:
    """Yield the paths of ``name:path:type;...``, where a backslash stands before signs of a path; or of paths alone."""
    for file in re.split(r"(?<!\\);", value.replace("$\\backslash$", "")):
        parts = re.split(r"(?<!\\):", file)
        path = ":".join(parts[1:-1]) if len(parts) > 2 else parts[-1]  # noqa: PLR2004 - a name, a path, a type
        yield re.sub(r"\\(.)|[{}]", r"\1", path).strip()


def attached_file(written: str, folder: Path, allowed: Iterable[Path]) -> Path:
    """Return the file that a list in a folder names, or one of its name beside the list.

    Raises `DataError` where it is not there, or lies neither below the folder nor below what is allowed.
    """
    path = unquote(urlsplit(written).path) if written.startswith("file:") else written
    files = [folder / path, folder / re.split(r"[\\/]", path)[-1]]
    if written.startswith("internal-pdf:"):  # EndNote keeps them beside its library
        files = [data / "PDF" / path.partition("//")[2] for data in folder.glob("*.Data")]
    problem = "is not there"
    for file in files:
        with suppress(OSError, ValueError):  # too long a name, or one with a zero
            if file.is_file():
                if any(file.resolve().is_relative_to(root.resolve()) for root in (folder, *allowed)):
                    return file
                problem = "lies outside the folder of the list: name it, or its folder, in the call too"
    raise DataError(f"{written} {problem}")
