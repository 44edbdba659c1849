"""The README as a package index shows it, where a link to a file of the source leads nowhere."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


def indexed(text: str, source: str | None) -> str:
    """Return a README with links below the address of the source, or, without one, as words and without pictures."""
    if source:
        return re.sub(r"\]\((?!https?:|#)", f"]({source.rstrip('/')}/", text)
    text = re.sub(r"!\[[^]]*\]\((?!https?:)[^)]+\)\n*", "", text)
    return re.sub(r"\[([^]]+)\]\((?!https?:|#)[^)]+\)", r"\1", text)


class ReadmeHook(MetadataHookInterface):
    """Sets the readme; the address is `Source` of the project's urls."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source")
        metadata["readme"] = {"content-type": "text/markdown", "text": indexed(text, source)}
