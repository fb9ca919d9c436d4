"""Counts of the corpus, its lexicon and its grammar."""

from __future__ import annotations

from .corpus import Corpus
from .derivation import PRODUCTIONS
from .lexicon import Lexicon


def production_count() -> int:
    """The number of productions of the grammar."""
    return sum(len(productions) for productions in PRODUCTIONS.values())


def describe(corpus: Corpus, lexicon: Lexicon) -> str:
    """The sizes of the lexicon, the grammar and each set, one line per set."""
    lines = [f"{lexicon.size()} lemmas, {production_count()} productions"]
    for name, pairs in corpus.sets().items():
        english = [word for pair in pairs for word in pair.english.split()]
        french = [word for pair in pairs for word in pair.french.split()]
        links = sum(len(pair.links) for pair in pairs)
        lines.append(
            f"{name}: {len(pairs)} pairs; English {len(english)} tokens, {len(set(english))} types, "
            f"{len(english) / len(pairs):.1f} per sentence; French {len(french)} tokens, {len(set(french))} types, "
            f"{len(french) / len(pairs):.1f} per sentence; {links} links"
        )
    return "\n".join(lines)
