"""`ResultTable`: the answer to one question about scored runs, as text, Markdown, LaTeX, CSV, JSON or a data frame."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from evidencebench.integrations.frames import frame_of
from evidencebench.scoring.measures import MEASURES, MeasureOrName
from evidencebench.scoring.score_runs import ScoredRuns
from evidencebench.tables import WIDTH, Table, as_csv, as_html, as_latex, as_markdown, as_text

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTable(Generic[Found]):
    """Tables of one question. ``print(result)`` shows them as text, a notebook as HTML.

    Attributes
    ----------
    found
        The results that the tables are made of, such as a `Board` for each task.
    tables
        The tables for readers: rounded, and in percent.
    figures
        One table of every figure with all its digits, shares in 0..1: the CSV and the data frame.
    fields
        What ``--json`` prints.
    signatures
        What decides each score, on a line each, so that it can be repeated.
    """

    found: Found
    tables: tuple[Table, ...]
    figures: Table
    fields: Any
    signatures: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return "\n".join(map(as_html, self.tables))

    def text(self, width: int = WIDTH) -> str:
        """Return the tables as text of at most ``width`` columns."""
        return "\n\n".join(as_text(table, width) for table in self.tables)

    def markdown(self) -> str:
        """Return the tables in Markdown."""
        return "\n\n".join(map(as_markdown, self.tables))

    def latex(
        self, *, heads: Mapping[str, str] | None = None, caption: str | None = None, label: str | None = None
    ) -> str:
        r"""Return the tables in LaTeX, for the package booktabs.

        Parameters
        ----------
        heads
            Head of a column -> the head to print in its place, such as ``{"er_at_10": "ER@10"}``.
        caption
            What stands in ``\caption``, in place of the sentences that explain the marks.
        label
            What ``\ref`` finds the table by; of several tables, the first.

        Raises
        ------
        ValueError
            If no column has such a head.

        Examples
        --------
        >>> from evidencebench import Experiment
        >>> table = Experiment(["bm25"], "sample", tasks="er_at_10", controls=()).table()
        >>> print(table.latex(heads={"er_at_10": "ER@10"}, label="tab:recall").splitlines()[-7])
        system & ER@10 \\
        """
        heads = heads or {}
        known = dict.fromkeys(head for table in self.tables for head in table.columns)
        if unknown := next((head for head in heads if head not in known), None):
            raise ValueError(f"heads: no column '{unknown}'; expected some of {', '.join(filter(None, known))}")
        first, *others = (
            replace(table, columns=[heads.get(head, head) for head in table.columns]) for table in self.tables
        )
        first = replace(first, caption=first.caption if caption is None else caption, label=label or "")
        return "\n\n".join(map(as_latex, [first, *others]))

    def csv(self) -> str:
        """Return every figure as CSV."""
        return as_csv(self.figures)

    def frame(self, *, backend: str | None = None) -> Any:
        """Return every figure as a data frame; ``backend`` and the errors are those of `instances_frame`."""
        return frame_of(self.figures, backend)


def label_of(measure: MeasureOrName) -> str:
    """Return what tables call a measure; the key of one of the user's own stands for itself."""
    known = MEASURES.get(measure) if isinstance(measure, str) else measure
    return str(measure) if known is None else known.label


def head_of(scored: ScoredRuns) -> dict[str, Any]:
    """Return how the JSON of every question begins."""
    return {"data": str(scored.dataset.path), "warnings": [row.fields() for row in scored.warnings]}
