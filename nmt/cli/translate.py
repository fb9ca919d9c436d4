"""`nmt translate` and `nmt score`: lines in, as many lines out."""

from __future__ import annotations

import hashlib
import json
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import count, islice, repeat
from typing import TYPE_CHECKING, TextIO

from nmt.cli.files import count_lines, require_files_of_their_own, require_same_length
from nmt.cli.flags import add_model_flags, add_search_flags
from nmt.cli.loading import CHOOSING, lines_of, load, say
from nmt.cli.parser import Parser, positive, refuse_idle
from nmt.config import SearchConfig, config_to_dict
from nmt.errors import NmtError
from nmt.files.outputs import open_output
from nmt.files.paths import can_be_read_again
from nmt.files.resumable_outputs import ResumableOutputs, can_be_resumed
from nmt.progress import LineProgress
from nmt.text.lines import read_lines

if TYPE_CHECKING:
    from nmt.translation.translator import Constraint, Translation, Translator

WINDOW = 500
"""Lines after which an interrupted translation can be gone on with: the translator's window."""
SAMPLES = 16
"""Draws that minimum-Bayes-risk decoding chooses from where nothing else is said."""


DESCRIPTION = (
    "Translates text, one sentence per line. The output has as many lines as the input, and an empty line stays empty. "
    "Without --input, it reads standard input, with a prompt if that is a terminal. If an interruption happens, whole "
    "blocks of 500 translated lines are kept, and --resume continues behind them. This needs plain files for --input "
    "and --output, without --nbest."
)


def add_flags(parser: Parser) -> None:
    add_model_flags(parser, precision="auto")
    parser.add_argument(
        "--input", metavar="FILE", help="sentences to translate; .gz files are read too, and - is standard input"
    )
    parser.add_argument(
        "--output", metavar="FILE", default="-", help="file for the translations (default: standard output)"
    )
    parser.add_argument(
        "--alignments", metavar="FILE", help="file for the word alignments of the translations, in Pharaoh format"
    )
    parser.add_argument("--resume", action="store_true", help="continue an interrupted translation")
    parser.add_argument(
        "--nbest",
        type=positive,
        metavar="N",
        help="write the N best translations of each line, as number ||| text ||| ... ||| score",
    )
    parser.add_argument(
        "--mbr",
        choices=["bleu", "chrf"],
        help="write the translation that agrees most with the other N best or N samples (minimum Bayes risk)",
    )
    parser.add_argument("--prefixes", metavar="FILE", help="file with the beginning of each translation, line by line")
    parser.add_argument(
        "--phrases",
        metavar="FILE",
        help="file with phrases that each translation contains, line by line, with tabs between phrases",
    )
    parser.add_argument(
        "--lexicon",
        metavar="FILE",
        help="dictionary for --copy-unknown: on each line a source word, a tab and its translation",
    )
    add_search_flags(parser)


def run(arguments: Namespace) -> None:
    """`nmt translate`: the translations of each line, in order."""
    path = "-" if arguments.input is None else arguments.input
    _check(arguments, path)
    read = [name for name in (path, arguments.prefixes, arguments.phrases, arguments.lexicon) if name]
    require_files_of_their_own(read, [name for name in (arguments.output, arguments.alignments) if name])
    total = count_lines(path)
    beside = {name: count_lines(name) for name in (arguments.prefixes, arguments.phrases) if name}
    require_same_length({path: total} | beside)
    lexicon = _read_lexicon(arguments.lexicon) if arguments.lexicon else None
    with ExitStack() as files:
        names, done = [name for name in (arguments.output, arguments.alignments) if name], 0
        growing = None
        if can_be_read_again(read) and can_be_resumed(names) and not _lists(arguments):
            growing = ResumableOutputs(names, arguments.resume, WINDOW)
        if arguments.resume and growing is None:
            raise NmtError("--resume goes on with a file: give --input and --output, both plain files")
        if growing is None:
            outputs = [files.enter_context(open_output(name)) for name in names]
        translator, search = load(arguments)
        if lexicon is not None and not search.copy_unknown:
            raise NmtError("--lexicon says what to write for a copied word: give --copy-unknown too")
        choose = Choice(translator, search, arguments, lexicon)
        choose.require_possible()
        if growing is not None:
            every = [path, arguments.prefixes, arguments.phrases, arguments.lexicon]
            made_from = identity(arguments, translator, search, every, ("nbest", "mbr"))
            outputs, done = files.enter_context(growing.open(made_from)), growing.done
        if arguments.input is None and sys.stdin.isatty():
            _interact(choose, outputs)
            return
        progress = lines_of(None if total is None else total - done, translator)
        _stream(choose, path, done, outputs, progress)
    place = "standard output" if arguments.output == "-" else arguments.output
    more = f", {done + progress.count} in all" if done else ""
    say(f"{progress.count} lines in {progress.seconds:.1f} s ({progress.speed}){more}, written to {place}")


def _stream(choose: Choice, path: str, done: int, outputs: Sequence[TextIO], progress: LineProgress) -> None:
    """Translates what stands behind the first `done` lines."""
    if done:
        say(f"going on behind line {done}")
    found = choose.of_lines(islice(read_lines(path), done, None), done)
    for number, translations in enumerate(progress.over(found), start=done + 1):
        if translations[0].truncated:
            progress.print(f"line {number} is longer than the model takes; its end was cut off")
        choose.write(number, translations, outputs)
        if number % WINDOW == 0:  # what an interruption leaves is whole windows
            for file in outputs:
                file.flush()


