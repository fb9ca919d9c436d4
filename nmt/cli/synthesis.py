"""`nmt distil` and `nmt back-translate`: pairs for training that a trained model made."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from nmt.cli.files import require_files_of_their_own
from nmt.cli.loading import add_processes_flag, lines_of, loaded, say, say_if_cut
from nmt.cli.output_identity import output_identity
from nmt.cli.parser import Parser
from nmt.config import SearchConfig
from nmt.errors import NmtError
from nmt.files.paths import can_be_read_again
from nmt.files.reading import plain_name
from nmt.files.resumable_outputs import ResumableOutputs, can_be_resumed
from nmt.progress import LineProgress, counted

if TYPE_CHECKING:
    from nmt.aligning.aligner import Aligner
    from nmt.translation.inference.protocol import Report
    from nmt.translation.result import Translation
    from nmt.translation.translator import Translator

_JUDGED, _FEW = 1000, 20
"""Lines whose translations are compared, and lines that are too few for that."""
_SHOWN = 60
"""Characters of a translation in a message."""

MadePairs = Iterator[tuple["Translation", list[tuple[str, str]]]]
"""For each line of the input: its translation, and the pairs to write."""


def add_made_pairs_flags(parser: Parser) -> None:
    parser.add_argument("--output-source", required=True, metavar="FILE", help="file for the sources of the pairs")
    parser.add_argument("--output-target", required=True, metavar="FILE", help="file for the targets of the pairs")
    parser.add_argument("--resume", action="store_true", help="continue after an interruption")
    add_processes_flag(parser)


def write_made_pairs(
    arguments: Namespace,
    inputs: list[str],
    count: Callable[[], int | None],
    per_line: int,
    made: Callable[[Translator, SearchConfig, int, Report], MadePairs],
    flags: tuple[str, ...],
    aligner: Aligner | None = None,
) -> None:
    """Writes the pairs that are made from each line of the input, and continues after an interruption.

    Args:
        arguments: of the command line.
        inputs: files that are read, which are plain files.
        count: counts the lines, or the pairs, of these files.
        per_line: pairs for each line.
        made: the pairs of the input's lines behind the first lines, given translator, search, number of the first
            lines, and the report of progress.
        flags: names of the arguments that decide the pairs besides model, search and input.
        aligner: decides them too; None: no aligner does.
    """
    from nmt.translation.translator import Translator

    outputs = [arguments.output_source, arguments.output_target]
    require_files_of_their_own(inputs, outputs)
    _require_plain_files(inputs, outputs)
    total = count() or 0
    resumable = ResumableOutputs(outputs, arguments.resume, Translator.chunk_size, per_line)
    done = resumable.done
    progress = lines_of(total - done)
    with (
        loaded(arguments, needs_links=lambda search: False) as (translator, search),
        resumable.open(output_identity(arguments, translator, search, inputs, flags, aligner)) as files,
    ):
        if done:
            say(f"continuing behind line {done}")
        repeated = _write(made(translator, search, done, progress.advance), done, files, progress)
    made_pairs = f"{counted(total * per_line, 'pair')} in {outputs[0]} and {outputs[1]}"
    more = f", {done + progress.count} in all" if done else ""
    say(f"{counted(progress.count, 'line')} in {progress.seconds:.1f} s ({progress.speed}){more}; {made_pairs}")
    if repeated:
        say(f"warning: {repeated}: has the model learned enough?")


def _require_plain_files(inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Refuses files that --resume could not read or continue.

    Raises:
        NmtError: names the first of these files.
    """
    for path in inputs:
        if not can_be_read_again([path]):
            raise NmtError(f"{path}: expected a plain file, which --resume can read again")
    for path in outputs:
        if not can_be_resumed([path]):
            plain = f", such as {plain_name(path)}" if plain_name(path) != path else ""
            raise NmtError(f"{path}: expected a plain file{plain}, whose lines --resume can keep")


def _write(made: MadePairs, done: int, files: Sequence[TextIO], progress: LineProgress) -> str:
    """Writes the pairs of the lines behind the first `done` lines.

    Returns:
        A line on the translation that most lines have; empty: they differ.
    """
    from nmt.translation.translator import Translator

    first: dict[str, str] = {}  # the translations of the first lines
    for number, (translation, pairs) in enumerate(progress.over(made), start=done + 1):
        say_if_cut(translation, progress, number)
        if number - done <= _JUDGED:
            first[translation.source] = translation.text
        for pair in pairs:
            for file, text in zip(files, pair, strict=True):
                file.write(text + "\n")
        if number % Translator.chunk_size == 0:  # so that an interruption leaves whole chunks
            for file in files:
                file.flush()
    ((text, times),) = Counter(first.values()).most_common(1) or [("", 0)]
    if len(first) < _FEW or times <= len(first) / 2:
        return ""
    return f"{times:,} of the first {len(first):,} different lines have one translation, '{text[:_SHOWN]}'"
