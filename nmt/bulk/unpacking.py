"""Texts that may be compressed, read to their end. Beam's own reader takes the cut of a file for its end."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any

import zstandard  # type: ignore[import-not-found]
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

from nmt.errors import NmtError

_BLOCK = 1 << 20
_PACKED_BLOCK = 1 << 16
"""Bytes that are unpacked at once; small, because they may become a thousand times as many."""
_DECOMPRESSORS: dict[str, Callable[[], Any]] = {
    CompressionTypes.BZIP2: bz2.BZ2Decompressor,
    CompressionTypes.DEFLATE: zlib.decompressobj,
    CompressionTypes.GZIP: lambda: zlib.decompressobj(zlib.MAX_WBITS | 16),
    CompressionTypes.LZMA: lzma.LZMADecompressor,
    CompressionTypes.ZSTD: lambda: zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj(),
}
_DAMAGE_ERRORS = OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError
"""The errors of decompressors; OSError is that of bzip2."""


def is_packed(path: str) -> bool:
    """Whether the name of a file says that it is compressed."""
    return CompressionTypes.detect_compression_type(path) != CompressionTypes.UNCOMPRESSED


def text_blocks(path: str) -> Iterator[bytes]:
    """The content of a file, block by block, unpacked if its name says that it is compressed.

    Raises:
        NmtError: the file is cut off or damaged, or not compressed as its name says.
    """
    with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as file:
        yield from _unpacked(file, path) if is_packed(path) else _blocks(file, _BLOCK)


def _unpacked(file: IO[bytes], path: str) -> Iterator[bytes]:
    """The content of a compressed file: one stream, or several such as the members of a .gz file."""
    kind = CompressionTypes.detect_compression_type(path)
    damage = NmtError(f"{path}: is cut off or damaged, or not a {kind} file: fetch it again, or rename it")
    stream = _DECOMPRESSORS[kind]()
    for packed in _blocks(file, _PACKED_BLOCK):
        while packed := packed.lstrip(b"\0") if stream.eof else packed:  # zeros may fill the last block of a tape
            stream = _DECOMPRESSORS[kind]() if stream.eof else stream
            try:
                content = stream.decompress(packed)
            except _DAMAGE_ERRORS:
                raise damage from None
            yield content
            packed = stream.unused_data
    if not stream.eof:
        raise damage


def _blocks(file: IO[bytes], size: int) -> Iterator[bytes]:
    while block := file.read(size):
        yield block
