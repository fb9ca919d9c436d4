"""Text: lines, formats of sentence pairs, vocabularies and pieces, held-out pairs, cleaning."""
