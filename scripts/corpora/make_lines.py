"""Make very many English lines with the grammar of the demo corpus, to translate in bulk.

    python scripts/corpora/make_lines.py --lines 1000000 --output lines.en --processes 4

The text depends on the seed alone. It consists of blocks of 10,000 lines; the lines of a block differ.
"""

from __future__ import annotations

import argparse
import random
import sys
from functools import partial
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from corpora.demo_grammar.corpus import derive
from corpora.demo_grammar.lexicon import Lexicon
from corpora.make_demo_corpus import DATA, Parser, size

BLOCK = 10_000


def block(number: int, seed: int, longest: int) -> list[str]:
    """The lines of a block, of at most `longest` words."""
    lexicon, draw = Lexicon(DATA / "lexicon"), random.Random(f"{seed} {number}")
    found: dict[str, None] = {}
    while len(found) < BLOCK:
        line = derive(lexicon, draw)[0].english
        if len(line.split()) <= longest:
            found[line] = None
    return list(found)


def main() -> None:
    """Writes the lines."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=size, required=True, metavar="N", help="number of lines")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="file to write")
    parser.add_argument("--longest", type=size, default=12, metavar="N", help="words of the longest line (default: 12)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="random seed (default: 1)")
    parser.add_argument("--processes", type=size, default=1, metavar="N", help="processes at work (default: 1)")
    options = parser.parse_args()
    make, left = partial(block, seed=options.seed, longest=options.longest), options.lines
    with open(options.output, "w", encoding="utf-8") as file, get_context("spawn").Pool(options.processes) as pool:
        for lines in pool.imap(make, range(-(-left // BLOCK))):
            file.writelines(f"{line}\n" for line in lines[:left])
            left -= len(lines)


if __name__ == "__main__":
    main()
