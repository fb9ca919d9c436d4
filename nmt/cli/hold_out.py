"""`nmt hold-out`: a test set, and the remaining pairs to train on."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from dataclasses import replace

from nmt.cli.files import require_files_of_their_own
from nmt.cli.flags import settings_from_flags, with_dashes
from nmt.cli.loading import languages_from_flags, say
from nmt.cli.pair_files import add_pair_flags, pairs_from_flags
from nmt.cli.parser import Parser, count, positive
from nmt.config import CorpusConfig
from nmt.config.fields import settings_of
from nmt.config.flags import add_settings
from nmt.errors import NmtError
from nmt.files.outputs import ByteOutput, open_outputs
from nmt.files.paths import can_be_read_again
from nmt.progress import LineProgress, counted
from nmt.text.held_out_pairs import WithoutHeldOut, hold_out
from nmt.text.pairs import Pair, PairReader

_TREATMENT = ("on_empty", "on_invalid", "on_malformed")
"""Settings of rows that cannot be used."""

DESCRIPTION = (
    "Draws pairs with different sources at random, for testing, and writes the remaining pairs for training. Pairs "
    "with a side that nearly equals a side of a held-out pair are left out of the training pairs. Two sentences are "
    "nearly equal if they have the same words, regardless of case, order and punctuation. Sentences of five words or "
    "more may also differ in one word. Files whose names end in .gz are read and written compressed."
)
EXAMPLE = (
    "nmt hold-out --tsv fra-eng.tsv --pairs 1000 --output-source test.en --output-target test.fr "
    "--rest-source train.en --rest-target train.fr"
)


def add_flags(parser: Parser) -> None:
    add_pair_flags(parser, datasets=True)
    treated = (setting for setting in settings_of(CorpusConfig) if setting.name in _TREATMENT)
    add_settings(parser.add_argument_group("bad rows"), treated, spell=with_dashes)
    parser.aliases |= {f"--corpus.{name}": f"--{with_dashes(name)}" for name in _TREATMENT}
    parser.add_argument("--pairs", type=positive, required=True, metavar="N", help="number of held-out pairs")
    parser.add_argument("--seed", type=count, default=1, metavar="N", help="seed of the random choice (default: 1)")
    parser.add_argument("--output-source", required=True, metavar="FILE", help="file for the held-out sources")
    parser.add_argument("--output-target", required=True, metavar="FILE", help="file for their targets")
    parser.add_argument("--rest-source", required=True, metavar="FILE", help="file for the training sources")
    parser.add_argument("--rest-target", required=True, metavar="FILE", help="file for their targets")


def run(arguments: Namespace) -> None:
    """Reads the pairs twice: to draw the held-out pairs, and to write the others."""
    given = pairs_from_flags(arguments)
    read = [path for path in (given.source, given.target, given.tsv, given.document, given.parquet) if path]
    if not can_be_read_again(read):
        raise NmtError(
            "standard input and pipes can be read only once, but nmt hold-out reads the pairs twice: use files"
        )
    languages = languages_from_flags(arguments)
    tags = languages.source.tag, languages.target.tag
    corpus = replace(settings_from_flags(CorpusConfig, arguments), source_language=tags[0], target_language=tags[1])
    reader = PairReader(given, corpus)
    test_files = [arguments.output_source, arguments.output_target]
    training_files = [arguments.rest_source, arguments.rest_target]
    require_files_of_their_own(read, [*test_files, *training_files])
    with open_outputs([*test_files, *training_files]) as files:
        reading = LineProgress(unit="pairs")
        held_out = hold_out(reading.over(reader), arguments.pairs, arguments.seed)
        rest = WithoutHeldOut(LineProgress(reading.count, unit="pairs").over(reader), held_out)
        _write(held_out, files[:2])
        _write(rest, files[2:])
    say(reader.report.summary())
    say(f"{counted(len(held_out), 'pair')} held out in {' and '.join(test_files)}")
    near = rest.removed - len(held_out)
    left = f"{counted(rest.kept, 'pair')} left in {' and '.join(training_files)}"
    say(f"{left}; {counted(near, 'other pair')} left out for nearly repeating a held-out pair")


def _write(pairs: Iterable[Pair], files: list[ByteOutput]) -> None:
    for pair in pairs:
        for file, text in zip(files, pair, strict=False):
            file.write(f"{text}\n".encode())
