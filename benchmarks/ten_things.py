"""Ten things that a researcher does, in lines of code with evidencebench and with its peers: a table.

    python benchmarks/ten_things.py             the table, in Markdown
    python benchmarks/ten_things.py --tokens    tokens in place of lines
    python benchmarks/ten_things.py --run ranx  do the ten things with one of them

The last needs the package, and pandas, scipy and scikit-learn; mteb's training needs ``sentence-transformers[train]``.
The code is in ``benchmarks/things``, a file for each package and a function for each thing. A line is a line as
``ruff format`` writes it, without imports, comments, blank lines and the head of the function; helpers of the same file
count wherever they are used. What ``things/given.py`` has is given to all, and counts for none.
"""

import argparse
import ast
import os
import tempfile
import tokenize
from collections import Counter
from importlib import import_module
from io import StringIO
from pathlib import Path

_LAYOUT = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER}
PACKAGES = ("evidencebench", "ranx", "ir_measures", "mteb", "inspect_ai")
THINGS = {
    "own_system": "score your own system",
    "own_measure": "your own measure",
    "own_control": "your own control beside it",
    "own_test": "your own test of two systems",
    "latex_table": "LaTeX: 3 systems, 2 tasks, marks",
    "cross_validation": "cross-validate",
    "training": "train",
    "report": "a page to share",
    "leaderboard": "a leaderboard with intervals",
    "find": "evidence in one document",
}


def sizes(package: str, *, in_tokens: bool = False) -> dict[str, int | None]:
    """Return thing -> its lines or tokens of code; None where the package cannot do it."""
    source = Path(__file__).with_name("things").joinpath(f"{package}.py").read_text(encoding="utf-8")
    tokens = Counter(
        token.start[0] for token in tokenize.generate_tokens(StringIO(source).readline) if token.type not in _LAYOUT
    )
    nodes = {
        node.name: node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }

    def helpers(name: str) -> set[str]:
        """Return what a thing uses of its file, itself included."""
        found, waiting = set(), [name]
        while waiting:
            found.add(one := waiting.pop())
            used = {node.id for node in ast.walk(nodes[one]) if isinstance(node, ast.Name)}
            waiting += (used & nodes.keys()) - found
        return found

    def size(thing: str) -> int:
        numbers: set[int] = set()
        for name in helpers(thing):
            node = nodes[name]
            first = (
                node.body[0].lineno if name == thing else min([node.lineno, *(d.lineno for d in node.decorator_list)])
            )
            numbers |= {*range(first, (node.end_lineno or first) + 1)}
        return sum(tokens[number] if in_tokens else 1 for number in numbers & tokens.keys())

    return {thing: size(thing) if thing in nodes else None for thing in THINGS}


def print_table(*, in_tokens: bool) -> None:
    """Print packages by things."""
    counts = {package: sizes(package, in_tokens=in_tokens) for package in PACKAGES}
    print(f"| | {' | '.join(PACKAGES)} |\n|{' --- |' * (len(PACKAGES) + 1)}")
    for thing, words in THINGS.items():
        cells = ["–" if counts[package][thing] is None else str(counts[package][thing]) for package in PACKAGES]
        print(f"| {words} | {' | '.join(cells)} |")


def run(package: str) -> None:
    """Do the ten things with a package, in a folder that is thrown away, and print what each gives."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ |= {"INSPECT_DISPLAY": "none", "INSPECT_LOG_DIR": "mine"}
        given = import_module("things.given")
        given.write_paper(Path("paper.txt"))
        if package == "inspect_ai":
            given.write_logs(Path("logs"))
        module = import_module(f"things.{package}")
        for thing in THINGS:
            function = getattr(module, thing)
            print(f"== {thing}: {'not possible' if function is None else function()}", flush=True)
        os.chdir("/")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", choices=PACKAGES)
    parser.add_argument("--tokens", action="store_true")
    arguments = parser.parse_args()
    if arguments.run:
        run(arguments.run)
    else:
        print_table(in_tokens=arguments.tokens)
