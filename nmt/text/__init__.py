"""Text: where sentence pairs come from, vocabularies and pieces, held-out pairs, cleaning."""
