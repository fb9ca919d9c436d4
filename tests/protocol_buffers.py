"""Fields of protocol buffers, which SentencePiece models consist of."""

from __future__ import annotations


def number(value: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    low = [value >> shift & 127 for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes([*(byte | 128 for byte in low[:-1]), low[-1]])


def field(place: int, content: bytes) -> bytes:
    """A field with its size."""
    return number(place << 3 | 2) + number(len(content)) + content
