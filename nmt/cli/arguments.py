"""The command line of `nmt`, declared with argparse; the fields of `nmt train` are in `nmt.config.reading`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from nmt.cli.parser import Parser, add_fields, count, finite, positive, share
from nmt.config import PairsConfig, Precision, SearchConfig
from nmt.config.hints import did_you_mean, unknown_flags
from nmt.errors import NmtError
from nmt.text.cleaning import Rules
from nmt.version import __version__


def parse(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Splits a command line into the arguments of a command and, for `train` only, the flags over its configuration.

    Raises:
        NmtError: an argument that is missing, unknown or of the wrong type.
    """
    parser, commands = _parsers()
    if argv and argv[0] in commands and argv[0] != "train":
        _require_known_flags(commands[argv[0]], argv[1:])
    arguments, rest = parser.parse_known_args(argv)
    if arguments.command != "train":
        _require_names(commands[arguments.command], arguments)
    if rest and arguments.command != "train":
        raise NmtError(f"unrecognized arguments: {' '.join(rest)} (see nmt {arguments.command} --help)")
    return arguments, rest


def _require_known_flags(command: Parser, argv: Sequence[str]) -> None:
    """Refuses a mistyped flag, with the one that may have been meant, before argparse says that this one is missing."""
    known = command._option_string_actions
    for flag in unknown_flags(argv, known):
        raise NmtError(f"unrecognized argument: {flag}{did_you_mean(flag, known)} (see {command.prog} --help)")


def _require_names(command: Parser, arguments: argparse.Namespace) -> None:
    """Refuses the empty name of a file or directory, which a variable of the shell that is not set leaves."""
    for action in command._actions:
        value = getattr(arguments, action.dest, None)
        if action.metavar in ("FILE", "DIR") and "" in (value if isinstance(value, list) else [value]):
            what = {"FILE": "a file", "DIR": "a directory"}[str(action.metavar)]
            raise NmtError(f"{action.option_strings[0]} is empty: expected the name of {what}")


