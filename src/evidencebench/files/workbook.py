"""Tables as a spreadsheet."""

import io
from collections.abc import Mapping

from evidencebench.errors import DataError
from evidencebench.provenance import require_extra
from evidencebench.tables import Table, printable

_MOST_ROWS = 1_048_576


def workbook(sheets: Mapping[str, Table], what: str) -> bytes:
    """Return an .xlsx file of tables by the names of their sheets; raises `MissingExtraError` without XlsxWriter.

    ``what`` asks for it, such as ``find --xlsx``.
    """
    require_extra(what, "xlsx", "xlsxwriter")
    import xlsxwriter  # noqa: PLC0415 - an extra

    content = io.BytesIO()
    as_it_is = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}  # also what begins with =
    with xlsxwriter.Workbook(content, as_it_is) as book:
        for name, table in sheets.items():
            sheet = book.add_worksheet(name)
            if len(table.rows) >= _MOST_ROWS:
                raise DataError(f"{what}: expected at most {_MOST_ROWS - 1:,} rows, got {len(table.rows):,}")
            sheet.freeze_panes(1, 0)
            sheet.autofilter(0, 0, len(table.rows), len(table.columns) - 1)
            for number, row in enumerate((table.columns, *table.rows)):
                sheet.write_row(number, 0, [printable(cell) if isinstance(cell, str) else cell for cell in row])
    return content.getvalue()
