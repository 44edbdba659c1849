"""A data set as a `datasets.Dataset`, on the disk and not in memory."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from evidencebench.data.dataset import Dataset, dataset_from
from evidencebench.data.formats.parquet_columns import schema, table_of
from evidencebench.data.formats.parquet_row import row_of
from evidencebench.extras import require_extra
from evidencebench.storage.reading import PathText
from evidencebench.version import __version__

if TYPE_CHECKING:
    import datasets


def to_hf(dataset: Dataset | PathText, *, cache_dir: PathText | None = None) -> "datasets.Dataset":
    """Return a data set as a `datasets.Dataset` of Hugging Face, an instance a row.

    The columns are those of our Parquet files, see docs/data-format.md. The rows are written into the cache of
    `datasets` and mapped from there, so that no more than a few are in memory; the same data is
    written once. Nothing is fetched or sent.

    Parameters
    ----------
    dataset
        The data: a data set, its path or catalogue name.
    cache_dir
        The folder for the rows; None: that of `datasets`.

    Raises
    ------
    MissingExtraError
        If `datasets` is not installed.
    DataError
        If the data cannot be read.

    Examples
    --------
    >>> rows = to_hf("sample")
    >>> rows[1]["id"], rows.features["sentences"].feature.dtype
    ('evidencebench_sample_id_1', 'string')
    """
    require_extra("to_hf", "hf", "datasets", "pyarrow")
    import datasets  # noqa: PLC0415 - an extra

    data = dataset_from(dataset)

    def rows() -> Iterator[dict[str, Any]]:
        rows = map(row_of, data)
        while batch := list(islice(rows, 64)):
            yield from table_of(batch).to_pylist()

    fingerprint = f"evidencebench-{__version__}-{data.sha256[:32]}"
    features = datasets.Features.from_arrow_schema(schema())
    folder = None if cache_dir is None else str(cache_dir)
    return datasets.Dataset.from_generator(rows, features=features, cache_dir=folder, fingerprint=fingerprint)
