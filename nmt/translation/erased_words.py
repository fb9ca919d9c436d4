"""The methods of erasing a source word."""

from __future__ import annotations

from typing import Literal

ErasureMethod = Literal["word", "attention"]
"""How a source word is erased.

* `word`: the encoder reads the sentence without the word's pieces. The fall in log-probability is everything that the
  word contributed, including the traces that a recurrent encoder leaves in the vectors of its neighbours. An unknown
  piece or a vector of zeros would instead be an input that training rarely shows, and its strangeness would be
  measured too.
* `attention`: the encoder reads the whole sentence, but the decoder cannot attend to the word's positions. The weights
  of the other positions grow to sum to one. The fall is what only these positions offered. The difference to `word` is
  what the encoder carried to other positions.
"""
