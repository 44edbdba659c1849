"""What mkdocs asks of us: public names, sample pages to click, our colours, and that nothing comes from a network."""

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

STUB = Path(__file__).resolve().parents[1] / "src" / "evidencebench" / "__init__.pyi"
MARK = "<!-- public names -->"
LOADED = re.compile(r"<(?:script|img|iframe)[^>]*\ssrc=[\"']?https?:[^>]*>|<link[^>]*\shref=[\"']?https?:[^>]*>")
TITLES = {
    "data": "Data and optima",
    "system": "Systems",
    "query": "Systems",
    "systems": "Systems",
    "execution": "Ask systems, find evidence",
    "papers": "Papers",
    "runs": "Runs",
    "scoring": "Scores and tests",
    "models": "Language models",
    "engine": "Where work runs",
    "integrations": "Other tools",
    "pages": "Charts",
}
"""The heading of what lies in a folder or file of the package; of others, their own name."""

TOKENS = STUB.with_name("pages") / "assets" / "tokens.css"
SAMPLE_PAGES: Mapping[str, tuple[str, ...]] = {
    "found.html": ('find "Dietary PBDE-47 lowers plasma T4" sample -k 3 --html found.html',),
    "report.html": (
        "run cues --data sample -o cues.jsonl",
        "run bm25 --data sample -o bm25.jsonl",
        "run tfidf --data sample -o tfidf.jsonl",
        "run bm25 --data sample --control wrong_hypothesis -o bm25.wrong.jsonl",
        "report cues.jsonl bm25.jsonl tfidf.jsonl bm25.wrong.jsonl --data sample -o report.html",
    ),
}
"""Pages of the site that the commands write: name -> the commands."""


def on_files(files: Files, *, config: Any, **_: Any) -> Files:
    """Add the sample pages, and the colours of all pages, which the style of the site refers to."""
    root = TOKENS.read_text(encoding="utf-8").partition(":root {")[2].partition("}")[0]
    files.append(File.generated(config, "assets/tokens.css", content=f":root {{{root}}}\n"))
    with tempfile.TemporaryDirectory() as folder:
        for name, commands in SAMPLE_PAGES.items():
            for command in commands:
                words = [sys.executable, "-m", "evidencebench", *shlex.split(command)]
                subprocess.run(words, cwd=folder, check=True, capture_output=True)
            files.append(File.generated(config, f"sample/{name}", content=(Path(folder) / name).read_bytes()))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Put the public names in place of their mark."""
    if page.file.src_uri != "python.md":
        return markdown
    return markdown.replace(MARK, "\n".join(public_names(STUB.read_text(encoding="utf-8"))))


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Refuse a page that loads anything from a network, and let its search run from the disk."""
    if found := LOADED.search(output):
        raise ValueError(f"{page.file.src_uri}: expected nothing from a network, got {found[0]}")
    script = (Path(__file__).parent / "search_from_disk.js").read_text(encoding="utf-8")
    return output.replace("<head>", f"<head><script>{script}</script>", 1)


def on_post_build(*, config: Any) -> None:
    """Write the index of the search as a script, too: from the disk, browsers read no other file."""
    index = Path(config.site_dir) / "search" / "search_index.json"
    index.with_suffix(".js").write_text(f"var __index = {index.read_text(encoding='utf-8')}", encoding="utf-8")


def public_names(stub: str) -> list[str]:
    """Return a heading for each group of public names, and below it a directive of mkdocstrings for each name."""
    groups: dict[str, list[str]] = {title: [] for title in TITLES.values()}
    for module, name, public in re.findall(r"^from evidencebench\.(\S+) import (\w+) as (\w+)$", stub, re.MULTILINE):
        folder = module.partition(".")[0]
        if public != "__version__":
            groups.setdefault(TITLES.get(folder, folder.capitalize()), []).append(f"evidencebench.{module}.{name}")
    return [
        part
        for title, paths in groups.items()
        if paths
        for part in (f"## {title}\n", *(f"::: {path}\n" for path in paths))
    ]
