"""The formats of data files; a format has one file, with its `DataSource` and its function that writes instances.

Read `table` first; `shard_names` finds the files of a data set that lies in several. `json_file` is JSON and JSON
Lines, `json_index` finds where each instance stands in one, and `json_instance` knows the keys of the published format.
`parquet_file` is Parquet: `parquet_columns` turns rows into columns and back, and
`parquet_row` an instance into a row and back.
"""
