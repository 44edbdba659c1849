"""Lists of papers, as managers of references and databases export them: ids, and attached files."""

import csv
import io
import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from evidencebench.errors import DataError, UnreadableError
from evidencebench.files.disk import BROKEN_JSON, decoded
from evidencebench.papers.ids import public_id
from evidencebench.papers.tree import beginning, parse_xml
from evidencebench.provenance import require_extra

_Fields = dict[str, list[str]]  # of a record: its values by its format's own name of a field, in small letters
_Read = Callable[[str, str], Iterator[_Fields]]


class ListedPaper(NamedTuple):
    """A record of a list: its ids as `Paper` has them, its year among them, and the files that it names, as written.

    ``about`` has what else is kept of it, under the names of `ABOUT`.
    """

    title: str
    ids: Mapping[str, str]
    files: tuple[str, ...]
    about: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    @property
    def public(self) -> str | None:
        """The id to ask for it by."""
        return next((self.ids[scheme] for scheme in ("pmcid", "doi", "pmid") if scheme in self.ids), None)


# Of these, a line without a tag is another value: a file or an address.
_SEVERAL = frozenset({"L1", "L2", "L4", "UR", "%>", "%U"})
_END = frozenset({"ER", "EF"})  # of a record, of a file


def _tagged(
    text: str, _: str, *, tag: re.Pattern[str], first: Collection[str], blank: bool = False
) -> Iterator[_Fields]:
    """Yield the records of a format with a tag a line; other lines go on with the value above them.

    A record begins with one of the tags ``first``, behind the tag that ends one or, where ``blank``, an empty line.
    """
    record: _Fields = {}
    values: list[str] = []
    last = ""
    for line in re.split(r"\r\n?|\n", text):
        match = tag.match(line)
        is_over = match is not None and (match[1] in _END or (match[1] in first and match[1].lower() in record))
        if record and (is_over or (blank and not line.strip())):
            yield record
            record, values = {}, []
        if match and match[1] not in _END:
            last = match[1]
            values = record.setdefault(last.lower(), [])
            values.append((match[2] or "").strip())
        elif values and line.strip() and last in _SEVERAL:
            values.append(line.strip())
        elif values and line.strip():
            values[-1] += f" {line.strip()}"
        if match and match[1] in _END:
            values = []
    if record:
        yield record


_ris = partial(_tagged, tag=re.compile(r"\s?([A-Z][A-Z0-9]) {1,2}-(?: (.*)|\s*$)"), first=("TY",))
_medline = partial(_tagged, tag=re.compile(r"([A-Z]{2,4}) *- (.*)"), first=("PMID",), blank=True)
_ovid = partial(_tagged, tag=re.compile(r"([A-Z]{2}) {1,3}- (.*)"), first=("VN", "UI"), blank=True)
_endnote = partial(_tagged, tag=re.compile(r"(%[A-Z0-9@!#$&()*+<>?\[\]^~]) (.*)"), first=("%0",))
_web_of_science = partial(_tagged, tag=re.compile(r"([A-Z][A-Z0-9])(?: (.*)|\s*$)"), first=("PT",))


_COLUMNS = {"publication year": "year", "pubmed id": "pmid"}  # of tables -> the field that they are


def _table(text: str, name: str) -> Iterator[_Fields]:
    try:
        rows = list(csv.DictReader(io.StringIO(text.lstrip("\ufeff"))))
    except csv.Error as error:
        raise UnreadableError(f"{name}: expected a table of papers as CSV: {error}; export it again") from error
    for row in rows:
        yield {
            _COLUMNS.get(key.strip().lower(), key.strip().lower()): [value]
            for key, value in row.items()
            if key and isinstance(value, str) and value
        }


def _xml(text: str, name: str) -> Iterator[_Fields]:
    """Yield the records of EndNote's XML, and of PubMed's."""
    for record in parse_xml(text.encode(), name=name).all("record", "pubmedarticle"):
        fields: _Fields = {}
        for element in record.all("titles", "articletitle"):
            fields.setdefault("title", [(element.first("title") or element).text])
        for element in record.all(
            "year", "electronic-resource-num", "accession-num", "pmid", "remote-database-provider"
        ):
            fields.setdefault(element.tag, [element.text])
        for element in record.all("articleid"):
            fields.setdefault(element.attributes.get("idtype", ""), [element.text])
        fields["l1"] = [url.text for urls in record.all("pdf-urls") for url in urls.all("url")]
        yield fields


def _bibtex(text: str, name: str) -> Iterator[_Fields]:
    require_extra(f"{name}: reading BibTeX", "bibtex", "bibtexparser")
    from bibtexparser.entrypoint import parse_string  # noqa: PLC0415 - an extra
    from bibtexparser.model import Entry, ParsingFailedBlock  # noqa: PLC0415

    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)  # of an entry that it cannot read
    for block in parse_string(text).blocks:
        entry = getattr(block, "ignore_error_block", None) or block  # a key twice is no error here
        if isinstance(entry, Entry):
            yield {field.key.lower(): [_without_tex(field.key, str(field.value))] for field in entry.fields}
        elif isinstance(entry, ParsingFailedBlock):  # as where a field lacks its comma
            written = _BIBTEX_FIELD.findall(entry.raw or "")
            told = {"title": [f"{(entry.raw or '').strip()[:40]}: no whole entry"]}
            yield told | {key.lower(): [_without_tex(key, value)] for key, value in written}


