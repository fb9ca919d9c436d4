"""How a source word is erased."""

from __future__ import annotations

from typing import Literal

Way = Literal["word", "attention"]
"""How a source word is erased.

* `word`: the sentence is read without it, its pieces removed and the rest moved together. What falls is all that the
  word gave, by whatever way: a recurrent encoder carries a word into the vectors of its neighbours too. The model has
  been trained on sentences with fewer words, while an unknown piece or a vector of zeros in the word's place would be
  an input that it has hardly ever seen, whose own strangeness would be measured along with the word's absence.
* `attention`: the encoder reads the whole sentence, but the decoder cannot attend to the word's positions; the weights
  of the others grow to sum to one. What falls is what only these positions offered, which is what an attention weight
  is about. The difference of the two is what the encoder has carried elsewhere.
"""
