"""Sentence pairs in two columns of a Parquet file, which pyarrow reads group by group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nmt.config import PairsConfig
from nmt.files.reading import one_line, package, raw_file
from nmt.text.errors import CorpusError
from nmt.text.lines import without_line_breaks

_ROWS = 4096
"""Rows that are decoded together."""


def parquet_rows(pairs: PairsConfig) -> Iterator[tuple[bytes, bytes]]:
    """The two columns of a Parquet file as bytes; a missing value is an empty sentence.

    Raises:
        CorpusError: the file cannot be read, or lacks the columns.
        NmtError: pyarrow is missing.
    """
    parquet = package("pyarrow.parquet", "reading Parquet files")
    path = pairs.parquet
    try:
        with raw_file(path) as file:
            table = parquet.ParquetFile(file)
            columns = _columns(table, pairs)
            for batch in table.iter_batches(_ROWS, columns=columns, use_threads=False):
                yield from zip(*(_bytes_of(batch, name) for name in columns), strict=True)
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror or one_line(error)}: expected a Parquet file") from None
    except CorpusError:
        raise
    except ValueError as error:  # what pyarrow raises about content
        raise CorpusError(f"{path}: damaged, or not a Parquet file: {one_line(error)}") from None


def _columns(table: Any, pairs: PairsConfig) -> list[str]:
    """The names of both columns, with dots between the names of columns within each other."""
    schema = table.schema
    texts = [
        column.path
        for column in schema
        if (str(column.logical_type) == "String" or column.physical_type == "BYTE_ARRAY")
        and not column.max_repetition_level  # lists and maps have no text for a row
    ]
    if not texts:
        raise CorpusError(f"{pairs.parquet}: has no column of text: expected two, of sentences and of translations")
    chosen = [pairs.parquet_source or texts[:1], pairs.parquet_target or texts[1:2]]
    names = [name if isinstance(name, str) else "".join(name) for name in chosen]
    for side, name in zip(("source", "target"), names, strict=True):
        if name not in texts:
            problem = f"has no column of text named {name!r}" if name else "has no second column of text"
            raise CorpusError(f"{pairs.parquet}: {problem}: set parquet_{side} to one of: {', '.join(texts)}")
    if names[0] == names[1]:
        raise CorpusError(f"{pairs.parquet}: parquet_source and parquet_target are both {names[0]!r}: expected two")
    return names


def _bytes_of(batch: Any, name: str) -> Iterator[bytes]:
    """The values of a column of a batch."""
    outer = next(one for one in batch.schema.names if f"{name}.".startswith(f"{one}."))
    column, inner = batch.column(outer), name[len(outer) + 1 :]
    for one in filter(None, inner.split(".")):
        column = column.field(one)
    for value in column.to_pylist():
        text = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
        yield b"" if text is None else without_line_breaks(text)