_BIBTEX_FIELD = re.compile(r"(?im)^[ \t]*(\w+)[ \t]*=[ \t]*[{\"](.*?)[}\"][ \t]*,?[ \t]*$")
_ACCENTED = re.compile(
    r"\{?\\(?:[`'^\"~=.]\{?\\?[A-Za-z]\}?|[uvHckrb]\{\\?[A-Za-z]\}|(?:ss|ae|AE|oe|OE|o|O|aa|AA|l|L)(?![A-Za-z]))\}?"
)
_TEX_COMMAND = re.compile(r"\\[A-Za-z]")


def _without_tex(key: str, value: str) -> str:
    """Return a field with its umlauts, and but for paths its commands, as Unicode."""
    if "\\" not in value:
        return value
    from pylatexenc.latex2text import LatexNodes2Text  # noqa: PLC0415 - with bibtexparser

    reader = LatexNodes2Text(math_mode="text")
    value = re.sub(r"\{?\\text(less|greater)\b ?(?:\{\})?\}?", lambda sign: "<>"[sign[1] == "greater"], value)
    value = _ACCENTED.sub(lambda written: str(reader.latex_to_text(written[0])), value)
    if key.lower() == "file" or not _TEX_COMMAND.search(value):
        return value
    try:
        return str(reader.latex_to_text(value))
    except RecursionError:  # braces within each other by the thousand
        return value


def _csl(text: str, name: str) -> Iterator[_Fields]:
    try:
        items: Any = msgspec.json.decode(text)
        items = msgspec.convert(items["items"] if isinstance(items, dict) else items, list[dict[str, Any]])
    except (*BROKEN_JSON, KeyError) as error:
        raise UnreadableError(f"{name}: expected CSL JSON, got other JSON: {error}; export the list again") from error
    return ({key.lower(): _csl_values(value) for key, value in item.items()} for item in items)


def _csl_values(value: Any) -> list[str]:
    """Return the values of a field; people are written as family name, given name."""
    if isinstance(value, list) and value and all(isinstance(one, dict) and "family" in one for one in value):
        return [", ".join(filter(None, (str(one["family"]), str(one.get("given", ""))))) for one in value]
    return [str(value)]


# A list in any of these, or in none: what a line of a record begins with.
_ANY_TAG = re.compile(r"(?:[A-Z][A-Z0-9]{1,3} {0,3}- |%[A-Z0-9] |[A-Z][A-Z0-9] (?=\S))")
_HEAD_BYTES = 1 << 16  # by which a format is told
_LEAST_TAGS, _MOST_TAGGED = 5, 0.4  # different ones; of the lines

_PUBMED_START = re.compile(r"(?:\A\s*|\n\s*\n)(?=\d+: )|(?:\A\s*|\n\s*\n\s*\n)(?=\d+\. )")
_PUBMED_IDS = re.compile(r"(?i)\b(doi|pmid|pmcid):\s*(\S*\w)")


def _pubmed_text(text: str, _: str) -> Iterator[_Fields]:
    for record in filter(None, _PUBMED_START.split(text.replace("\r\n", "\n"))):
        head, *paragraphs = record.split("\n\n")
        title = paragraphs[0] if re.match(r"\d+\. ", head) and paragraphs else head
        ids = {key.lower(): [value] for key, value in _PUBMED_IDS.findall(record)}  # the last: of comments before it
        yield ids | {"title": [re.sub(r"\A\d+[:.] ", "", title)], "year": [head]}


# How each format begins, and what reads it. Some lines of a program may stand before the first record.
_LEAD = r"(?:[^\n]*\n){0,12}?"
_FORMATS: tuple[tuple[re.Pattern[str], _Read], ...] = (
    (re.compile(r"\s*PMID- ?\d|\s*(?:PMC|OWN) +- \w"), _medline),
    (re.compile(rf"{_LEAD}\s?(?:TY {{1,2}}- ?\w|[A-Z][A-Z0-9]  ?- (?s:.{{0,4000}}?)\n\s?TY  ?- ?\w)"), _ris),
    (re.compile(rf"{_LEAD}(?:<\d+>\s*\n)?VN {{1,3}}- Ovid"), _ovid),
    (re.compile(r"\s*%0 \w"), _endnote),
    (re.compile(r"\s*FN [^\n]*\nVR "), _web_of_science),
    (re.compile(rf"(?i){_LEAD}(?:\s|%.*\n)*@(?:comment|string|preamble|[a-z]+\s*[{{(]\s*[^\s,{{}}()]*\s*,)"), _bibtex),
    (re.compile(r'(?s)\s*(?:\{\s*"items"\s*:\s*)?\[\s*\{.*?"(?:DOI|issued|container-title|citation-key)"\s*:'), _csl),
    (re.compile(r"\s*\d+(?:: \S(?:.|\n(?!\r?\n))*|\. .*\. \d{4}\b(?s:.*?)\n)PMID: ?\d"), _pubmed_text),
    (re.compile(r'\s*(?=[^\n]*\bTitle\b)(?=[^\n]*\b(?:DOI|PMID|EID)\b)"?[\w /]+"?,'), _table),
    (
        re.compile(
            r"(?s)\s*(?:<\?xml.{0,200}?\?>\s*)?(?:<xml>\s*<records>|(?:<!DOCTYPE[^>]*>\s*)?<PubmedArticleSet\b)"
        ),
        _xml,
    ),
)

