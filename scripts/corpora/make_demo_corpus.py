"""Make the demo corpus: English-French pairs with gold word alignments, from a lexicon and a grammar of its own.

    python scripts/corpora/make_demo_corpus.py --output data/demo
    python scripts/corpora/make_demo_corpus.py --baselines

The default sizes and seed regenerate the files of ``data/demo`` byte for byte, which docs/reference/demo-corpus.md
describes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from corpora.demo_grammar.baselines import report_baselines
from corpora.demo_grammar.corpus import CorpusError, make_corpus
from corpora.demo_grammar.lexicon import Lexicon
from corpora.demo_grammar.statistics import describe

DATA = Path(__file__).resolve().parents[2] / "data" / "demo"


def size(text: str) -> int:
    """A number of pairs from the command line."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, not {text!r}")
    return int(text)


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Print the message and leave with exit code 2."""
        self.exit(2, f"{self.prog}: error: {message}\n")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = Parser(description="Make the English-French demo corpus with gold word alignments.")
    parser.add_argument("--output", type=Path, default=DATA, help="folder to write to (default: data/demo)")
    parser.add_argument("--train", type=size, default=20_000, metavar="N", help="training pairs (default: 20000)")
    parser.add_argument("--validation", type=size, default=500, metavar="N", help="validation pairs (default: 500)")
    parser.add_argument("--test", type=size, default=500, metavar="N", help="pairs in each test set (default: 500)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="random seed (default: 1)")
    parser.add_argument("--lexicon", type=Path, default=DATA / "lexicon", help="folder of the lexicon")
    parser.add_argument(
        "--baselines", action="store_true", help="make nothing; score simple baselines on the files in --output"
    )
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    command = parser()
    options = command.parse_args(arguments)
    if options.baselines:
        try:
            print(report_baselines(options.output))
        except (OSError, ImportError) as error:
            command.error(str(error))
        return
    try:
        lexicon = Lexicon(options.lexicon)
        corpus = make_corpus(lexicon, options.train, options.validation, options.test, options.test, options.seed)
        corpus.write(options.output)
    except KeyError as missing:
        command.error(f"no table or column {missing} in the lexicon {options.lexicon}")
    except (CorpusError, OSError) as error:
        command.error(f"cannot make the corpus: {error}")
    print(describe(corpus, lexicon))
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