def _interact(choose: Choice, outputs: Sequence[TextIO]) -> None:
    say("a sentence a line; end with Ctrl-D")
    for number in count(1):
        print("> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.buffer.readline()
        if not line:
            print(file=sys.stderr)
            return
        try:
            sentence = line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            say(f"not valid UTF-8 at byte {error.start + 1}: type the sentence again, or have the terminal send UTF-8")
            continue
        for translations in choose.of_lines(iter([sentence]), number - 1):
            if translations[0].truncated:
                say("the sentence is longer than the model takes; its end was cut off")
            choose.write(number, translations, outputs)
        for file in outputs:
            file.flush()


def _check(arguments: Namespace, path: str) -> None:
    if arguments.alignments in ("-", arguments.output):
        raise NmtError(f"{arguments.alignments}: --alignments needs a file of its own")
    if arguments.resume and _lists(arguments):
        raise NmtError("--resume counts lines, of which an n-best list has more or fewer for each line: leave one out")
    if (arguments.prefixes or arguments.phrases) and path == "-":
        raise NmtError("--prefixes and --phrases go line by line with a file: give --input")
    if arguments.prefixes or arguments.phrases:
        refuse_idle(arguments, CHOOSING, "is for a search without --prefixes and --phrases: leave it or those out")


def _lists(arguments: Namespace) -> bool:
    """Whether n-best lists are written."""
    return bool(arguments.nbest) and not arguments.mbr


class Choice:
    """From a source line to the translations that are written for it.

    Args:
        translator, search: as loaded.
        arguments: of the command line: `nbest`, `mbr`, `prefixes`, `phrases`.
        lexicon: see `Translator.translate`.
    """

    def __init__(
        self, translator: Translator, search: SearchConfig, arguments: Namespace, lexicon: dict[str, str] | None
    ) -> None:
        self.translator, self.search, self.mbr, self.lexicon = translator, search, arguments.mbr, lexicon
        self.prefixes, self.phrases = arguments.prefixes, arguments.phrases
        sampling = search.method == "sample"
        self.nbest = arguments.nbest or ((SAMPLES if sampling else search.beam_size) if self.mbr else 1)
        self.listed = _lists(arguments)
        if self.mbr and self.nbest < 2:
            raise NmtError("--mbr chooses among several translations: give a --beam-size or --nbest of 2 or more")
        if sampling:
            refuse_idle(arguments, ["phrases"], "is for a beam: leave it or --method sample out")

    def require_possible(self) -> None:
        """Refuses what no translation can begin with or hold before the first is made, where it can be read twice."""
        files = [path for path in (self.prefixes, self.phrases) if path]
        for number, held in enumerate(self._constraints(0) if files and can_be_read_again(files) else (), start=1):
            for path, texts in ((self.prefixes, (held.prefix,)), (self.phrases, held.phrases)):
                for text in texts:
                    self.translator.pieces_to_hold(text, f"{path}:{number}")

    def of_lines(self, lines: Iterator[str], first: int = 0) -> Iterator[list[Translation]]:
        """The translations to write for each of these lines, the first of which is number `first` of its file."""
        constraints = self._constraints(first) if self.prefixes or self.phrases else None
        found = self.translator.translate_nbest(lines, self.search, self.nbest, constraints, self.lexicon, first)
        return (self._chosen(translations) for translations in found)

    def _chosen(self, translations: list[Translation]) -> list[Translation]:
        if not self.mbr or len(translations) == 1:
            return translations
        from nmt.translation.minimum_bayes_risk import expected_utilities

        chances = None if self.search.method == "sample" else [t.log_probability for t in translations]
        values = expected_utilities([t.text for t in translations], self.mbr, chances)
        return [translations[values.index(max(values))]]

    def _constraints(self, first: int) -> Iterator[Constraint]:
        from nmt.translation.translator import Constraint

        prefixes = read_lines(self.prefixes) if self.prefixes else repeat("")
        phrases = read_lines(self.phrases) if self.phrases else repeat("")
        for prefix, line in islice(zip(prefixes, phrases, strict=False), first, None):
            yield Constraint(prefix, tuple(phrase for phrase in line.split("\t") if phrase.strip()))

    def write(self, number: int, translations: Sequence[Translation], outputs: Sequence[TextIO]) -> None:
        """Writes the translations of line `number` to the first file and their links to the second, if there is one."""
        for translation in translations:
            outputs[0].write(self._text(number, translation) + "\n")
            for links in outputs[1:]:
                links.write(translation.alignment.pharaoh() + "\n")

    def _text(self, number: int, translation: Translation) -> str:
        """A translation as a line: bare, or in an n-best list as Moses writes it, sentences counted from 0."""
        if not self.listed:
            return translation.text
        return (
            f"{number - 1} ||| {translation.text} ||| log_probability= {translation.log_probability:.4f} "
            f"||| {translation.score:.4f}"
        )


def _read_lexicon(path: str) -> dict[str, str]:
    """A word and what stands for it in a line, a tab between them.

    Raises:
        NmtError: a line that is not that.
    """
    lexicon: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), start=1):
        word, tab, copy = line.partition("\t")
        if not tab or len(word.split()) != 1 or len(copy.split()) != 1:
            raise NmtError(f"{path}:{number}: expected one source word, a tab, and the one word to write for it")
        lexicon.setdefault(word.strip(), copy.strip())
    return lexicon


def identity(
    arguments: Namespace, translator: Translator, search: SearchConfig, files: Sequence[str | None], ways: Sequence[str]
) -> str:
    """What an output depends on: a command may go on only with what the same one left.

    Args:
        files: that are read.
        ways: arguments that decide what is made of them, besides model and search.
    """
    contents = [_digest(name) if name else "" for name in files]
    how = {name: getattr(arguments, name) for name in ("averaging", *ways)} | {"search": config_to_dict(search)}
    # The fingerprint is of the weights in their precision.
    return hashlib.sha256(json.dumps([translator.fingerprint, contents, how]).encode()).hexdigest()


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
