"""Translation: strings to hypotheses and back, through a trained network or several."""
