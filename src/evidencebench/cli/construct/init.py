"""``evidencebench construct init``: the configuration, with every key and why it is there."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec

from evidencebench.cli import options
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import print_cautions, print_prose, refuse_existing, tell_written
from evidencebench.construction.config import ConfigFile, checked_name, parse_config
from evidencebench.construction.harvest.references import ALLOWED, KNOWN
from evidencebench.errors import DataError
from evidencebench.files.atomic import write_whole
from evidencebench.models.llm.providers import PROVIDERS, place_of_key, provider_of
from evidencebench.tables import printable

CONFIG_NAME = "construction.toml"

# Key -> why it is there, and an example where it has no default.
_WHY: Mapping[str, tuple[str, str]] = {
    "name": ("the ids of the instances begin with this", ""),
    "reviews": ("reviews in JATS XML: files, or folders of them", '["reviews"]'),
    "table": ("or a table of summaries instead (CSV, TSV, JSON Lines)", '"summaries.csv"'),
    "papers": ("the folder of the cited papers; 'run --fetch' downloads missing ones", ""),
    "work": ("the folder for all output", ""),
    "model": ("used in all steps; add options after commas", ""),
    "licences": (
        "allowed licences; default: these, public domain, and SA or NC",
        '["cc0", "cc-by"]',
    ),
    "judge.model": ("for the judge only", '"provider/name"'),
    "judge.second_model": ("asked again if the first one is in doubt", '"provider/name"'),
    "judge.window": ("sentences judged together", ""),
    "judge.overlap": ("how many of them are in the next window too", ""),
    "judge.at_once": ("all aspects of a summary in one request: an eighth of the cost", ""),
    "judge.precision": ("the target: below it, doubtful sentences are asked again; 0: never", ""),
    "judge.check": ("the share of the windows that a second model is asked in any case", ""),
    "filter.least_covered": ("the share of a draft's aspects that must have a source sentence", ""),
    "assemble.shares": ("the shares of the splits; they add up to 1", ""),
    "assemble.split_by": ("what stays in one split: papers and reviews (both), or papers (paper)", ""),
    "assemble.seed": ("the seed for drawing the splits", ""),
    "assemble.against": ("data sets that must share no paper and no hypothesis with yours", ""),
    "assemble.made_on": ("the date on the datasheet; default: the day of the run", "2026-01-31"),
}
_MODELS = {"openai": "gpt-4o-mini", "anthropic": "claude-haiku-4-5", "gemini": "gemini-2.5-flash"}
_TABLES = ("summaries.csv", "summaries.tsv", "summaries.jsonl")


@options.command
def init(
    *,
    folder: Annotated[Path, argument("[FOLDER]", kind=options.FOLDER, required=False, default=".")],
    name: Annotated[str | None, option("--name NAME", "Name of the data set. [default: the folder's]")],
    reviews: Annotated[tuple[str, ...], option("--reviews PATH", "File or folder of reviews; repeatable.")],
    table: Annotated[str | None, option("--table FILE", "Table of existing summaries, instead of reviews.")],
    papers: Annotated[str | None, option("--papers PATH", "Folder of the cited papers. [default: papers]")],
    model: Annotated[str | None, options.option("--model MODEL", "Such as openai/NAME. [default: by your keys]")],
    precision: Annotated[
        float | None, option("--precision SHARE", "Target precision of the labels.", options.Finite(0, 1))
    ],
    licences: Annotated[
        tuple[str, ...],
        option("--license NAME", f"Allowed licence; repeatable: {', '.join(KNOWN)}.", click.Choice(KNOWN)),
    ],
    yes: Annotated[bool, option("--yes", "Ask nothing; use defaults for what is not given.")],
    overwrite: Annotated[bool, option("--overwrite", "Replace an existing configuration.")],
    as_json: options.AsJson,
) -> None:
    """Write a configuration file for a construction, every key explained.

    FOLDER gets construction.toml; paths are relative to FOLDER. In a terminal, you
    are asked for what no option gives; otherwise, and with --yes, defaults are
    used.

    \b
    Examples:
      evidencebench construct init
      evidencebench construct init tea --name tea --model openai/gpt-4o-mini --yes
    """
    if reviews and table:
        raise click.UsageError("expected --reviews or --table, not both")
    path = folder / CONFIG_NAME
    if path.exists():
        refuse_existing(path, overwrite=overwrite)
    asks = not (yes or as_json) and sys.stdin.isatty() and sys.stdout.isatty()

    def answer(given: str | None, question: str, default: str) -> str:
        return given or (click.prompt(question, default=default).strip() if asks else default)

    values: dict[str, Any] = {"name": answer(name, "Name of the data set", _default_name(folder))}
    if not (reviews or table):
        found = next((one for one in _TABLES if (folder / one).is_file()), None)
        has_reviews = (folder / "reviews").exists() or found is None
        said = answer(None, "Reviews (a folder), or a table of summaries", "reviews" if has_reviews else str(found))
        reviews, table = ((), said) if Path(said).suffix.lower() in (".csv", ".tsv", ".jsonl") else ((said,), None)
    values |= {"table": table} if table else {"reviews": list(reviews)}
    values["papers"] = answer(papers, "Folder of the cited papers", "papers")
    values["model"] = answer(model, "Language model, as provider/name", _default_model())
    if precision is None and asks:
        precision = click.prompt("Precision of the labels to aim at (0: none)", 0.9, type=options.Finite(0, 1))
    values |= {} if precision is None else {"judge": {"precision": precision}}
    if not licences and asks:
        said = click.prompt("Licences of reviews and papers", default=" ".join(ALLOWED))
        licences = tuple(said.replace(",", " ").split())
    values |= {"licences": list(licences)} if licences and licences != ALLOWED else {}
    text = config_text(values)
    config = parse_config(text, path)
    provider_of(values["model"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be made: {error.strerror}") from error
    write_whole(path, text)
    inputs = [config.file.table] if config.file.table else config.file.reviews
    missing = [name for name in inputs if not (folder / name).exists()]
    key = provider_of(values["model"]).key_env
    has_key = not key or place_of_key(key) is not None or "key_env=" in values["model"]
    print_cautions(f"{folder / name}: is not there yet; put your reviews or summaries there" for name in missing)
    print_cautions([] if has_key else [f"{key} is not set; export it, or name another model in {path}"])
    tell_written(path, {"missing": missing, "has_key": has_key}, str(path), as_json=as_json)
    if not as_json:
        file = shlex.quote(str(path))
        print_prose(printable(f"next: evidencebench construct run {file} --fetch --limit 20 --max-cost-usd 5"))


def _default_name(folder: Path) -> str:
    letters = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in folder.resolve().name)
    try:
        return checked_name(letters.strip("_")[:100].lower())
    except DataError:
        return "benchmark"


def _default_model() -> str:
    """Return a small model of a provider whose key is at hand; of the first one where there is none."""
    providers = [name for name in _MODELS if place_of_key(PROVIDERS[name].key_env) is not None] or list(_MODELS)
    return f"{providers[0]}/{_MODELS[providers[0]]}"


def config_text(values: Mapping[str, Any]) -> str:
    """Return a configuration with all keys: given values, else defaults; those without one as comments."""
    lines = [f"# Settings of the data set '{printable(str(values['name']))}'. Paths are relative to this file."]
    return "\n".join([*lines, *_lines(ConfigFile, values, ""), ""])


def _lines(kind: type[msgspec.Struct], values: Mapping[str, Any], table: str) -> Iterator[str]:
    tables: list[tuple[str, type[msgspec.Struct]]] = []
    for field in msgspec.structs.fields(kind):
        default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        if isinstance(default, msgspec.Struct):
            tables.append((field.name, type(default)))
            continue
        value = values.get(field.name, None if default is msgspec.NODEFAULT else default)
        why, example = _WHY.get(f"{table}{field.name}", ("", ""))
        is_unset = value is None or (example and not value)
        key = f"# {field.name} = {example}" if is_unset else f"{field.name} = {_toml(value)}"
        yield from ("", f"# {why[:1].upper()}{why[1:]}.", key) if why else ("", key)
    for name, inner in tables:
        yield from ("", "", f"[{name}]", *_lines(inner, values.get(name, {}), f"{name}."))


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_toml(one)}' for key, one in value.items())} }}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
