"""`nmt prepare`: a corpus of any size, made ready to train on."""

from __future__ import annotations

import argparse
from argparse import Namespace
from pathlib import Path
from shlex import quote

from nmt.backend.machine import processors
from nmt.cli.loading import say
from nmt.cli.parser import Parser, positive
from nmt.config import RunConfig, recipes
from nmt.config.fields import settings_of
from nmt.config.flags import add_groups, nested
from nmt.errors import NmtError

DESCRIPTION = (
    "Cuts a corpus of any size into pieces once, for trainings with --corpus.prepared DIR. Memory does not grow with "
    "the text. Names are patterns: --corpus.train.source 'news/*.en.zst'. Files may end in .gz or .zst, and lie on a "
    "server: s3://, gs://, hf://. A repeated command goes on where it was interrupted. The settings are those of nmt "
    "train; --help-all shows all of them."
)
EXAMPLE = (
    "nmt prepare --output prepared --corpus.train.source 'news/*.en.zst' --corpus.train.target 'news/*.fr.zst' "
    "--vocabulary.size 16000"
)
GROUPS = ("corpus", "vocabulary")
"""Groups of settings that decide on a prepared corpus, beside `training.seed`."""
COMMON = {
    "corpus.train.source",
    "corpus.train.target",
    "corpus.train.tsv",
    "corpus.train.parquet",
    "corpus.held_out",
    "corpus.max_pieces",
    "corpus.temperature",
    "vocabulary.run",
    "vocabulary.size",
    "training.seed",
}
"""The settings that --help shows."""
ALL = frozenset(
    setting.name
    for setting in settings_of(RunConfig)
    if setting.name.partition(".")[0] in GROUPS or setting.name == "training.seed"
) - {"corpus.prepared"}


def add_flags(parser: Parser, shown: set[str] | frozenset[str] = frozenset(COMMON)) -> None:
    """Every setting of the text and of the vocabulary is a flag; the help shows those that most people change."""
    parser.usage = "nmt prepare --output DIR [SETTING ...]"
    parser.add_argument("--output", required=True, metavar="DIR", help="directory of the prepared corpus")
    parser.add_argument("--config", metavar="FILE", help="YAML or JSON file of settings, as for nmt train")
    parser.add_argument(
        "--recipe", default="", metavar="NAME", help=f"settings that come with nmt: {', '.join(recipes.NAMES)}"
    )
    parser.add_argument(
        "--parts",
        metavar="FILE",
        help="YAML file of a corpus with several parts, in place of corpus.train: a name for each, with the fields of "
        "corpus.train and a weight (default: 1)",
    )
    parser.add_argument(
        "--processes",
        type=positive,
        default=processors(),
        metavar="N",
        help="processes that read and encode (default: one per core)",
    )
    parser.add_argument("--help-all", action=_HelpAll, help="show the help with all settings and exit")
    add_groups(parser, RunConfig)
    everything = {setting.name for setting in settings_of(RunConfig)}
    for action in parser._actions:
        if action.dest in everything.difference(shown):
            action.help = argparse.SUPPRESS


class _HelpAll(argparse.Action):
    """Prints the help with all settings of a prepared corpus."""

    def __init__(self, option_strings: list[str], dest: str, **options: object) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help="show the help with all settings and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        everything = Parser(prog=parser.prog, description=parser.description, epilog=parser.epilog)
        add_flags(everything, shown=ALL)
        everything.print_help()
        parser.exit()


def run(arguments: Namespace) -> None:
    """Prepares the corpus, or goes on with it."""
    from nmt.training.preparation.shards.parts import PLAIN, Part, read_parts
    from nmt.training.preparation.shards.preparing import prepare_corpus
    from nmt.training.settings import resolve_config

    names = {setting.name for setting in settings_of(RunConfig)}
    given = {name: value for name, value in vars(arguments).items() if name in names and value is not None}
    for name in given:
        if name not in ALL:
            raise NmtError(f"--{name} has no effect on a prepared corpus: give it to nmt train")
    if arguments.recipe == "auto":
        raise NmtError("--recipe auto reads the text to choose: name another recipe, or give --vocabulary.size")
    config = resolve_config(arguments.config, nested(given), arguments.recipe, say)
    if config.corpus.prepared:
        raise NmtError("corpus.prepared is a prepared corpus already: give the text that a new one is made from")
    if arguments.parts and config.corpus.train:
        raise NmtError("--parts names the text, and corpus.train too: give one of them")
    parts = read_parts(arguments.parts) if arguments.parts else [Part(PLAIN, config.corpus.train)]
    directory = Path(arguments.output)
    try:
        manifest = prepare_corpus(directory, config, parts, arguments.processes, say)
    except KeyboardInterrupt:
        say(f"interrupted: the same command goes on with {directory}")
        raise
    say(
        f"{manifest.pairs} training pairs are in {directory}; train with: nmt train --corpus.prepared "
        f"{quote(str(directory))} --recipe auto"
    )
