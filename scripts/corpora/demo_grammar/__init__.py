"""The English-French grammar behind the demo corpus: lexicon, productions, word order, links and splits."""
