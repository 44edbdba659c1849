"""A strict reading of the LaTeX that we write: what LaTeX would not compile, or would show otherwise, is an error."""

import re

_TOKEN = re.compile(
    r"\\begin\{[a-z]+\}(?:\{[lr]+\})?|\\end\{[a-z]+\}|\\(?:toprule|midrule|bottomrule|centering)\b"
    r"|\\multicolumn\{\d+\}\{l\}|\\(?:caption|textbf)(?=\{)|\\footnotesize |\$\\pm\$|\\\\(?=\n)"
    r"|\\text(?:dagger|daggerdbl|asciitilde|asciicircum|backslash|less|greater|bar)\{\}|\\[&%$#_{}]"
    r"|[^\\&%$#_{}~^<>|]|[&{}]"
)


def latex_rows(text: str) -> list[list[str]]:
    """Return the cells of each row of the only tabular in a text, its commands kept; raise where LaTeX would fail."""
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    source = "\n".join(lines).strip()
    pieces, place, depth, opened = [], 0, 0, []
    while place < len(source):
        found = _TOKEN.match(source, place)
        if found is None:
            raise AssertionError(f"LaTeX cannot read: {source[place : place + 30]!r}")
        piece, place = found[0], found.end()
        depth += (piece == "{") - (piece == "}")
        assert depth >= 0, "a brace is closed that was not opened"
        if piece.startswith(r"\begin"):
            opened.append(piece[7:].partition("}")[0])
        if piece.startswith(r"\end"):
            assert opened.pop() == piece[5:-1]
        if piece == r"\\":
            assert not source[place:].lstrip().startswith(("[", "*")), "an option of the row's end"
        pieces.append(piece)
    assert depth == 0
    assert not opened
    body = "".join(pieces).partition(r"\toprule")[2].partition(r"\bottomrule")[0]
    assert not re.search(r"\\midrule\s*\[", body), "an option of the rule"
    columns = re.search(r"\\begin\{tabular\}\{([lr]+)\}", source)
    assert columns is not None
    rows = [re.split(r"(?<!\\)&", row) for row in re.split(r"\\\\\n", body.replace("\\midrule\n", "")) if row.strip()]
    assert {len(row) for row in rows} == {len(columns[1])}
    return [[cell.strip() for cell in row] for row in rows]