# Where the formats have what; the first field that holds it counts.
_IDS = {
    "pmcid": ("pmcid pmc c2 an n1 note ur url", r"\b(PMC\d+)"),
    "doi": (
        "doi do di %r electronic-resource-num lid aid m3 l3 n1 note ur url %u",
        r"(?i)(?:\A|\Ahttps?://\S*?doi\.org/|\Adoi:? ?)(10\.\d{4,9}/\S+)",
    ),
    "pmid": (
        "pmid pm ui an %m accession-num c1 c3 n1 note ur url %u",
        r"(?i)\A(\d{5,8})\Z|(?<!comment in )(?:\b(?:pmid|pubmed)\W{1,3}|pubmed\S*?/)(\d{1,8})\b",
    ),
    "year": ("py y1 year %d date issued da dp", r"(?<!\d)((?:1[89]|20)\d\d)"),
}


ABOUT = {
    "authors": "au a1 %a author",
    "journal": "jo jf jt t2 %j journal journaltitle container-title so source",
    "volume": "vl vi %v volume",
    "abstract": "ab n2 %x abstract",
}
"""What is kept of a record for exports, and where the formats have it; the first field that holds it counts."""


def is_list(content: bytes) -> bool:
    """Say whether content is a list of papers, in a format that is read or in another one."""
    head = beginning(content[:_HEAD_BYTES])
    return _reader(head) is not None or _is_unknown_list(head)


def _is_unknown_list(head: str) -> bool:
    """Say whether most lines begin with tags, as in lists of formats that nobody here knows."""
    lines = [line for line in head.splitlines() if line.strip()]
    tags = Counter(match[0] for line in lines if (match := _ANY_TAG.match(line)))
    return len(tags) >= _LEAST_TAGS and tags.total() >= _MOST_TAGGED * len(lines) and max(tags.values()) > 1


def _reader(head: str) -> _Read | None:
    return next((read for pattern, read in _FORMATS if pattern.match(head)), None)


def read_list(content: bytes, *, name: str) -> list[ListedPaper]:
    """Return the records of a list, in its order; what is no UTF-8 is read as Windows writes Western languages."""
    try:
        text = decoded(content, name=name)
    except UnreadableError:
        text = content.decode("cp1252", errors="replace")
    read = _reader(beginning(content[:_HEAD_BYTES]))
    if read is None:
        raise UnreadableError(
            f"{name}: a list of papers in a format that is not read; export it as RIS, BibTeX or CSL JSON"
        )
    return list(map(_listed, read(text, name)))


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
    title = next((fields[key][0] for key in ("title", "ti", "t1", "%t", "ct", "bt") if key in fields), "")
    title = re.sub(r"[{}]|\\[^\w&%]?", "", " ".join(title.split()))  # of BibTeX
    links = [link for key in ("l1", "l2", "pdf", "%>") for value in fields.get(key, ()) for link in _several(value)]
    links += [link for link in fields.get("ur", ()) if link.startswith("file:")]
    links += [path for value in fields.get("file", ()) for path in _bibtex_files(value)]
    # Other addresses are of the web.
    files = [link for link in links if link and not re.match(r"(?!file:|internal-pdf:)[a-z]{2,}:", link)]
    about = {name: next((fields[key] for key in keys.split() if fields.get(key)), []) for name, keys in ABOUT.items()}
    if len(about["authors"]) == 1:  # as BibTeX writes several
        about["authors"] = re.split(r"\s+and\s+", about["authors"][0])
    kept = {name: tuple(" ".join(value.split()) for value in values) for name, values in about.items() if values}
    return ListedPaper(title=title, ids=ids, files=tuple(dict.fromkeys(files)), about=kept)


def _several(value: str) -> list[str]:
    """Return the paths of one field, which some programs write behind each other."""
    parts = re.split(r"; ?|\s(?=(?:internal-pdf|file):)", value)
    return parts if all(re.search(r"\.\w{2,5}$", part) for part in parts) else [value]


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
    parts = [part for part in re.split(r"[\\/]", path) if part]
    files = [folder / path, folder.joinpath(*parts), folder / parts[-1]] if parts else []
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