def _parsers() -> tuple[Parser, dict[str, Parser]]:
    """The parser of whole command lines, and those of the commands."""
    parser = Parser(prog="nmt", description="Neural machine translation with attention.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"nmt {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    train = commands.add_parser("train", help="train a model into a run directory", add_help=False, allow_abbrev=False)
    train.add_argument("--config")
    train.add_argument("--recipe", default="")
    _add_translate(_command(commands, "translate", "translate text line by line", precision="auto"))
    _add_score(_command(commands, "score", "log-probability of given translations"))
    _add_align(_command(commands, "align", "export word alignments as numbers and plots"))
    _add_evaluate(_command(commands, "evaluate", "measure BLEU, chrF and the alignment error rate"))
    _add_tune(_command(commands, "tune", "find the length penalty that suits a model", precision="auto"))
    _add_explain(_command(commands, "explain", "find the pairs that are out of the ordinary, and say why"))
    _add_compare(_plain_command(commands, "compare", "train and measure variants of a configuration side by side"))
    _add_embeddings(_command(commands, "embeddings", "look into the vectors of words: neighbours, analogies", False))
    _add_distil(_command(commands, "distil", "pairs for training from a model's own translations", precision="auto"))
    about = "pairs for training from text of the target language"
    _add_back_translate(_command(commands, "back-translate", about, precision="auto"))
    _add_hold_out(_plain_command(commands, "hold-out", "keep pairs aside to test on"))
    _add_clean(_command(commands, "clean", "leave out the bad pairs of a parallel corpus", needed=False))
    return parser, commands.choices


def _plain_command(commands: argparse._SubParsersAction[Parser], name: str, summary: str) -> Parser:
    """A command that needs no trained model."""
    parser = commands.add_parser(name, help=summary, description=_DESCRIPTIONS[name], allow_abbrev=False)
    parser.set_defaults(parser=parser)
    return parser


def _command(
    commands: argparse._SubParsersAction[Parser],
    name: str,
    summary: str,
    computes: bool = True,
    needed: bool = True,
    precision: Precision = "float32",
) -> Parser:
    """A command over a trained run, `needed` or not; one that computes with it takes an ensemble and a precision."""
    parser = _plain_command(commands, name, summary)
    parser.add_argument(
        "--checkpoints",
        type=count,
        default=0,
        metavar="N",
        help="use the mean of the weights of the N newest checkpoints (default: the best weights)",
    )
    if not computes:
        parser.add_argument("--model", required=True, metavar="DIR", help="run directory written by nmt train")
        return parser
    parser.add_argument(
        "--model",
        required=needed,
        nargs="+",
        metavar="DIR",
        help="run directory written by nmt train; several with the same vocabularies are an ensemble",
    )
    parser.add_argument(
        "--averaging",
        choices=["probability", "log_probability"],
        default="probability",
        help="of an ensemble's distributions (default: probability)",
    )
    parser.add_argument(
        "--precision",
        choices=["auto", "float32", "mixed_float16", "mixed_bfloat16"],
        default=precision,
        help=f"of the matrix products; auto: what this machine multiplies fastest (default: {precision})",
    )
    return parser


def _add_search(parser: Parser) -> None:
    """A flag for each field of the search; what is not given stays as the run has it."""
    add_fields(
        parser.add_argument_group("search", "The defaults are those that the model was trained with."), SearchConfig
    )


_DESCRIPTIONS = {
    "translate": "Translates text, a sentence a line: as many lines come out as go in, and a blank line stays blank. "
    "Without --input, reads standard input, and prompts where that is a terminal. "
    "An interruption keeps what is done, 500 lines at a time, when --input and --output are files, the output is not "
    "compressed and no list of --nbest: --resume goes on there.",
    "score": "Prints the log-probability (nats) of each pair and its number of pieces, the end of sentence included, a "
    "tab between them, in the order of the lines; and the perplexity of all of them.",
    "align": "Writes into a directory, for each sentence pair: alignments.pharaoh (links between words, counted from "
    "0), alignments.jsonl (words, attention weights, links, log-probability) and, of the first pairs, drawings: "
    "alignments.html, a page for a browser where pointing at a word shows what it comes from; heat maps named after "
    "the line, 0001.png and so on; or alignments.pdf, as many heat maps on an A2 page as fit. --gold is drawn too. "
    "With --target, the attention while that translation is forced; without, that of the model's own.",
    "evaluate": "Translates a test set and prints BLEU and chrF with their signatures; with --gold also the alignment "
    "error rate of the reference pairs.",
    "tune": "Translates sentences whose translations are known, prints what these are worth with each length penalty, "
    "and which is best. Choose on validation pairs: what a penalty is worth on text that it was chosen on says "
    "too much.",
    "explain": "Writes into a directory sentences.tsv (all pairs, the most unusual first: line, score, measures, what "
    "is wrong in words), explanation.jsonl (attention and measures of each pair, in the order of the input), "
    "explanation.html and a plot of each of the worst, and prints these and the corpus's means. With --target the "
    "pairs given; without, the model's own translations. With --erase, what each target word loses in "
    "log-probability when a source word is erased, and how far attention agrees with that.",
    "compare": "Trains every variant that a file names, on the same text with the same budget, several seeds of each, "
    "measures them on a test set, and writes a report: BLEU, chrF, AER, speed, memory, BLEU by sentence length, and "
    "the same sentence's attention by all of them. What is measured is kept: the same command goes on after an "
    "interruption, and more seeds or variants train only what is new.",
    "embeddings": "Prints the pieces whose vectors are nearest to those of given words (cosine), solves analogies, "
    "draws words on the two widest axes of their vectors, and exports all vectors in word2vec's text format, each with "
    "how often it was seen in training. A word of several pieces is the mean of their vectors.",
    "distil": "Writes each given pair, and behind it its source with the model's own translation: a smaller model, or "
    "another one of the same size, learns from them to do as this model, or this ensemble, does. An interruption keeps "
    "what is done: --resume goes on there.",
    "back-translate": "Writes text of the target language, and line by line a source for it that a model of the "
    "opposite direction makes. Each such source begins with a tag. Together with genuine pairs it can be trained on. "
    "An interruption keeps what is done: --resume goes on there.",
    "hold-out": "Writes pairs drawn at random, with different sources, into files to test on, and into others what is "
    "then left to train on: the pairs of which neither side is nearly that of a pair kept aside. Nearly the same are "
    "sentences of the same words, case, order and punctuation aside, and from five words on also those that differ "
    "by a word. Files whose names end in .gz are read and written compressed.",
    "clean": "Writes the good pairs of a parallel corpus, as they are and in their order, and says how many it drops "
    "by which rule; --report has each of these. With --model, also drops the pairs that a trained model finds most "
    "unusual, as nmt explain does. Files whose names end in .gz are read and written compressed.",
}


def _add_translate(parser: Parser) -> None:
    parser.add_argument("--input", metavar="FILE", help="sentences to translate (.gz is read too; - is standard input)")
    parser.add_argument("--output", metavar="FILE", default="-", help="translations (default: standard output)")
    parser.add_argument("--alignments", metavar="FILE", help="word alignments of these translations, in Pharaoh format")
    parser.add_argument("--resume", action="store_true", help="go on where an interrupted translation stopped")
    parser.add_argument(
        "--nbest", type=positive, metavar="N", help="a list of the N best: number ||| text ||| ... ||| score"
    )
    parser.add_argument(
        "--mbr",
        choices=["bleu", "chrf"],
        help="of the N best, or of N samples, the one that the others agree with most (minimum Bayes risk)",
    )
    parser.add_argument("--prefixes", metavar="FILE", help="what each translation begins with, a line a sentence")
    parser.add_argument(
        "--phrases", metavar="FILE", help="phrases that each translation holds, a line a sentence, tabs between phrases"
    )
    parser.add_argument(
        "--lexicon", metavar="FILE", help="for --copy-unknown: a source word, a tab, what to write for it, a line each"
    )
    _add_search(parser)


def _add_score(parser: Parser) -> None:
    parser.add_argument("--source", required=True, metavar="FILE", help="source sentences, one a line")
    parser.add_argument("--target", required=True, metavar="FILE", help="their translations, line by line")
    parser.add_argument("--output", metavar="FILE", default="-", help="the scores (default: standard output)")
    parser.add_argument(
        "--format", choices=["tsv", "jsonl"], default="tsv", help="jsonl has each piece's log-probability too"
    )


def _add_align(parser: Parser) -> None:
    parser.add_argument("--source", required=True, metavar="FILE", help="source sentences, one a line")
    parser.add_argument("--target", metavar="FILE", help="their translations, line by line (default: the model's own)")
    parser.add_argument("--output", required=True, metavar="DIR", help="directory to write into")
    parser.add_argument(
        "--format",
        choices=["html", "png", "svg", "pdf"],
        nargs="+",
        default=["html", "png"],
        help="of the drawings: html and pdf are one file, png and svg a file a pair (default: html png)",
    )
    parser.add_argument("--limit", type=count, default=20, metavar="N", help="most pairs drawn (default: 20)")
    parser.add_argument(
        "--nbest",
        type=positive,
        default=1,
        metavar="N",
        help="the page shows the N best translations side by side (default: 1)",
    )
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
    _add_search(parser)


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
    _add_search(parser)


def _add_tune(parser: Parser) -> None:
    parser.add_argument("--source", required=True, metavar="FILE", help="source sentences, one a line")
    parser.add_argument("--reference", required=True, metavar="FILE", help="their reference translations")
    parser.add_argument(
        "--metric", choices=["bleu", "chrf"], default="bleu", help="what a penalty is chosen by (default: bleu)"
    )
    parser.add_argument("--tokenize", metavar="NAME", help="sacreBLEU's tokenizer, for BLEU (default: 13a)")
    parser.add_argument(
        "--save", action="store_true", help="the run translates so from now on: with this search and what is best"
    )
    _add_search(parser)


def _add_explain(parser: Parser) -> None:
    parser.add_argument("--source", required=True, metavar="FILE", help="source sentences, one a line")
    parser.add_argument("--target", metavar="FILE", help="their translations, line by line (default: the model's own)")
    parser.add_argument("--output", required=True, metavar="DIR", help="directory to write into")
    parser.add_argument(
        "--erase",
        nargs="?",
        choices=["word", "attention"],
        const="word",
        help="erase one source word at a time, from the sentence (word, the default) or from the decoder's sight only "
        "(attention); costs a forward pass for each source word",
    )
    parser.add_argument(
        "--worst", type=count, default=10, metavar="N", help="pairs that are printed and plotted (default: 10)"
    )
    _add_search(parser)


def _add_compare(parser: Parser) -> None:
    parser.add_argument("--variants", required=True, metavar="FILE", help="YAML file of what is compared")
    parser.add_argument("--output", required=True, metavar="DIR", help="directory to write into, or to go on in")
    parser.add_argument("--seeds", type=positive, metavar="N", help="seeds of each variant (default: as the file says)")
    parser.add_argument(
        "--jobs", type=positive, default=1, metavar="N", help="trainings at once, sharing the cores (default: 1)"
    )
    parser.add_argument(
        "--sentence",
        type=positive,
        default=0,
        metavar="N",
        help="line of the test set whose attention is drawn (default: the first of eight words or more)",
    )
    parser.add_argument("--report-only", action="store_true", help="train nothing: report what is measured so far")


def _add_embeddings(parser: Parser) -> None:
    parser.add_argument(
        "--side",
        choices=["source", "target"],
        help="whose embeddings, or, where both sides share one matrix, in whose text pieces must have been seen "
        "(default: both where they share one, else source)",
    )
    parser.add_argument("--neighbours", nargs="+", metavar="WORD", help="words whose nearest pieces are printed")
    parser.add_argument(
        "--analogy",
        nargs=3,
        action="append",
        metavar=("A", "B", "C"),
        help="prints the pieces nearest to A - B + C, these three left out; can be given several times",
    )
    parser.add_argument(
        "--count", type=positive, default=10, metavar="N", help="answers to each question (default: 10)"
    )
    parser.add_argument(
        "--minimum",
        type=count,
        metavar="N",
        help="answers seen fewer times than this in training are left out (default: 1)",
    )
    parser.add_argument(
        "--pieces",
        action="store_true",
        help="what is given are pieces as SentencePiece writes them (▁ begins a word), not words",
    )
    parser.add_argument("--plot", metavar="FILE", help="a picture of words on two axes (.png, .svg or .pdf)")
    parser.add_argument("--words", nargs="+", metavar="WORD", help="what --plot draws")
    parser.add_argument(
        "--most-frequent", type=positive, metavar="N", help="--plot draws the N words seen most often (default: 60)"
    )
    parser.add_argument("--export", metavar="FILE", help="all vectors in word2vec's text format")


def _add_distil(parser: Parser) -> None:
    parser.add_argument("--source", required=True, metavar="FILE", help="source sentences, one a line")
    parser.add_argument("--target", required=True, metavar="FILE", help="their translations, line by line")
    _add_made_pairs(parser)
    parser.add_argument(
        "--closest",
        choices=["bleu", "chrf"],
        help="of the beam, the translation that is most like the given one by this measure (default: the best)",
    )
    parser.add_argument("--only-translations", action="store_true", help="leave the given pairs out")
    _add_search(parser)


def _add_back_translate(parser: Parser) -> None:
    parser.add_argument("--input", required=True, metavar="FILE", help="sentences of the target language, one a line")
    _add_made_pairs(parser)
    parser.add_argument(
        "--tag", default="<bt>", metavar="WORD", help="what each source begins with; '' for nothing (default: <bt>)"
    )
    _add_search(parser)


def _add_made_pairs(parser: Parser) -> None:
    parser.add_argument("--output-source", required=True, metavar="FILE", help="where the pairs' sources go")
    parser.add_argument("--output-target", required=True, metavar="FILE", help="where their targets go")
    parser.add_argument("--resume", action="store_true", help="go on where an interruption stopped")


def _add_hold_out(parser: Parser) -> None:
    add_fields(parser.add_argument_group("where the pairs come from"), PairsConfig, without=["alignment"])
    parser.add_argument("--pairs", type=positive, required=True, metavar="N", help="how many pairs are kept aside")
    parser.add_argument(
        "--seed", type=count, default=1, metavar="N", help="which ones: the same seed chooses the same (default: 1)"
    )
    parser.add_argument("--output-source", required=True, metavar="FILE", help="source sentences of the pairs aside")
    parser.add_argument("--output-target", required=True, metavar="FILE", help="their translations")
    parser.add_argument("--rest-source", required=True, metavar="FILE", help="source sentences of the pairs left")
    parser.add_argument("--rest-target", required=True, metavar="FILE", help="their translations")


def _add_clean(parser: Parser) -> None:
    parser.add_argument("--source", required=True, metavar="FILE", help="source sentences, one a line")
    parser.add_argument("--target", required=True, metavar="FILE", help="their translations, line by line")
    parser.add_argument("--output-source", required=True, metavar="FILE", help="source sentences of the pairs kept")
    parser.add_argument("--output-target", required=True, metavar="FILE", help="their translations")
    parser.add_argument(
        "--report", metavar="FILE", help="the pairs dropped: line, rule, value, threshold, source, target; tabs between"
    )
    parser.add_argument(
        "--by",
        choices=["unusual", "unlikely"],
        help="with --model: unusual, the score of nmt explain; unlikely, minus the log-probability a target piece, in "
        "nats (default: unusual)",
    )
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument(
        "--worst",
        type=share,
        metavar="SHARE",
        help="with --model: the share of the pairs left by the rules that is dropped, the worst (default: 0.05)",
    )
    limit.add_argument(
        "--threshold",
        type=finite,
        metavar="X",
        help="with --model: drop the pairs that are unusual or unlikely by more than this",
    )
    rules = parser.add_argument_group("rules", "The first that hits drops a pair. A number of 0 switches a rule off.")
    add_fields(rules, Rules, defaults=True)


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
