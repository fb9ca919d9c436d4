"""A translator in JavaScript: SentencePiece, search, alignments, and an exported network in ONNX Runtime."""
