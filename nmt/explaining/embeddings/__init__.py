"""The word vectors that a run has learned: nearest neighbours, analogies, a map of words, export in word2vec format.

embeddings = Embeddings.of(nmt.Translator.load("saved_models/demo"))
embeddings.neighbours("singer")
embeddings.analogy("singers", "singer", "poet")
"""

from nmt.explaining.embeddings.errors import EmbeddingError
from nmt.explaining.embeddings.neighbours import Neighbour
from nmt.explaining.embeddings.projection import Projection, principal_axes
from nmt.explaining.embeddings.word_counts import RARE, WordCounts
from nmt.explaining.embeddings.word_vectors import Embeddings, WordVector

__all__ = [
    "RARE",
    "EmbeddingError",
    "Embeddings",
    "Neighbour",
    "Projection",
    "WordCounts",
    "WordVector",
    "principal_axes",
]
