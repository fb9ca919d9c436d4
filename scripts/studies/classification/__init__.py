"""Classification of sentences by two distant words: sentences, models, report."""

POOLINGS = ("softmax", "sigmoid", "average", "max")
BAG, BAG_WITH_HIDDEN_LAYER = "bag of words", "bag of words, hidden layer"
MODELS = (BAG, BAG_WITH_HIDDEN_LAYER, *POOLINGS)
