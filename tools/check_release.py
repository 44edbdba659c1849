"""Check what `make release` built: one version, links that hold on a package index, a wheel that works alone."""

import re
import subprocess
import sys
import venv
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

import yaml

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\((?!https?://|#)([^)]+)\)|(?:src|href)=[\"'](?!https?://|#)([^\"']+)")
COMMANDS = (
    ("demo",),
    ("find", "Dietary PBDE-47 lowers plasma T4", "sample"),
    ("run", "finder", "--data", "sample", "-o", "finder.jsonl"),
    ("report", "finder.jsonl", "--data", "sample", "-o", "report.html"),
)
NEXT = """\
Ready: {files}

What a person does next:
  1. set Source in pyproject.toml's [project.urls]: README's links and pictures lead there
  2. write the day into CHANGELOG.md in place of "not released", commit, make release
  3. git tag v{version} && git push --tags
  4. twine upload {files}
  5. in a new environment: pip install evidencebench=={version} && evidencebench demo
"""


def metadata_of(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))


def disagreements(metadata: Message) -> list[str]:
    """Return where version, licence or title differ between the wheel, CITATION.cff and CHANGELOG.md."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    newest = re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    pairs = {
        "version of CITATION.cff": (citation["version"], metadata["Version"]),
        "version of CHANGELOG.md": (newest and newest[1], metadata["Version"]),
        "licence of CITATION.cff": (citation["license"], metadata["License-Expression"]),
        "title of CITATION.cff": (citation["title"], metadata["Name"]),
        "authors of CITATION.cff": (citation["authors"][0]["name"], metadata["Author"]),
    }
    return [f"{what}: {ours!r}, in the wheel {its!r}" for what, (ours, its) in pairs.items() if ours != its]


def broken_links(metadata: Message) -> list[str]:
    """Return the links of the README, as an index shows it, that lead nowhere there."""
    text = re.sub(r"^```.*?^```", "", str(metadata.get_payload()), flags=re.MULTILINE | re.DOTALL)
    return [f"README on an index: the link {found[1] or found[2]} is not absolute" for found in LINK.finditer(text)]


def run_alone(wheel: Path, folder: Path) -> None:
    """Install a wheel into an empty environment and run the main commands there."""
    venv.create(folder / "venv", with_pip=True, clear=True)
    binaries = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    pip = [str(binaries / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, str(wheel)], check=True)
    for words in COMMANDS:
        print(f"evidencebench {words[0]} ...")
        subprocess.run([binaries / "evidencebench", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    files = sorted((ROOT / "dist").iterdir())
    (built,) = [file for file in files if file.suffix == ".whl"]
    about = metadata_of(built)
    if problems := disagreements(about) + broken_links(about):
        sys.exit("\n".join(problems))
    folder = ROOT / "build" / "release"
    folder.mkdir(parents=True, exist_ok=True)
    run_alone(built, folder)
    names = " ".join(f"dist/{file.name}" for file in files)
    print(NEXT.format(files=names, version=about["Version"]))
