"""The command line of `nmt`, declared with argparse; the fields of `nmt train` are in `configuration`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

import nmt
from nmt.errors import NmtError


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are those of every other room."""

    def error(self, message: str) -> NoReturn:
        raise NmtError(f"{message} (see {self.prog} --help)")


def parse(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Splits a command line into the arguments of a command and, for `train` only, the flags over its configuration.

    Raises:
        NmtError: an argument that is missing, unknown or of the wrong type.
    """
    parser = _parser()
    arguments, rest = parser.parse_known_args(argv)
    if rest and arguments.command != "train":
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return arguments, rest


def _parser() -> Parser:
    parser = Parser(prog="nmt", description="Neural machine translation with attention.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"nmt {nmt.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    train = commands.add_parser("train", help="train a model into a run directory", add_help=False, allow_abbrev=False)
    train.add_argument("--config")
    _add_translate(_command(commands, "translate", "translate text line by line"))
    _add_align(_command(commands, "align", "export word alignments as numbers and plots"))
    _add_evaluate(_command(commands, "evaluate", "measure BLEU, chrF and the alignment error rate"))
    return parser


def _command(commands: argparse._SubParsersAction[Parser], name: str, summary: str) -> Parser:
    parser = commands.add_parser(name, help=summary, description=_DESCRIPTIONS[name], allow_abbrev=False)
    parser.add_argument("--model", required=True, metavar="DIR", help="run directory written by nmt train")
    parser.add_argument("--beam-size", type=int, metavar="N", help="hypotheses kept at each step; 1 is greedy search")
    parser.add_argument(
        "--length-penalty", type=float, metavar="A", help="exponent of the length normalisation; 0: none"
    )
    return parser


_DESCRIPTIONS = {
    "translate": "Translates text, a sentence a line: as many lines come out as go in, and a blank line stays blank. "
    "Without --input, reads standard input, and prompts where that is a terminal. "
    "The defaults of the search are those that the model was trained with.",
    "align": "Writes into a directory, for each sentence pair: alignments.pharaoh (links between words, counted from "
    "0), alignments.jsonl (words, attention weights, links, log-probability) and plots named after the line, 0001.png "
    "and so on. With --target, the attention while that translation is forced; without, that of the model's own.",
    "evaluate": "Translates a test set and prints BLEU and chrF with their signatures; with --gold also the alignment "
    "error rate of the reference pairs.",
}


def _add_translate(parser: Parser) -> None:
    parser.add_argument("--input", metavar="FILE", help="sentences to translate (.gz is read too; - is standard input)")
    parser.add_argument("--output", metavar="FILE", default="-", help="translations (default: standard output)")
    parser.add_argument("--alignments", metavar="FILE", help="word alignments of these translations, in Pharaoh format")


def _add_align(parser: Parser) -> None:
    parser.add_argument("--source", required=True, metavar="FILE", help="source sentences, one a line")
    parser.add_argument("--target", metavar="FILE", help="their translations, line by line (default: the model's own)")
    parser.add_argument("--output", required=True, metavar="DIR", help="directory to write into")
    parser.add_argument("--format", choices=["png", "pdf", "svg"], default="png", help="of the plots (default: png)")
    parser.add_argument("--limit", type=_count, default=20, metavar="N", help="most plots drawn (default: 20)")
    parser.add_argument(
        "--reverse", metavar="DIR", help="run of the opposite direction: links are made from those of both"
    )
    parser.add_argument(
        "--symmetrize",
        choices=["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"],
        help="how, with --reverse (default: grow-diag-final-and)",
    )
    _add_linking(parser)
    parser.add_argument("--gold", metavar="FILE", help="gold alignment of the pairs (needs --target): prints the AER")
    _add_gold_format(parser)


def _add_linking(parser: Parser) -> None:
    parser.add_argument(
        "--links",
        choices=["share", "shares", "argmax", "threshold"],
        default="share",
        help="which links a word gets: share, to the word of whose whole attention it has the largest share; shares, "
        "also to each that it has a share of --threshold of; argmax, to the word that it attends to most; threshold, "
        "to each that has --threshold of its attention (default: share)",
    )
    parser.add_argument(
        "--threshold", type=float, metavar="X", help="least share, with --links shares or threshold (default: 0.4)"
    )
    parser.add_argument(
        "--links-of",
        choices=["target", "source"],
        default="target",
        help="whose words look for links (default: target)",
    )
    parser.add_argument(
        "--attention",
        choices=["emit", "read"],
        default="emit",
        help="whose attention is a target piece's: the step's that emits it or the next one's, which reads it in "
        "(default: emit)",
    )


def _add_evaluate(parser: Parser) -> None:
    parser.add_argument("--source", required=True, metavar="FILE", help="source sentences, one a line")
    parser.add_argument("--reference", required=True, metavar="FILE", help="their reference translations")
    parser.add_argument("--gold", metavar="FILE", help="gold alignment of source and reference: prints the AER")
    _add_gold_format(parser)
    parser.add_argument("--tokenize", default="13a", metavar="NAME", help="sacreBLEU's tokenizer (default: 13a)")
    parser.add_argument("--output", metavar="FILE", help="where to write the translations")
    parser.add_argument("--json", metavar="FILE", help="where to write the scores")


def _add_gold_format(parser: Parser) -> None:
    parser.add_argument(
        "--gold-format",
        choices=["pharaoh", "naacl"],
        default="pharaoh",
        help="of --gold: a line a sentence such as 0-0 1-2 3p4, or a line a link such as 1 3 2 S (default: pharaoh)",
    )
    parser.add_argument(
        "--gold-base",
        type=int,
        choices=[0, 1],
        help="what --gold counts words from (default: 0 for pharaoh, 1 for naacl)",
    )


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{value}: expected 0 or more")
    return value
