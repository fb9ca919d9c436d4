"""The sizes within a SentencePiece model, looked at before SentencePiece reads the model.

A model is a message of protocol buffers. An empty piece takes two bytes in the file and many more in memory. So a file
of somebody else could need a multiple of its size.
"""

from __future__ import annotations

PIECES = 10**6
"""Pieces of the largest vocabulary, see `VocabularyConfig.size`."""

SETTINGS = 2**22
"""Bytes of all other parts: settings of the training and the table of the normalisation."""

_PIECE = 1
"""Number of the field of a piece."""
_USUAL = 10
"""The byte before a piece, whose size is usually in the next byte."""
_WHOLE_NUMBER, _EIGHT_BYTES, _SIZED, _FOUR_BYTES = 0, 1, 2, 5
"""Kinds of fields."""


def require_sizes(model: bytes) -> None:
    """Refuses a model that announces more than it has, or has more pieces or other content than any vocabulary.

    Raises:
        ValueError: says why.
    """
    if len(model) <= 2 * PIECES:  # too short for so many pieces, or for such settings
        return
    place = pieces = settings = 0
    while place < len(model):
        # The usual case, without the calls below.
        if model[place] == _USUAL and place + 1 < len(model) and model[place + 1] < 128:
            pieces, place = pieces + 1, place + 2 + model[place + 1]
            continue
        field, place = _number(model, place)
        if field & 7 == _SIZED:
            size, place = _number(model, place)
        elif field & 7 == _WHOLE_NUMBER:
            size, place = 0, _number(model, place)[1]
        elif field & 7 in (_EIGHT_BYTES, _FOUR_BYTES):
            size = 8 if field & 7 == _EIGHT_BYTES else 4
        else:
            raise ValueError("a field of an unknown kind")
        place += size
        if field >> 3 == _PIECE:
            pieces += 1
        else:
            settings += size
    if pieces > PIECES or settings > SETTINGS:
        raise ValueError("more pieces or settings than any vocabulary has")
    if place > len(model):
        raise ValueError("a field is cut off")


def _number(model: bytes, place: int) -> tuple[int, int]:
    """A number of variable length, seven bits a byte, and the place behind it.

    Raises:
        ValueError: it is cut off, or longer than any.
    """
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(model):
            raise ValueError("a number is cut off")
        byte = model[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
    raise ValueError("a number is too long")
