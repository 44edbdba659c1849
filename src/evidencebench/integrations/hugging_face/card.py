"""The data card, README.md: a header that Hugging Face reads, then sizes, columns, licences and citation for people."""

from collections.abc import Sequence
from typing import Any

from evidencebench.data.formats.parquet_columns import schema
from evidencebench.integrations.hugging_face.licences import OTHER, hub_name, terms_of
from evidencebench.integrations.hugging_face.written_split import COLUMNS, WrittenSplit
from evidencebench.integrations.known_data import CITATION, PAPER_URL
from evidencebench.version import __version__

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def card(splits: Sequence[WrittenSplit]) -> str:
    """Return the text of README.md."""
    return f"---\n{_header(splits)}\n---\n\n{_body(splits)}"


def title_of(splits: Sequence[WrittenSplit]) -> str:
    """Return what the data are called: by the benchmark's name where all of them are of it, else by their files."""
    if all(split.is_published for split in splits):
        return "EvidenceBench"
    return ", ".join(dict.fromkeys(split.data for split in splits))


def _header(splits: Sequence[WrittenSplit]) -> str:
    import datasets  # noqa: PLC0415 - an extra
    from huggingface_hub import DatasetCardData  # noqa: PLC0415 - it comes with `datasets`

    licences = list(dict.fromkeys(split.licence for split in splits))
    names = list(dict.fromkeys(map(hub_name, licences)))
    n_all = sum(split.n_instances for split in splits)
    info = datasets.DatasetInfo(
        features=datasets.Features.from_arrow_schema(schema()),
        splits=[
            {"name": split.name, "num_bytes": split.n_bytes_unpacked, "num_examples": split.n_instances}
            for split in splits
        ],
        download_size=sum(split.n_bytes for split in splits),
        dataset_size=sum(split.n_bytes_unpacked for split in splits),
    )
    about: dict[str, Any] = {
        "pretty_name": title_of(splits),
        "license": names[0] if len(names) == 1 else names,
        "size_categories": next((name for most, name in _SIZES if n_all < most), "n>1M"),
        "tags": ["evidence-retrieval"],
    }
    if OTHER in names:
        about["license_name"] = "; ".join(licences)
    if any(split.is_published for split in splits):
        about["tags"] += ["biology", "medical"]
        about |= {"language": ["en"], "task_categories": ["text-retrieval", "text-ranking"]}
    files = [{"split": split.name, "path": split.pattern} for split in splits]
    data = DatasetCardData(**about, configs=[{"config_name": "default", "data_files": files}])
    datasets.info.DatasetInfosDict({"default": info}).to_dataset_card_data(data)
    return str(data.to_yaml())


def _body(splits: Sequence[WrittenSplit]) -> str:
    first = splits[0].name
    lines = [
        f"# {_plain(title_of(splits))}",
        "",
        "Each instance is a hypothesis and a paper; to be found are the sentences that are evidence for or against it.",
        f"Written by evidencebench {__version__}; `evidencebench data validate` checks the files of `data/`.",
        "",
        "```python",
        "from datasets import load_dataset",
        "",
        f'rows = load_dataset("FOLDER", split="{first}")  # FOLDER: where this file lies',
        "```",
        "",
        "## Splits",
        "",
        "| split | instances | bytes | licence | made of |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {split.name} | {split.n_instances:,} | {split.n_bytes:,} | {_plain(split.licence)} | "
        f"{_plain(split.data)}, sha256 {split.data_sha256} |"
        for split in splits
    ]
    lines += ["", "## Columns", "", "| column | type | what it holds |", "| --- | --- | --- |"]
    types = {field.name: str(field.type).replace("element: ", "").replace("item: ", "") for field in schema()}
    lines += [f"| `{name}` | `{types[name]}` | {text} |" for name, text in COLUMNS.items()]
    lines += ["", "## Licences", ""]
    for licence in dict.fromkeys(split.licence for split in splits):
        names = ", ".join(split.name for split in splits if split.licence == licence)
        lines.append(f"* {names}: {_plain(licence)}. {terms_of(licence)}")
    lines += ["", "The sentences are of papers, which have licences of their own too.", ""]
    if any(split.is_published for split in splits):
        described = f"The benchmark is described in <{PAPER_URL}>."
        lines += ["## Citation", "", described, "", "```bibtex", CITATION, "```", ""]
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Return text from outside so that Markdown shows it as it stands, on one line."""
    shown = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return "".join(f"\\{sign}" if sign in r"\`*_{}[]<>()#!|~&" else sign for sign in shown)
