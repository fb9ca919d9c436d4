"""`nmt hold-out`: pairs kept aside to test on, and what is then left to train on."""

from __future__ import annotations

import dataclasses
from argparse import Namespace
from collections.abc import Iterable

from nmt.cli.files import require_files_of_their_own
from nmt.cli.flags import with_dashes
from nmt.cli.loading import say
from nmt.cli.parser import Parser, as_flags, count, positive, refuse_idle
from nmt.config import PairsConfig
from nmt.config.fields import settings_of
from nmt.config.flags import add_settings
from nmt.errors import NmtError
from nmt.files.outputs import ByteOutput, open_outputs
from nmt.files.paths import can_be_read_again
from nmt.progress import LineProgress
from nmt.text.hold_out import WithoutHeldOut, hold_out
from nmt.text.pairs import Pair, PairReader

DESCRIPTION = (
    "Writes pairs drawn at random, with different sources, into files to test on, and into others what is "
    "then left to train on: the pairs of which neither side is nearly that of a pair kept aside. Nearly the same are "
    "sentences of the same words, case, order and punctuation aside, and from five words on also those that differ "
    "by a word. Files whose names end in .gz are read and written compressed."
)


def add_flags(parser: Parser) -> None:
    pairs = (setting for setting in settings_of(PairsConfig) if setting.name != "alignment")
    add_settings(parser.add_argument_group("sentence pairs"), pairs, spell=with_dashes)
    parser.add_argument("--pairs", type=positive, required=True, metavar="N", help="how many pairs are kept aside")
    parser.add_argument(
        "--seed", type=count, default=1, metavar="N", help="which ones: the same seed chooses the same (default: 1)"
    )
    parser.add_argument("--output-source", required=True, metavar="FILE", help="source sentences of the pairs aside")
    parser.add_argument("--output-target", required=True, metavar="FILE", help="their translations")
    parser.add_argument("--rest-source", required=True, metavar="FILE", help="source sentences of the pairs left")
    parser.add_argument("--rest-target", required=True, metavar="FILE", help="their translations")


def run(arguments: Namespace) -> None:
    """Reads the pairs twice: to choose, and to write what is left."""
    names = [field.name for field in dataclasses.fields(PairsConfig) if hasattr(arguments, field.name)]
    with as_flags(PairsConfig):
        given = PairsConfig(**{name: value for name in names if (value := getattr(arguments, name)) is not None})
    read = [path for path in (given.source, given.target, given.tsv) if path]
    if not given:
        raise NmtError("no sentence pairs are given: name --source and --target, or --tsv, or --tfds")
    if not given.tsv:
        refuse_idle(arguments, ["source_column", "target_column"], "is for a TSV file: give --tsv, or leave it out")
    if not given.tfds:
        names = ["split", "tfds_source", "tfds_target", "tfds_directory"]
        refuse_idle(arguments, names, "is for a TensorFlow dataset: give --tfds, or leave it out")
    if not can_be_read_again(read):
        raise NmtError(
            "standard input and pipes can be read only once, and the pairs are read twice: put them into files"
        )
    reader = PairReader(given)
    aside, left = (
        [getattr(arguments, f"{part}_{side}") for side in ("source", "target")] for part in ("output", "rest")
    )
    require_files_of_their_own(read, [*aside, *left])
    with open_outputs([*aside, *left]) as files:
        reading = LineProgress()
        chosen = hold_out(reading.over(reader), arguments.pairs, arguments.seed)
        rest = WithoutHeldOut(LineProgress(reading.count).over(reader), chosen)
        _write(chosen, files[:2])
        _write(rest, files[2:])
    say(reader.report.summary())
    say(f"{len(chosen)} pairs are kept aside in {' and '.join(aside)}")
    say(f"{rest.kept} pairs are left in {' and '.join(left)}; {rest.removed - len(chosen)} more are near to those")


def _write(pairs: Iterable[Pair], files: list[ByteOutput]) -> None:
    for pair in pairs:
        for file, text in zip(files, pair, strict=False):
            file.write(f"{text}\n".encode())
